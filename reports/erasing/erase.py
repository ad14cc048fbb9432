"""A person's data erased, wherever it is kept, while amounts, ids, counts and digests of what came stay."""

import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlmodel import Session, col, select

from consumer.facts import embedded, shared_files
from consumer.facts.durable import digest_file, write_durably
from consumer.facts.erasures import ErasingKeyError, open_pseudonyms
from consumer.facts.installation import Installation
from consumer.facts.meaning import leaves_of
from consumer.facts.pseudonyms import Pseudonyms
from consumer.facts.store import Turn, insert_once, take_turn
from consumer.facts.tables.disputes import Evidence
from consumer.facts.tables.erasures import FILE, PERIOD, RUN, SUBJECT, ErasingKey, Erasure, ErasureMark
from consumer.facts.tables.jobs import SharedFile, Tick, TickState
from consumer.facts.tables.provider import AccountMovement, AccountStatement, LinkMovement
from consumer.facts.tables.sync import ERASED_DOCUMENT, StatementDocument
from consumer.facts.tables.types import core_of
from reconcile.desk.archive import FILES
from reconcile.kept import snapshots
from reconcile.tables.closing import Period
from reconcile.tables.desk import Attachment, ExceptionRow
from reports.access import people
from reports.erasing.declared import PACKED, REWRITTEN, columns_of, list_tables
from reports.erasing.finding import ErasureError, Person, find_person, search
from reports.erasing.standing import list_open
from reports.erasing.words import Words
from reports.search import filling
from reports.tables import ReportFile

LEDGER = "erasures.json"
_ROWS, _PASSES = 500, 5
WAITING = ("uploads", "outcomes", "judged")


@dataclass(frozen=True, slots=True)
class _Change:
    table: sa.Table
    key: Mapping[str, Any]
    old: Mapping[str, Any]
    new: Mapping[str, Any]
    marks: Sequence[tuple[str, str]]


