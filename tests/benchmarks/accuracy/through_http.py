"""The whole way from the provider's API to a judged run: the sandbox over HTTP, and the program's own commands."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from consumer.config import load
from consumer.facts.clock import local_date
from consumer.facts.installation import Installation
from consumer.facts.store import Store
from reconcile.kept.snapshots import Scope, Snapshot
from sandbox.demo import write_settings
from sandbox.remote import TEST_KEY, Steer
from sandbox.serve import RunningSandbox
from sandbox.state.happening import Truth
from tests.observing import take_snapshot

ROOT = Path(__file__).resolve().parents[3]
_DAY_SECONDS = 24 * 60 * 60


@contextmanager
def read_over_http(name: str, seed: int, *, days: int) -> Iterator[tuple[Snapshot, list[Truth]]]:
    """Let days pass, read all of it back as an installation does that never got a webhook, and take its snapshot.

    1. The event log is read from its beginning by `cuadre backfill`, every list by `cuadre pull all`.
    2. The invoice file, the bank's file and each payout's report are downloaded and brought in by their commands. What
       a bank outside the provider says is left out: the truth calls its payouts `no_bank`.
    3. The snapshot is what `cuadre reconcile` would read, with the provider's clock as ours.
    """
    with TemporaryDirectory() as place, RunningSandbox(name, seed=seed) as running, Steer(running.url) as steer:
        folder = Path(place)
        moment = datetime.fromisoformat(steer.advance(days * _DAY_SECONDS))
        _write(folder, running.url, running.world.scenario.country, steer)
        _cuadre(folder, "backfill", "--since", "2026-08-01")
        _cuadre(folder, "pull", "all")
        (folder / "invoices.csv").write_bytes(steer.invoices())
        _cuadre(folder, "invoices", "import", str(folder / "invoices.csv"))
        file = running.world.scenario.bank_file
        if file is not None:
            (folder / "bank.csv").write_bytes(steer.bank())
            _cuadre(folder, "bank", "import", str(folder / "bank.csv"), "--account", file.account)
        truth = steer.truth()
        reports = [folder / f"{row.id}.csv" for row in truth if row.kind == "payout"]
        for path in reports:
            path.write_bytes(steer.payout_report(path.stem))
        _cuadre(folder, "payout-report", "import", *map(str, reports))
        yield _snapshot(folder, moment), truth


def _write(folder: Path, url: str, country: str, steer: Steer) -> None:
    write_settings(folder / "cuadre.toml", {
        "database_url": f"sqlite:///{folder}/cuadre.db", "data_dir": str(folder / "data"),
        "secret_key": "a key that only tests know",
        "provider_url": url, "api_key": TEST_KEY, "country": country, "tariff": steer.tariff(), "rate_limit": 1000,
    })  # fmt: skip


def _cuadre(folder: Path, *arguments: str) -> None:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("CUADRE_")}
    done = subprocess.run(
        [sys.executable, "-m", "cuadre", *arguments],
        cwd=folder, env=environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"cuadre {' '.join(arguments[:2])} ended with {done.returncode}: {done.stderr[-500:]}")


def _snapshot(folder: Path, moment: datetime) -> Snapshot:
    settings = load({}, folder=folder)
    installation = Installation(settings, Store(settings.database_url))
    connection = settings.connection("main")
    day: date = local_date(moment.astimezone(UTC), connection.country.zone)
    with installation.store.reading() as session:
        snapshot = take_snapshot(session, installation, connection, as_of=day, scope=Scope())
    installation.store.close()
    return snapshot
