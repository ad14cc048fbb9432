"""What tests share: an empty migrated database of each kind, settings that stand alone, a PostgreSQL to test on."""

import gc
import os
import shutil
from collections.abc import Callable, Generator, Iterator
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
import structlog
from hypothesis import HealthCheck
from hypothesis import settings as examples
from playwright.sync_api import Browser, expect, sync_playwright
from sqlalchemy.dialects.postgresql.base import PGDialect
from sqlalchemy.dialects.sqlite.base import SQLiteDialect
from sqlalchemy.util import LRUCache

from consumer.facts.installation import Installation
from consumer.facts.settings import Settings
from consumer.facts.store import Store
from tests.budget import Budget, read_listed
from tests.databases import Databases, find_programs, make_database, migrate, run_postgresql
from tests.merchant import settings_of
from tests.thoroughness import AWAY, IS_FULL, for_run

QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# Objects more than before for a collection of garbage; at Python's 700 an eighth of the processor went there.
_SELDOM = (50_000, 20, 100)
COMPLETE = os.environ.get("CUADRE_TEST_COMPLETE") == "1"

# A run fails for what changed and not by chance: the same examples every time, however slow the machine. Proofs search.
_CALM = examples(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
examples.register_profile("the same", _CALM, derandomize=True, database=None)
examples.register_profile("searching", _CALM)
examples.load_profile(for_run(short="the same", full="searching"))


@pytest.fixture(autouse=True, scope="session")
def _loggers_without_memory() -> Iterator[None]:
    """Let every test capture what is logged: a logger that remembers its first use would go on past a later capture."""
    configure = structlog.configure

    @wraps(configure)
    def configure_anew(*positional: Any, **named: Any) -> None:
        configure(*positional, **{**named, "cache_logger_on_first_use": False})

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(structlog, "configure", configure_anew)
        yield


@pytest.fixture(autouse=True, scope="session")
def _statements_compiled_once() -> Iterator[None]:
    """Let every engine find what another one of its kind compiled, as the one engine of an installation does."""
    cache: LRUCache[object, object] = LRUCache(5_000)

    def share(connection: sa.Connection) -> None:
        connection.execution_options(compiled_cache=cache)

    sa.event.listen(sa.Engine, "engine_connect", share)
    with pytest.MonkeyPatch.context() as patched:
        for dialect in (SQLiteDialect, PGDialect):
            # What is compiled is kept by the dialect too, and each engine has an object of its own.
            patched.setattr(dialect, "__eq__", lambda one, other: type(one) is type(other))
            patched.setattr(dialect, "__hash__", lambda one: hash(type(one)))
        yield
    sa.event.remove(sa.Engine, "engine_connect", share)


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the machine's own settings from the tests."""
    for name in list(os.environ):
        if name.startswith("CUADRE_") and not name.startswith("CUADRE_TEST_"):
            monkeypatch.delenv(name)


def pytest_configure(config: pytest.Config) -> None:
    """Hold tests to their budgets, collect them without looking for garbage, and leave no proxy."""
    config.pluginmanager.register(Budget())
    gc.disable()
    for name in list(os.environ):
        if name.lower() in {"http_proxy", "https_proxy", "all_proxy"}:
            del os.environ[name]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn every skip into a failure where the run must be complete; a registry that is away is named at its end."""
    report = yield
    is_away = AWAY in str(report.longrepr)
    if COMPLETE and report.skipped and not is_away and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, but CUADRE_TEST_COMPLETE=1: {report.longrepr}"
    return report


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A Chromium for every test of this process: a second Playwright in one thread would be refused."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        pytest.skip("no Chromium is installed")
    # A page that does not come is found out in any case; one that is slow has failed nothing.
    expect.set_options(timeout=120_000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=QUIET, timeout=180_000)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def postgresql_url() -> Iterator[str]:
    """A PostgreSQL: the one given, else one found on the machine, else the pip-installed one."""
    given = os.environ.get("CUADRE_TEST_DATABASE_URL")
    if given:
        yield given
        return
    with run_postgresql() as url:
        yield url


@pytest.fixture(scope="session")
def postgresql_databases(postgresql_url: str) -> Iterator[Databases]:
    """Migrated databases on the PostgreSQL of this worker."""
    databases = Databases(postgresql_url)
    yield databases
    databases.close()


@pytest.fixture(scope="session")
def postgresql_programs() -> tuple[Path, str | None]:
    """Where the programs of a PostgreSQL are and, for root, who may run them: for tests that kill one of their own."""
    return find_programs()


@pytest.fixture(scope="session")
def migrated_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated file that tests copy, since migrating takes longer than most tests."""
    path = tmp_path_factory.mktemp("template") / "cuadre.db"
    migrate(f"sqlite:///{path}")
    return path


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what is marked `both_databases` once on each kind; a proof runs so whatever asks for a database."""
    if "database_kind" not in metafunc.fixturenames:
        return
    chosen = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")]
    if "database_kind" not in chosen and (IS_FULL or metafunc.definition.get_closest_marker("both_databases")):
        metafunc.parametrize("database_kind", ["sqlite", "postgresql"], indirect=True)


def pytest_collection_finish() -> None:
    """Keep what was imported and collected out of every later collection of garbage, and collect seldom."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_SELDOM)
    gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is marked `proof` where the run is none, and begin with the slow ones: none is waited for last."""
    left_out = [] if IS_FULL else [item for item in items if item.get_closest_marker("proof")]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in set(left_out)]
    slow = read_listed()
    items.sort(key=lambda item: item.nodeid not in slow)


@pytest.fixture
def database_kind(request: pytest.FixtureRequest) -> str:
    return str(getattr(request, "param", "sqlite"))


@pytest.fixture
def database_url(database_kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of an empty database."""
    if database_kind == "sqlite":
        yield f"sqlite:///{tmp_path / 'cuadre.db'}"
        return
    with make_database(request.getfixturevalue("postgresql_url")) as url:
        yield url


@pytest.fixture
def migrated_url(database_kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of a migrated database without rows."""
    if database_kind == "sqlite":
        shutil.copy(request.getfixturevalue("migrated_sqlite"), tmp_path / "cuadre.db")
        yield f"sqlite:///{tmp_path / 'cuadre.db'}"
        return
    with request.getfixturevalue("postgresql_databases").share() as url:
        yield url


@pytest.fixture
def store(migrated_url: str) -> Iterator[Store]:
    """A migrated store."""
    store = Store(migrated_url)
    yield store
    store.close()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """The settings of a Chilean merchant in test mode, with a tolerance and key that tests know."""
    return settings_of("http://provider.test", tmp_path, webhook_secrets="whsec_test_secret")


@pytest.fixture
def installation(settings: Settings, store: Store) -> Installation:
    return Installation(settings=settings, store=store)


@pytest.fixture(scope="session")
def _prepared(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Path, Path]]:
    """Where the folder of a test that was prepared is kept, and what its preparation answered."""
    folder = tmp_path_factory.mktemp("prepared")
    return lambda name: (folder / name, folder / f"{name}.txt")


@pytest.fixture
def prepare(
    installation: Installation, database_kind: str, tmp_path: Path, _prepared: Callable[[str], tuple[Path, Path]]
) -> Callable[[str, Callable[[], str]], str]:
    """Fill the database and folder of a test as another test did, which is faster than to reconcile again."""

    def fill(name: str, make: Callable[[], str]) -> str:
        if database_kind != "sqlite":
            return make()
        folder, answer = _prepared(name)
        if not answer.exists():
            text = make()
            installation.store.engine.dispose()
            shutil.copytree(tmp_path, folder)
            answer.write_text(text, encoding="utf-8")
        else:
            installation.store.engine.dispose()
            shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
        return answer.read_text(encoding="utf-8")

    return fill
