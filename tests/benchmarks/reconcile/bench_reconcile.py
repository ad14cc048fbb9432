"""Seconds and memory of one whole run, from the database to published lines, by stage and size.

python tests/benchmarks/reconcile/bench_reconcile.py [--sizes 100000,1000000] [--rounds 3] [--no-peers] [--matchers]
                                                  [--postgresql URL]

Every round is a process of its own on a copy of one database, rounds of all variants interleaved: a full run, then
a night that added 1 % of everything, the matching by key, and what others need for less (`plain_joins.py` says what
each of its figures includes). After each run the search is filled: its share is told of the run and itself, and of a
night that checks the file and makes the reports as well (`others`). Neither holds what is read from the provider, which
comes before and depends on it. `--postgresql URL` measures there, with the processor of its server.
`--matchers` also gives both files to reconcile-mcp and splink, a minute each.
"""

import argparse
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import sqlalchemy as sa

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from consumer.config import load
from consumer.facts import schema
from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from consumer.facts.messages import Message
from consumer.facts.store import Store
from consumer.facts.tables.types import core_of
from consumer.facts.work import Completion
from reconcile.reading.frames import read_documents, read_inputs, read_transfers
from reconcile.reading.process import save_memory
from reconcile.reading.queries import read_table
from reconcile.rules.inputs import DOCUMENTS
from reconcile.rules.keys import find_keys, read_metadata
from reconcile.rules.ledger import choose_payments
from reconcile.rules.payouts import place_items
from reconcile.rules.pipeline import open_ledger
from reconcile.rules.placement import place_keyed
from reconcile.runs.run import run
from reconcile.tables.books import LocalInvoice
from tests.benchmarks.ingest.processes import find_server, tree_cpu
from tests.benchmarks.reconcile import trade

ROOT = Path(__file__).resolve().parents[3]
STAGES = ("read", "rules", "keep", "publish")
PEERS = ROOT / "build" / "peers" / "bin" / "python"
BASE = "cuadre_bench"
MATCHERS = ("reconcile-mcp 1:1", "splink p>=.99")


def installation_at(folder: Path) -> Installation:
    """Open the database of a folder: its file, or the one on a server whose address is written there."""
    address = folder / "address"
    url = address.read_text("utf-8") if address.exists() else f"sqlite:///{folder}/cuadre.db"
    settings = load({
        "CUADRE_DATABASE_URL": url, "CUADRE_COUNTRY": "cl", "CUADRE_PROVIDER_URL": "http://127.0.0.1:1",
        "CUADRE_API_KEY": "sk_test_sandbox", "CUADRE_DATA_DIR": str(folder),
        "CUADRE_SECRET_KEY": "a key that only tests know",
    }, folder=folder, overrides={"tariff": trade.TARIFF})  # fmt: skip
    return Installation(settings, Store(url))


def run_once(folder: Path) -> dict[str, Any]:
    """One run by its steps, in this process; files and chunks are written beside them on the second core."""
    installation = installation_at(folder)
    before, clock, ended = _peak(), _Clock(server=find_server(installation.store)), ["start", *STAGES]

    # As the command and a night's own process do.
    save_memory()

    def watch(_step: Message) -> None:
        clock.mark(ended.pop(0))

    outcome = run(installation, installation.settings.connection("main"), as_of=trade.AS_OF, watch=watch)
    clock.mark(*ended)
    assert outcome.result is not None
    counts = {name: outcome.summary[name] for name in ("items", "documents")}
    size = counts | {"lines": len(outcome.result.lines), "exceptions": sum(outcome.summary["exceptions"].values())}
    shown = clock.shown() | size | {"peak_mb": _peak(), "before_mb": before}
    return shown | fill_once(installation, clock)


def fill_once(installation: Installation, of_run: "_Clock") -> dict[str, float]:
    """Bring what is new into the search, as a night does, and do the rest of one that asks no provider."""
    from consumer.health.disk import check_night  # noqa: PLC0415 - a run's memory is without these
    from reports import archive  # noqa: PLC0415 - as above
    from reports.search import filling  # noqa: PLC0415 - as above

    connection = installation.settings.connection("main")
    clock = _Clock(server=of_run.server)
    rows = filling.fill(installation, connection)
    clock.mark("search")
    check_night(installation.store, trade.AS_OF)
    files = archive.night(installation, connection, on=trade.AS_OF, now=utc_now())
    assert files.status is Completion.DONE, files.lines
    clock.mark("others")
    used, run = clock.cpu["search"], sum(of_run.cpu.values())
    shares = {"search_percent": run + used, "search_percent_of_night": run + used + clock.cpu["others"]}
    shown = {name: 100 * used / whole for name, whole in shares.items()}
    return clock.wall | {f"{name}_cpu": spent for name, spent in clock.cpu.items()} | {"search_rows": rows} | shown


