"""An installation opened: its settings read, its database at this program's version."""

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import sqlalchemy as sa

from consumer.alarms.pings import check_pings
from consumer.alarms.targets import read_targets
from consumer.backup.restoring import check_whole
from consumer.config import load
from consumer.facts import schema, shared_files
from consumer.facts.addresses import is_on_this_machine
from consumer.facts.clock import utc_now
from consumer.facts.erasures import ErasingKeyError, read_subjects
from consumer.facts.installation import Installation, Settings
from consumer.facts.settings import ConfigError
from consumer.facts.store import Store
from consumer.facts.work import DEMO
from consumer.jobs import ticks
from consumer.logs import set_level
from consumer.secret_key import settle

# What the library of metrics looks for when it is loaded.
COUNTERS = "PROMETHEUS_MULTIPROC_DIR"
_COUNTERS = "cuadre-counters-"


def open_installation(
    environ: Mapping[str, str] = os.environ, *, check: Callable[[Settings], None], may_upgrade: bool = True
) -> Installation:
    """Read the settings and open the store; an empty database gets its tables, an older PostgreSQL is refused.

    `check` refuses what only the rooms below can judge of the settings. With `may_upgrade` False any other version is
    refused: the process that started this one works on those tables.
    """
    settings = read_settings(environ)
    set_level(settings.log_level)
    check_whole(settings)
    check(settings)
    read_targets(settings)
    check_pings(settings)
    store = Store(settings.database_url, read_url=settings.read_url)
    if may_upgrade and (store.is_sqlite or schema.version_of(store) is None):
        schema.upgrade(store)
    else:
        schema.check_migrated(store)
    # A disk that takes nothing is said where something must be written.
    with suppress(sa.exc.OperationalError):
        ticks.end_dead_work(store, now=utc_now())
    elsewhere = [one.provider_url for one in settings.all_connections if not is_on_this_machine(one.provider_url)]
    if elsewhere and ticks.has_run(store, DEMO):
        store.close()
        raise ConfigError(
            f"this database holds the demo's month, which {urlsplit(elsewhere[0]).hostname} knows nothing of: "
            "choose another CUADRE_DATA_DIR (with PostgreSQL another database)"
        )
    installation = Installation(settings=settle(settings, store), store=store)
    shared_files.agree(installation)
    # Read now, so that this process goes on with the key of erased people when the secret key is rotated.
    with suppress(ErasingKeyError), store.reading() as session:
        read_subjects(session.connection())
    return installation


def read_settings(environ: Mapping[str, str] = os.environ) -> Settings:
    """Read the settings alone, for a command that opens no installation."""
    return load(environ, folder=Path.cwd())


def are_counters_shared() -> bool:
    return COUNTERS in os.environ


def share_counters() -> None:
    """Let the processes of one server count together, in files; must come before the library that counts is loaded."""
    if are_counters_shared():
        return
    _drop_counters_of_the_dead()
    os.environ[COUNTERS] = tempfile.mkdtemp(prefix=f"{_COUNTERS}{os.getpid()}-")
    atexit.register(shutil.rmtree, os.environ[COUNTERS], ignore_errors=True)


def _drop_counters_of_the_dead() -> None:
    """Remove what servers left that were killed; one of another person's is not ours to remove."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_COUNTERS}*"):
        pid = folder.name.removeprefix(_COUNTERS).partition("-")[0]
        if pid.isdigit() and not Path(f"/proc/{pid}").exists():
            shutil.rmtree(folder, ignore_errors=True)


def open_store() -> Store:
    """Open the database of any version, for the commands that migrate."""
    settings = read_settings()
    check_whole(settings)
    return Store(settings.database_url)