@dataclass(slots=True)
class Erasing:
    """One person in one installation: what bears their words, and the same without them."""

    installation: Installation
    person: Person
    words: Words
    pseudonyms: Pseudonyms
    counts: Counter[str] = field(default_factory=Counter)

    def plan(self) -> list[_Change]:
        """Return every row that changes; what is replaced where a row is theirs is then looked for everywhere."""
        with self.installation.store.reading() as session:
            list(self._scan(session))
            self.words.learn()
            return list(self._scan(session))

    def _scan(self, session: Session) -> Iterator[_Change]:
        periods = {row.id: row.connection for row in session.exec(select(Period))}
        for table in list_tables():
            kinds = {name: kind for name, kind in columns_of(table).items() if kind in REWRITTEN}
            if kinds:
                for row in session.execute(sa.select(table).execution_options(yield_per=_ROWS)).mappings():
                    connection = row.get("connection") or periods.get(row.get("period_id"), "")
                    yield from self._change(table, row, kinds, connection)

    def _change(
        self, table: sa.Table, row: sa.RowMapping, kinds: Mapping[str, str], connection: str
    ) -> Iterator[_Change]:
        cells = [value for name, value in row.items() if isinstance(value, str)]
        is_about = self.person.is_about([*cells, *_leaves_within(cells)], connection)
        old = {name: row[name] for name in kinds if row[name]}
        new = {name: self._redact(kinds[name], value, connection, is_about) for name, value in old.items()}
        changed = {name: value for name, value in new.items() if value != old[name]}
        if changed:
            marks = [(RUN, f"{connection} {row['run_id']}")] if table.name in {"result_chunk", "payout_result"} else []
            marks += [(PERIOD, str(row["period_id"]))] if "period_id" in row else []
            key = {column.name: row[column.name] for column in table.primary_key}
            yield _Change(table, key, {name: old[name] for name in changed}, changed, marks)

    def _redact(self, kind: str, value: Any, connection: str, is_about: bool) -> Any:  # noqa: FBT001
        if kind == PACKED:
            return self.words.content(bytes(value), connection)
        text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
        found = self.words.cell(kind, text, is_about=is_about)
        return value if found == text else found.encode() if isinstance(value, bytes) else found

    def rewrite_files(self, *, now: datetime, is_dry: bool = False) -> list[tuple[str, str]]:
        """Rewrite files of the archive and inputs of runs; return the marks of those that changed."""
        root, marks = self.installation.settings.files_dir, []
        self._fetch_shared(root)
        for path in sorted((root / "reports").rglob("*")):
            if path.is_file() and not path.name.startswith("."):
                name = path.relative_to(root).as_posix()
                marks += [(FILE, name)] if self._rewrite(path, "", now, is_dry=is_dry) else []
        for folder in sorted((root / "runs").glob("*/*")):
            frames = [self._rewrite(path, folder.parent.name, now, is_dry=is_dry) for path in folder.glob("*.parquet")]
            if any(frames):
                marks.append((RUN, f"{folder.parent.name} {folder.name}"))
                if not is_dry:
                    snapshots.note_erased(folder)
                    shared_files.publish(self.installation, folder / snapshots.ERASED, now=now)
        return marks

    def _fetch_shared(self, root: Path) -> None:
        with self.installation.store.reading() as session:
            paths = set(session.scalars(sa.select(col(SharedFile.path))))
        for path in paths:
            if path.partition("/")[0] in {"reports", "runs"}:
                shared_files.fetch(self.installation, root / path)

    def _rewrite(self, path: Path, connection: str, now: datetime, *, is_dry: bool) -> bool:
        content = path.read_bytes()
        redacted = self.words.content(content, connection)
        if redacted == content:
            return False
        self.counts[path.relative_to(self.installation.settings.files_dir).parts[0]] += 1
        if not is_dry:
            with write_durably(path) as file:
                file.write(redacted)
            shared_files.publish(self.installation, path, now=now)
        return True

    def drop_files(self) -> None:
        """Delete what cannot be rewritten: files that wait for a reader, and statements with the person's movements."""
        root = self.installation.settings.files_dir
        self._drop_attachments()
        evidence, statements = self._find_files()
        for name in (*WAITING, *evidence, *statements):
            path = root / name
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
            shared_files.withdraw(self.installation, path)
        with self.installation.store.transaction() as session:
            gone = sa.update(core_of(StatementDocument)).where(col(StatementDocument.path).in_(statements))
            session.execute(gone.values(path=None, problem=ERASED_DOCUMENT))

    def _drop_attachments(self) -> None:
        """Delete what people added to exceptions about the person; a file that another exception has too stays."""
        with self.installation.store.transaction() as session:
            # Who adds one of these files to another exception meanwhile waits, and writes it again.
            take_turn(session, Turn.EVIDENCE)
            rows = self._find_attachments(session)
            for row in rows:
                session.delete(row)
        # Also what a call that was cut off had left.
        FILES.sweep(self.installation)

    def _find_attachments(self, session: Session) -> list[Attachment]:
        same = (
            col(ExceptionRow.connection) == col(Attachment.connection),
            col(ExceptionRow.id) == col(Attachment.exception_id),
        )
        found = session.execute(sa.select(Attachment, ExceptionRow).join(ExceptionRow, sa.and_(*same))).all()
        return [row for row, about in found if self.person.is_about(_names_of(about), about.connection)]

    def count_dropped(self) -> Counter[str]:
        """Return how many files `drop_files` deletes, by folder."""
        root = self.installation.settings.files_dir
        waiting = Counter(place for place in WAITING for path in (root / place).rglob("*") if path.is_file())
        with self.installation.store.reading() as session:
            waiting += Counter({FILES.place: len(self._find_attachments(session))})
        return waiting + Counter(name.partition("/")[0] for names in self._find_files() for name in names)

    def _find_files(self) -> tuple[list[str], list[str]]:
        """Return evidence of the person's disputes, and documents of statements; what another's dispute has stays."""
        with self.installation.store.reading() as session:
            # A request to review a dispute is evidence without a file.
            rows = [(f"evidence/{one.sha256}", one.dispute_id) for one in session.exec(select(Evidence)) if one.sha256]
            erased = set(session.exec(select(ErasureMark.key).where(ErasureMark.kind == SUBJECT)))
            statements = self._find_statements(session)
        own = {name for name, dispute in rows if dispute in self.person.names}
        others = [(name, dispute) for name, dispute in rows if name in own and dispute not in self.person.names]
        return sorted(own - {name for name, one in others if self.pseudonyms.digest(one) not in erased}), statements

    def _find_statements(self, session: Session) -> list[str]:
        """Return the documents of accounts that have a movement of the person."""
        accounts = set()
        for kind in (AccountMovement, LinkMovement):
            rows = session.exec(select(kind.id, kind.account_id))
            accounts |= {account for identity, account in rows if identity in self.person.names}
        of_these = col(AccountStatement.account_id).in_(accounts)
        found = set(session.exec(select(AccountStatement.id).where(of_these)))
        kept = session.exec(select(StatementDocument).where(col(StatementDocument.path).is_not(None)))
        return [document.path for document in kept if document.path and document.statement_id in found]

    def write(self, changes: Sequence[_Change], marks: Sequence[tuple[str, str]], erasure: int) -> None:
        """Write all rows at once; one that changed meanwhile is left for the next look."""
        root = self.installation.settings.files_dir
        with self.installation.store.transaction() as session:
            take_turn(session, Turn.RUNS)
            connection = session.connection()
            for change in changes:
                same = [change.table.c[name] == value for name, value in (*change.key.items(), *change.old.items())]
                connection.execute(sa.update(change.table).where(*same).values(**change.new))
            found = {*marks, *(mark for change in changes for mark in change.marks)}
            put_marks(connection, found, erasure)
            for kind, name in marks:
                if kind == FILE:
                    row = sa.update(core_of(ReportFile)).where(col(ReportFile.path) == name)
                    connection.execute(row.values(sha256=digest_file(root / name)))