def night_once(folder: Path) -> dict[str, Any]:
    """One hundredth of the trade arrived since the run before, and PostgreSQL has tidied up in between."""
    store = installation_at(folder).store
    if not store.is_sqlite:
        with store.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as database:
            database.execute(sa.text("VACUUM (ANALYZE)"))
    with store.connection() as database:
        books = int(database.execute(sa.text("SELECT count(*) FROM local_invoice")).scalar_one())
    trade.add(store, books // 100, of=books)
    store.close()
    return run_once(folder)


def keyed_once(folder: Path) -> dict[str, Any]:
    """Reading the books, and matching by key from what the frames hold, in processor seconds.

    `books_frame` is the books as a typed frame, `books_table` the same rows still in Arrow; `from_metadata` begins with
    metadata as JSON text and ends with every keyed payment decided and its customer compared.
    """
    installation = installation_at(folder)
    connection = installation.settings.connection("main")
    with installation.store.reading() as session:
        read_transfers(session, connection)
        table = core_of(LocalInvoice)
        reading = sa.select(*(table.c[name] for name in DOCUMENTS))
        clock = _Clock()
        read_table(session.connection(), reading, DOCUMENTS, along=table)
        clock.mark("books_table")
        read_documents(session, connection)
        clock.mark("books_frame")
        inputs = read_inputs(session, connection, installation.settings, as_of=trade.AS_OF, now=utc_now())
    rows = place_items(inputs)
    ledger, said = open_ledger(rows, inputs)
    metadata = choose_payments(rows, inputs.items)["metadata"]
    clock = _Clock(clock)
    said = read_metadata(metadata)
    clock.mark("metadata")
    place_keyed(ledger, find_keys(said, ledger.books))
    clock.mark("keyed")
    return clock.cpu | {"from_metadata": clock.cpu["metadata"] + clock.cpu["keyed"]}


class _Clock:
    """Wall and processor seconds between marks, those of the processes of a server with them."""

    def __init__(self, earlier: "_Clock | None" = None, *, server: int | None = None) -> None:
        self.server = server
        self.wall: dict[str, float] = {} if earlier is None else earlier.wall
        self.cpu: dict[str, float] = {} if earlier is None else earlier.cpu
        self._at = self._now()

    def _now(self) -> tuple[float, float]:
        served = 0.0 if self.server is None else tree_cpu([self.server])
        return time.perf_counter(), time.process_time() + served

    def mark(self, name: str) -> None:
        now = self._now()
        self.wall[name], self.cpu[name] = now[0] - self._at[0], now[1] - self._at[1]
        self._at = now

    def shown(self) -> dict[str, float]:
        both = self.wall | {f"{name}_cpu": seconds for name, seconds in self.cpu.items()}
        return both | {"total": sum(self.wall.values()), "total_cpu": sum(self.cpu.values())}


def _peak() -> int:
    """The most memory this program ever held; what `getrusage` says begins with that of the process that started it."""
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) // 1024


