"""Every released database is upgraded: its rows stay, and it reports what it reported then."""

import csv
import gzip
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command
from click.testing import CliRunner

from consumer.facts import migrating, schema
from consumer.facts.store import Store
from cuadre import cli

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "tests" / "data" / "releases"
RELEASES = sorted(path.name.removesuffix(".sqlite.gz") for path in KEPT.glob("*.sqlite.gz"))
VERSION = "alembic_version"


def test_every_release_of_the_changelog_is_kept() -> None:
    """Who writes a release's heading keeps its database: make keep-release."""
    headings = re.findall(r"^## \[(\d\S*)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(headings) == RELEASES


@pytest.fixture(scope="session")
def made_now(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder where the tool has kept this very commit as if it were released."""
    folder = tmp_path_factory.mktemp("release")
    subprocess.run(
        [sys.executable, ROOT / "tools" / "keep_release.py", folder], env={"PYTHONPATH": str(ROOT)}, check=True
    )
    return folder


@dataclass(frozen=True)
class Release:
    """A kept database, unpacked, with the rows of each table and the payouts it reported."""

    database: Path
    rows: Mapping[str, int]
    payouts: Sequence[Mapping[str, str]]


def is_kept_alike(name: str) -> bool:
    """Leave out the search, which each database keeps in its own form and fills again."""
    return not name.startswith("search_")


def totals(store: Store) -> dict[str, int]:
    """Count the rows of every table."""
    with store.reading() as session:
        names = [name for name in sa.inspect(session.connection()).get_table_names() if is_kept_alike(name)]
        return {name: session.scalar(sa.select(sa.func.count()).select_from(sa.table(name))) or 0 for name in names}


@pytest.fixture(params=[*RELEASES, "this commit"])
def release(request: pytest.FixtureRequest, tmp_path: Path) -> Release:
    is_kept = request.param in RELEASES
    folder = KEPT if is_kept else request.getfixturevalue("made_now")
    (packed,) = folder.glob(f"{request.param}.sqlite.gz" if is_kept else "*.sqlite.gz")
    database = tmp_path / "release.db"
    database.write_bytes(gzip.decompress(packed.read_bytes()))
    with closing(Store(f"sqlite:///{database}")) as store:
        rows = totals(store)
    reported = packed.with_name(packed.name.replace(".sqlite.gz", ".csv")).read_text(encoding="utf-8")
    return Release(database, rows, list(csv.DictReader(reported.splitlines())))


def copy(released: Store, to: Store) -> None:
    """Make the same database on PostgreSQL: the release's own migrations, then its rows."""
    version = schema.version_of(released)
    assert version is not None
    with released.connection() as source, to.connection() as target:
        command.upgrade(migrating.alembic_config(target), version)
        tables = sa.MetaData()
        tables.reflect(source, only=lambda name, _: is_kept_alike(name))
        for table in tables.sorted_tables:
            rows = [to_aware(row) for row in source.execute(sa.select(table)).mappings()]
            if rows and table.name != VERSION:
                target.execute(table.insert(), rows)


def to_aware(row: sa.RowMapping) -> dict[str, object]:
    """Give a row whose moments say that they are UTC, which SQLite leaves out."""
    return {name: value.replace(tzinfo=UTC) if isinstance(value, datetime) else value for name, value in row.items()}


@pytest.fixture
def upgraded(release: Release, database_kind: str, request: pytest.FixtureRequest) -> Iterator[Store]:
    """The database of a release, upgraded by this program."""
    released = Store(f"sqlite:///{release.database}")
    with closing(released):
        if database_kind == "sqlite":
            schema.upgrade(released)
            yield released
            return
        with closing(Store(request.getfixturevalue("database_url"))) as store:
            copy(released, store)
            schema.upgrade(store)
            yield store


@pytest.mark.both_databases
def test_a_released_database_is_upgraded(release: Release, upgraded: Store, tmp_path: Path) -> None:
    """No table loses a row, and each payout is reported with every value it had."""
    after = totals(upgraded)
    environ = {
        "CUADRE_PROVIDER_URL": "http://127.0.0.1:9",
        "CUADRE_API_KEY": "sk_test_sandbox",
        "CUADRE_COUNTRY": "cl",
        "CUADRE_DATABASE_URL": upgraded.url.render_as_string(hide_password=False),
        "CUADRE_DATA_DIR": str(tmp_path),
        "CUADRE_SECRET_KEY": "a key that only tests know",
    }
    done = CliRunner().invoke(cli, ["report", "payout-summary", "--out", "-"], env=environ, catch_exceptions=False)
    reported = list(csv.DictReader(done.stdout.splitlines()))

    assert schema.version_of(upgraded) == schema.VERSIONS[-1]
    assert (release.rows["payout"], release.rows["run"], release.rows["exception"]) == (2, 1, 1)
    assert {name: after.get(name) for name in release.rows} == release.rows
    assert [{name: row.get(name) for name in release.payouts[0]} for row in reported] == release.payouts