def _names_of(about: ExceptionRow) -> list[str | None]:
    return [about.resource_id, about.doc_key, about.subject.partition(":")[2]]


def _leaves_within(cells: Sequence[str]) -> Iterator[str]:
    for cell in cells:
        if cell.startswith("{"):
            yield from leaves_of(msgspec.json.decode(cell))


def put_marks(connection: sa.Connection, marks: set[tuple[str, str]], erasure: int) -> None:
    rows = [{"kind": kind, "key": key, "erasure_id": erasure} for kind, key in sorted(marks)]
    insert_once(connection, ErasureMark, rows, keys=["kind", "key"])


def look(installation: Installation, given: str) -> Erasing:
    """Find a person and what bears their words; raise ErasureError if they cannot be erased."""
    pseudonyms = _pseudonyms(installation)
    with installation.store.reading() as session:
        person = find_person(installation, session, given)
        still_open = list(list_open(installation, session, person))
    if still_open:
        raise ErasureError("erase.open", person=given, what="; ".join(map(str, still_open)))
    return Erasing(installation, person, Words(person, pseudonyms), pseudonyms)


def check_quiet(installation: Installation, *, now: datetime) -> None:
    """Raise ErasureError while a job runs: a night that has read the data would write it again."""
    with installation.store.reading() as session:
        running = select(Tick.job).where(Tick.state == TickState.RUNNING, col(Tick.lease_until) >= now)
        job = session.exec(running.limit(1)).first()
    if job is not None:
        raise ErasureError("erase.job_running", job=job)


def count(erasing: Erasing, *, now: datetime) -> Counter[str]:
    """Return how many rows and files change or go, by table and folder."""
    counts = Counter(change.table.name for change in erasing.plan())
    erasing.rewrite_files(now=now, is_dry=True)
    return counts + erasing.counts + erasing.count_dropped()