def child(mode: str, folder: Path) -> dict[str, Any]:
    command = [sys.executable, __file__, "--child", mode, "--folder", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def peer(name: str, folder: Path) -> dict[str, Any]:
    script = Path(__file__).with_name("plain_joins.py")
    done = subprocess.run(
        [python_of_peers(), script, name, folder / "cuadre.db"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        return {"failure": done.stderr.strip().splitlines()[-1]}
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def python_of_peers() -> Path:
    """The environment of the peers, else this one, where what is missing is told as a failure."""
    return PEERS if PEERS.exists() else Path(sys.executable)


def matchers(folder: Path) -> dict[str, dict[str, Any]]:
    """Other people's matchers on the same files; what they do not finish in time is a failure."""
    # Not at the top: the sandbox's rooms would be counted as memory of a run.
    from tests.benchmarks.accuracy.baselines import invoices_of, payments_of, run_peer  # noqa: PLC0415 - for peers alone

    installation = installation_at(folder)
    with installation.store.reading() as session:
        inputs = read_inputs(
            session, installation.settings.connection("main"), installation.settings, as_of=trade.AS_OF, now=utc_now()
        )
    payments_of(inputs).to_csv(folder / "payments.csv", index=False)
    invoices_of(inputs).to_csv(folder / "invoices.csv", index=False)
    graded = {name: run_peer(python_of_peers(), name, folder, []) for name in MATCHERS}
    return {name: {"failure": one.failure} if one.failure else {"seconds": one.seconds, "pairs": one.found}
            for name, one in graded.items()}  # fmt: skip


def copy(server: str, folder: Path, again: Path) -> None:
    """Copy the database of a folder to another one."""
    if not server:
        shutil.copy(folder / "cuadre.db", again / "cuadre.db")
        return
    (again / "address").write_text(make_database(server, f"{BASE}_again", template=BASE), "utf-8")


def make_database(server: str, name: str, *, template: str = "template1") -> str:
    """Make a database on a server, in place of one of that name, and return its address."""
    engine = sa.create_engine(server, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as connection:
        connection.execute(sa.text(f"DROP DATABASE IF EXISTS {name}"))
        connection.execute(sa.text(f"CREATE DATABASE {name} TEMPLATE {template}"))
    engine.dispose()
    return sa.make_url(server).set(database=name).render_as_string(hide_password=False)


def measure(size: int, rounds: int, *, with_peers: bool, with_matchers: bool, server: str) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        if server:
            (folder / "address").write_text(make_database(server, BASE), "utf-8")
        installation = installation_at(folder)
        schema.upgrade(installation.store)
        trade.fill(installation.store, size)
        if server:
            with installation.store.connection() as database:
                database.execute(sa.text("ANALYZE"))
        installation.store.close()
        found: dict[str, list[dict[str, Any]]] = {}
        for _ in range(rounds):
            again = folder / "again"
            again.mkdir()
            copy(server, folder, again)
            found.setdefault("keyed", []).append(child("keyed", again))
            for join in ("adbc", "polars", "duckdb") if with_peers and not server else ():
                found.setdefault(join, []).append(peer(join, again))
            for mode in ("run", "night"):
                found.setdefault(mode, []).append(child(mode, again))
            shutil.rmtree(again)
        for one, shown in matchers(folder).items() if with_matchers else ():
            found[one] = [shown]
        show(size, found)


def show(size: int, found: dict[str, list[dict[str, Any]]]) -> None:
    for mode in ("run", "night"):
        runs = found.pop(mode)
        sys.stdout.write(f"{mode}: {size:,} invoices, {runs[0]['items']:,} items, {runs[0]['lines']:,} lines, ")
        sys.stdout.write(f"{runs[0]['exceptions']:,} exceptions; peak {_of(runs, 'peak_mb')} MB, ")
        sys.stdout.write(f"of which {_of(runs, 'before_mb')} MB before the first row\n")
        for name in (*STAGES, "total"):
            sys.stdout.write(f"  {name:8} {_of(runs, name)} s, processor {_of(runs, f'{name}_cpu')} s\n")
        filled, share, of_night = (_of(runs, f"search_{name}") for name in ("rows", "percent", "percent_of_night"))
        for name in ("search", "others"):
            sys.stdout.write(f"  {name:8} {_of(runs, name)} s, processor {_of(runs, f'{name}_cpu')} s\n")
        sys.stdout.write(f"  search: {filled} rows, {share} % of run and search, {of_night} % with the others\n")
    for name, rows in found.items():
        figures = ", ".join(f"{key} {_of(rows, key)}" for key in rows[0])
        sys.stdout.write(f"  {name}: {figures}\n")


def _of(rows: list[dict[str, Any]], name: str) -> str:
    values = [row[name] for row in rows if name in row]
    if not values or isinstance(values[0], str):
        return str(values[:1])
    form = ".3f" if isinstance(values[0], float) else ","
    return f"{median(values):{form}} ({min(values):{form}}–{max(values):{form}})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="100000,1000000")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--matchers", action="store_true")
    parser.add_argument("--postgresql", default="", help="address of a server on this machine")
    parser.add_argument("--child")
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    if asked.child:
        once = {"run": run_once, "night": night_once, "keyed": keyed_once}[asked.child]
        sys.stdout.write(json.dumps(once(asked.folder)) + "\n")
        return
    for size in asked.sizes.split(","):
        measure(
            int(size),
            asked.rounds,
            with_peers=not asked.no_peers,
            with_matchers=asked.matchers,
            server=asked.postgresql,
        )


if __name__ == "__main__":
    main()
