"""Checks and their verdicts; the disk check, which keeps what SQLite finds in its file in a file next to it.

The finding does not go into the database: one that is damaged may take no row and answer no question.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from pathlib import Path

import msgspec
import sqlalchemy as sa
import structlog
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from consumer.facts import embedded
from consumer.facts.clock import format_instant, utc_now
from consumer.facts.durable import write_durably
from consumer.facts.replica import ReplicaError, open_replica
from consumer.facts.store import DamagedError, Store
from consumer.facts.work import Completion


class Verdict(StrEnum):
    OK = "ok"
    WARNING = "warning"
    FAILURE = "failure"


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check; `advice` says what to do and is empty when all is well."""

    connection: str
    check: str
    verdict: Verdict
    found: str
    advice: str = ""
    count: int = 1


KEYS = ("connection", "check", "verdict", "found", "advice")


DATABASE, DISK, REPLICA = "database", "disk", "replica"
# How long the doctor waits for a replica to be level, in seconds.
_PATIENCE = 3.0
RESTORE = (
    "stop every cuadre process, move the data folder elsewhere, and bring the newest good backup back with cuadre "
    "restore; docs/operate.md says how"
)
# The whole check reads each index against its table and takes longer, so it is made of one night a week.
_WHOLE_ON = 6  # Sunday
_MOUNTS = Path("/proc/self/mounts")
_NETWORK = {
    "9p", "afs", "ceph", "cifs", "fuse.glusterfs", "fuse.s3fs", "fuse.sshfs", "lustre", "nfs", "nfs4", "smb3", "smbfs",
}  # fmt: skip

log = structlog.get_logger("cuadre.disk")


class DiskCheck(msgspec.Struct, frozen=True):
    """One check of the file: when, whether indexes were compared with their tables, and what was found."""

    checked_at: datetime
    whole: bool
    damage: list[str]


@dataclass(frozen=True, slots=True)
class DiskOutcome:
    """The result of the check; no lines if the file is whole."""

    status: Completion = Completion.DONE
    lines: list[str] = field(default_factory=list)


def is_whole_on(on: date) -> bool:
    """Return True if the night of this business date makes the whole check."""
    return on.weekday() == _WHOLE_ON


def check_night(store: Store, on: date) -> DiskOutcome:
    """Check the file before a night reads it; PostgreSQL checks its own files."""
    if not store.is_sqlite:
        return DiskOutcome()
    found = examine(store, whole=is_whole_on(on), now=utc_now())
    return DiskOutcome(Completion.PARTLY_DONE, [_to_sentence(store, found)]) if found.damage else DiskOutcome()


def refuse_damaged(store: Store) -> None:
    """Make the whole check now; raise DamagedError if it finds anything."""
    if store.is_sqlite and (found := examine(store, whole=True, now=utc_now())).damage:
        raise DamagedError(_to_sentence(store, found))


def examine(store: Store, *, whole: bool, now: datetime) -> DiskCheck:
    """Have SQLite check its file, and keep the result in a file next to it."""
    found = DiskCheck(now, whole, embedded.find_damage(store.engine, whole=whole))
    try:
        with write_durably(_record(store)) as file:
            file.write(msgspec.json.encode(found))
    except OSError as error:
        log.warning("the disk check could not be kept", reason=error.strerror)
    return found


def last_check(store: Store) -> DiskCheck | None:
    try:
        return msgspec.json.decode(_record(store).read_bytes(), type=DiskCheck)
    except (OSError, msgspec.DecodeError):
        return None


def check_disk(store: Store) -> Iterator[Check]:
    """Yield what the last check of the file found; PostgreSQL has none."""
    if not store.is_sqlite:
        return
    found = last_check(store)
    if found is None:
        yield Check("", DISK, Verdict.OK, "not checked yet: each night does, and cuadre db check")
    elif found.damage:
        yield Check("", DISK, Verdict.FAILURE, _describe(store, found), RESTORE)
    else:
        kind = "whole" if found.whole else "quick"
        yield Check("", DISK, Verdict.OK, f"the {kind} check of {format_instant(found.checked_at)} found nothing wrong")