def erase(erasing: Erasing, *, who: str, now: datetime) -> bool:
    """Erase a person; a call that was cut off is completed by the next. Return False if copies may linger in a log.

    1. Keep the digests by which later facts are known: from now on these are redacted as they arrive.
    2. Rewrite files, then all rows in one transaction; look again until nothing is left.
    3. Write a SQLite file anew, and note the end in the trail, without the data.
    """
    store, names = erasing.installation.store, erasing.person.names
    with store.transaction() as session:
        erasure = Erasure(at=now, who=who)
        session.add(erasure)
        session.flush()
        number = erasure.id or 0
        put_marks(session.connection(), {(SUBJECT, erasing.pseudonyms.digest(name)) for name in names}, number)
    erasing.drop_files()
    replaced = 0
    for _ in range(_PASSES):
        changes = erasing.plan()
        marks = erasing.rewrite_files(now=now)
        if not changes and not marks:
            break
        erasing.write(changes, marks, number)
        replaced += len(changes) + len(marks)
    return finish(erasing.installation, number, replaced=replaced, who=who, now=now)


def finish(installation: Installation, number: int, *, replaced: int, who: str, now: datetime) -> bool:
    """Make the search anew, then the file, whose free pages held what was replaced; and write down the end."""
    store = installation.store
    for connection in installation.settings.all_connections:
        filling.rebuild(installation, connection)
    if store.is_sqlite:
        with store.connection() as writing:
            writing.exec_driver_sql("INSERT INTO search_index(search_index) VALUES('rebuild')")
    is_compact = embedded.compact(store.engine) if store.is_sqlite else True
    with store.transaction() as session:
        session.execute(sa.update(core_of(Erasure)).where(col(Erasure.finished_at).is_(None)).values(finished_at=now))
        session.execute(sa.update(core_of(Erasure)).where(col(Erasure.id) == number).values(replaced=replaced))
        people.note_in(session, who, "erase", f"erasure {number} rows {replaced}", now=now, address="terminal")
    write_ledger(installation)
    return is_compact


def find_earlier(installation: Installation, given: str) -> Erasure | None:
    """Return the erasing of this person that began before, if there is one."""
    digest = _pseudonyms(installation).digest(given)
    with installation.store.reading() as session:
        mark = session.get(ErasureMark, (SUBJECT, digest))
        return None if mark is None else session.get(Erasure, mark.erasure_id)


def write_ledger(installation: Installation) -> None:
    """Keep the digests next to the backups, where a restore of an older one finds them."""
    folder = installation.settings.backup_dir
    with installation.store.reading() as session:
        keys = session.exec(select(ErasureMark.key).where(ErasureMark.kind == SUBJECT)).all()
        encrypted = session.exec(select(ErasingKey.encrypted)).first()
    if folder is not None and encrypted is not None:
        folder.mkdir(parents=True, exist_ok=True)
        with write_durably(folder / LEDGER) as file:
            file.write(msgspec.json.encode({"key": encrypted.decode(), "subjects": sorted(keys)}))


def erase_again(installation: Installation, folder: Path, *, now: datetime) -> int:
    """Erase in a restored installation whoever was erased since its backup; return how many rows and files changed.

    Raise ErasureError if the digests were made under another secret key.
    """
    path = folder / LEDGER
    if not path.is_file():
        return 0
    ledger = msgspec.json.decode(path.read_bytes())
    pseudonyms = _pseudonyms(installation, encrypted=ledger["key"].encode())
    digests = frozenset(ledger["subjects"])
    person = Person(lambda text: pseudonyms.digest(text) in digests)
    with installation.store.reading() as session:
        search(installation, session, person)
    if not person.names:
        return 0
    erasing = Erasing(installation, person, Words(person, pseudonyms), pseudonyms)
    found = count(erasing, now=now)
    erase(erasing, who="restore", now=now)
    return found.total()


def _pseudonyms(installation: Installation, *, encrypted: bytes | None = None) -> Pseudonyms:
    try:
        with installation.store.connection() as connection:
            return open_pseudonyms(connection, encrypted=encrypted)
    except ErasingKeyError:
        raise ErasureError("erase.other_key") from None
