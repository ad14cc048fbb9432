"""Keep a small database of a release, from which later versions must be able to upgrade.

    make keep-release, or PYTHONPATH=. python tools/keep_release.py [FOLDER]

lives through two days of the sandbox's trade with this program, as a merchant would by its commands, and writes two
files named after the version in pyproject.toml: VERSION.sqlite.gz, the whole database, and
VERSION.csv, the payouts it reported. FOLDER is tests/data/releases unless given. Everything in them is made up. Run it
in the commit that is released, and commit both files; `tests/test_releases.py` upgrades each on both databases.
"""

import gzip
import json
import sys
import tomllib
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from click.testing import CliRunner

from consumer.facts.embedded import driver
from cuadre import cli
from sandbox.remote import TEST_KEY, Steer
from sandbox.serve import RunningSandbox

ROOT = Path(__file__).resolve().parent.parent
TWO_DAYS = 2 * 24 * 60 * 60
LAST_DAY, TODAY = "2026-10-01", "2026-10-02"
PEOPLE = ("--author", "ana")


def run(environ: Mapping[str, str], *arguments: str) -> str:
    """Run a command and return what it printed; end here if it did less than all."""
    done = CliRunner().invoke(cli, list(arguments), env=environ)
    if done.exit_code != 0:
        sys.exit(f"cuadre {' '.join(arguments)} ended with {done.exit_code}: {done.output}")
    return done.stdout


def live(environ: Mapping[str, str], steer: Steer, folder: Path) -> None:
    """Bring two days in, reconcile them, and do what people do with what is found."""
    # One sale is missing from the books, so that there is something to find.
    (folder / "invoices.csv").write_bytes(b"".join(steer.invoices().splitlines(keepends=True)[:-1]))
    run(environ, "backfill")
    run(environ, "pull", "all")
    run(environ, "invoices", "import", str(folder / "invoices.csv"))
    run(environ, "reconcile", "--as-of", TODAY)
    run(environ, "periods", "close", "--to", LAST_DAY, "--as-of", TODAY, "--reason", "month end", *PEOPLE)
    found = json.loads(run(environ, "exceptions", "list", "--json").splitlines()[0])
    run(environ, "exceptions", "assign", found["exception_id"], "luis", *PEOPLE)
    run(environ, "exceptions", "note", found["exception_id"], "asked the bank", *PEOPLE)
    password = folder / "password"
    password.write_text("una clave larga", encoding="utf-8")
    run(environ, "users", "add", "ana@tienda.example", "--role", "finance", "--password-file", str(password))
    run(environ, "tokens", "create", "erp")


def keep(folder: Path, version: str) -> None:
    """Write both files of this version."""
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as work, RunningSandbox("quiet", seed=1) as running, Steer(running.url) as steer:
        database = Path(work) / "cuadre.db"
        environ = {
            "CUADRE_PROVIDER_URL": running.url,
            "CUADRE_API_KEY": TEST_KEY,
            "CUADRE_COUNTRY": "cl",
            "CUADRE_DATABASE_URL": f"sqlite:///{database}",
            "CUADRE_DATA_DIR": work,
            "CUADRE_SECRET_KEY": "a key that only tests know",
            "CUADRE_RATE_LIMIT": "1000",
        }
        steer.advance(TWO_DAYS)
        live(environ, steer, Path(work))
        (folder / f"{version}.csv").write_text(run(environ, "report", "payout-summary", "--out", "-"), newline="")
        whole = Path(work) / "whole.db"
        with closing(driver.connect(database)) as connection:
            connection.execute("VACUUM INTO ?", (str(whole),))
        (folder / f"{version}.sqlite.gz").write_bytes(gzip.compress(whole.read_bytes(), mtime=0))


if __name__ == "__main__":
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    keep(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "tests" / "data" / "releases", version)