def check_replica(store: Store) -> Iterator[Check]:
    """Yield whether long reads go to the replica of CUADRE_READ_URL, where there is one."""
    if store.replica is None:
        return
    try:
        with open_replica(store.replica, store.engine, patience=_PATIENCE):
            yield Check("", REPLICA, Verdict.OK, "it has all that the primary has")
    except (ReplicaError, sa.exc.DBAPIError) as error:
        found = str(error) if isinstance(error, ReplicaError) else "the replica does not answer"
        advice = "nights and reports read the primary until the standby of CUADRE_READ_URL follows it"
        yield Check("", REPLICA, Verdict.WARNING, found, advice)


def check_database(store: Store, *, mounts: Path = _MOUNTS) -> Check:
    """Return what keeps the rows: of SQLite the version and the journal, and whether a commit is safe with them."""
    if not store.is_sqlite:
        return Check("", DATABASE, Verdict.OK, "PostgreSQL, migrated")
    with store.reading() as session:
        connection = session.connection()
        connection.exec_driver_sql("PRAGMA schema_version")  # reads the file, so that its mode is known
        mode = embedded.journal_of(connection)
        can_search = connection.exec_driver_sql("SELECT sqlite_compileoption_used('ENABLE_FTS5')").scalar_one()
    if not can_search:
        lacking = f"{embedded.format_version()} was built without FTS5, which the search of the pages needs"
        return Check("", DATABASE, Verdict.FAILURE, lacking, embedded.INSTALL)
    found = f"{embedded.format_version()}, journal mode {mode}, migrated"
    if not embedded.is_wal_safe(embedded.VERSION):
        if mode == "wal":
            return Check("", DATABASE, Verdict.FAILURE, f"{found}: this version can lose commits", embedded.INSTALL)
        slow = f"{found}: this version can lose commits in WAL mode, so readers and writers wait for each other"
        return Check("", DATABASE, Verdict.WARNING, slow, embedded.INSTALL)
    kind = _file_system(Path(store.url.database or ""), mounts)
    if kind in _NETWORK:
        advice = "move CUADRE_DATA_DIR to a local disk, or use PostgreSQL: locks are not reliable there"
        return Check("", DATABASE, Verdict.WARNING, f"{found}, on a network file system ({kind})", advice)
    return Check("", DATABASE, Verdict.OK, found)


class DiskGauge(Collector):
    """1 while the last check of the file found damage; every process reads the same record."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def describe(self) -> Iterator[Metric]:
        yield from ()

    def collect(self) -> Iterator[Metric]:
        text = "1 when the last check of the SQLite file found it damaged, 0 when it was whole."
        gauge = GaugeMetricFamily("cuadre_database_damaged", text)
        found = last_check(self._store) if self._store.is_sqlite else None
        if found is not None:
            gauge.add_metric([], float(bool(found.damage)))
        yield gauge


def _record(store: Store) -> Path:
    return Path(f"{store.url.database}.check")


def _describe(store: Store, found: DiskCheck) -> str:
    more = f", and {len(found.damage) - 1} more findings" if len(found.damage) > 1 else ""
    return f"{store.url.database} is damaged: {found.damage[0]}{more}"


def _to_sentence(store: Store, found: DiskCheck) -> str:
    return f"{_describe(store, found)}: {RESTORE}"


def _file_system(path: Path, mounts: Path) -> str:
    """Return the kind of file system a path lies on, empty if it is unknown."""
    try:
        rows = [line.split() for line in mounts.read_text(encoding="utf-8").splitlines()]
    except OSError:
        return ""
    place = path.resolve()
    held = [(len(point), kind) for _, point, kind, *_ in rows if place.is_relative_to(point)]
    # Of two mounts on one point the later one is seen.
    return max(reversed(held), key=lambda one: one[0], default=(0, ""))[1]
