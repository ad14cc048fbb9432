"""Bank files of the merchant's own accounts: a file goes in whole or not at all, and no line twice."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import sqlalchemy as sa
from sqlmodel import Session, col, select

from consumer.facts.clock import utc_now
from consumer.facts.countries import COUNTRIES
from consumer.facts.erasures import Subjects, read_subjects
from consumer.facts.installation import Connection, Installation
from consumer.facts.messages import Message
from consumer.facts.store import Turn, among, batches, take_turn
from consumer.facts.tables.provider import Payout
from reconcile.books.bank_overlaps import Said, find_place, lines_said
from reconcile.books.bank_sheets import read_bank_sheet
from reconcile.books.bank_statements import (
    LAST_DIGITS,
    BankFileError,
    BankReading,
    account_digits,
    check_statements,
)
from reconcile.books.camt import is_xml, read_camt
from reconcile.books.dialects import ADVICE_FORMS, COLUMNS, Holds
from reconcile.books.documents import NO_LINE, Reject
from reconcile.books.headers import MappingError, read_mapping
from reconcile.books.ofx import is_ofx, read_ofx
from reconcile.books.page_tables import is_spreadsheet_xml, is_web_page
from reconcile.books.proposals import Proposal, propose_columns
from reconcile.books.sheets import beginning_of
from reconcile.books.swift import is_mt940, read_mt940
from reconcile.tables.books import BankFile, BankLine, BankMapping

_ID_LENGTH = 20
NO_HEADER = "books.no_bank_header"
_SHORTEST_ACCOUNT = 5


@dataclass(frozen=True, slots=True)
class BankOutcome:
    """What became of one file; `accepted` also holds for a dry run, and for one that came in before (`earlier`).

    `asks` is what a person should say of its account: that it is right, though no payout goes there, or though neither
    the file nor they name it.
    """

    name: str
    reading: BankReading
    rejects: tuple[Reject, ...] = ()
    kept: bool = False
    added: int = 0
    known: int = 0
    earlier: Message | None = None
    notes: tuple[Message, ...] = ()
    proposal: Proposal | None = None
    asks: Message | None = None

    @property
    def accepted(self) -> bool:
        return not self.rejects

    @property
    def rows(self) -> int:
        return sum(len(statement.rows) for statement in self.reading.statements)


@dataclass(frozen=True, slots=True)
class Confirmed:
    """Which column is what, as a person confirmed it for the sheets of one account."""

    columns: Mapping[str, str]
    by: str


def import_bank_file(  # noqa: PLR0913 - one file, and what only a person knows of it
    installation: Installation, connection: Connection, path: Path, *, account: str, mapping: str | None = None,
    confirmed: Confirmed | None = None, is_new_account: bool = False, dry_run: bool = False,
) -> BankOutcome:  # fmt: skip
    """Read one file and keep its lines in one transaction; a dry run says what would happen.

    Without an account the file's own counts, else the only one that payouts go to. An account that no payout goes to
    is mostly a typing error: it is taken only if `is_new_account` is set. Columns that a person confirms now are
    remembered with the file; a sheet of an unknown bank is read with those remembered, else columns are proposed.
    """
    outcome = BankOutcome(path.name, BankReading(""))
    content = b""
    try:
        if account:
            _check_account(account)
        content = path.read_bytes()
        own = dict(confirmed.columns if confirmed else {})
        columns = read_mapping(installation, mapping, words=COLUMNS) if mapping else own
        reading = _read_with_memory(installation, connection, content, account=account, columns=columns)
        if not (account or any(account_digits(statement.account) for statement in reading.statements)):
            account = _find_account(installation, connection, reading)
            outcome = replace(outcome, asks=Message("books.confirm_only_account", {"ends": account[-LAST_DIGITS:]}))
        account = account or _find_account(installation, connection, reading)
    except OSError as error:
        return _refuse(outcome, Message("books.file_unreadable", {"reason": str(error.strerror)}))
    except (BankFileError, MappingError) as error:
        is_unknown = error.message.code == NO_HEADER
        proposal = propose_columns(content, country=connection.country_code) if is_unknown else None
        return _refuse(replace(outcome, proposal=proposal), error.message)
    rejects = reading.rejects or tuple(check_statements(reading.statements, account))
    if not rejects and not reading.statements:
        rejects = (Reject(NO_LINE, "", "", Message("books.no_movements")),)
    outcome = replace(outcome, reading=reading, rejects=rejects)
    if rejects:
        return outcome
    file = _file_row(connection, path.name, content, reading, account=account, at=utc_now())
    with installation.store.transaction() if not dry_run else installation.store.reading() as session:
        outcome = _keep(session, outcome, file, content, is_new_account=is_new_account, dry_run=dry_run)
        if confirmed is not None and outcome.kept:
            session.merge(_to_memory(file, confirmed))
        return outcome


def _read_with_memory(
    installation: Installation, connection: Connection, content: bytes, *, account: str, columns: Mapping[str, str]
) -> BankReading:
    """Read a file; one without known headings with the columns that were confirmed for its account before."""
    try:
        return read_bank_file(content, country=connection.country_code, mapping=columns)
    except BankFileError as error:
        if columns or error.message.code != NO_HEADER:
            raise
        with installation.store.reading() as session:
            recipients = {account_digits(number) for number in _recipients(session, connection.name)}
            own = account_digits(account) or (recipients.pop() if len(recipients) == 1 else "")
            memory = session.get(BankMapping, (connection.name, own))
        if memory is None:
            raise
        return read_bank_file(content, country=connection.country_code, mapping=json.loads(memory.columns))


def _to_memory(file: BankFile, confirmed: Confirmed) -> BankMapping:
    columns = json.dumps(dict(confirmed.columns), ensure_ascii=False, sort_keys=True)
    return BankMapping(
        connection=file.connection, account=file.account, columns=columns, confirmed_by=confirmed.by,
        confirmed_at=file.imported_at,
    )  # fmt: skip


def read_bank_file(content: bytes, *, country: str, mapping: Mapping[str, str]) -> BankReading:
    """Return the format of a file by its content; pure."""
    beginning = beginning_of(content)
    if is_ofx(beginning):
        return read_ofx(content, zone=ZoneInfo(COUNTRIES[country].zone))
    if is_xml(content) and not is_web_page(beginning) and not is_spreadsheet_xml(beginning):
        return read_camt(content)
    for encoding in ("utf-8-sig", "cp1252"):
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError:
            continue
        if is_mt940(text):
            return read_mt940(text)
        break
    return read_bank_sheet(content, country=country, mapping=mapping)


def _check_account(account: str) -> None:
    if len(account_digits(account)) < _SHORTEST_ACCOUNT:
        raise BankFileError("books.whole_account_number")


def _find_account(installation: Installation, connection: Connection, reading: BankReading) -> str:
    """Return the account that a file names, else the only one that payouts go to; a masked number is none."""
    own = {account_digits(statement.account) for statement in reading.statements} - {""}
    if own:
        account = own.pop() if len(own) == 1 else ""
        _check_account("" if "*" in account else account)
        return account
    with installation.store.reading() as session:
        recipients = {account_digits(number) for number in _recipients(session, connection.name)}
    if len(recipients) != 1:
        raise BankFileError("books.account_not_named", accounts=len(recipients))
    return recipients.pop()


def _refuse(outcome: BankOutcome, reason: Message) -> BankOutcome:
    return replace(outcome, rejects=(Reject(NO_LINE, "", "", reason),))


def _file_row(
    connection: Connection, name: str, content: bytes, reading: BankReading, *, account: str, at: datetime
) -> BankFile:
    edges = [statement.days for statement in reading.statements]
    number, until = account_digits(account), max(edge[1] for edge in edges)
    opening, closing = reading.statements[0].opening, reading.statements[-1].closing
    lines = lines_said(reading.statements)
    last_day = sum(said.amount for said in lines if said.booked_on == until)
    return BankFile(
        connection=connection.name, sha256=_digest(content, number), name=name,
        account=number, file_format=reading.file_format, since=min(edge[0] for edge in edges), until=until,
        currency=reading.statements[0].currency, opening=opening.amount if opening else None,
        closing=closing.amount if closing else None, last_opening=closing.amount - last_day if closing else None,
        imported_at=at, rows=len(lines), added=0,
    )  # fmt: skip


def _digest(content: bytes, account: str) -> str:
    return hashlib.sha256(content + account.encode()).hexdigest()


def _keep(
    session: Session, outcome: BankOutcome, file: BankFile, content: bytes, *, is_new_account: bool, dry_run: bool
) -> BankOutcome:
    if not dry_run:
        take_turn(session, Turn.BOOKS)
    earlier = session.get(BankFile, (file.connection, file.sha256))
    if earlier is not None:
        said_before = Message("books.imported_before", {"at": earlier.imported_at, "name": earlier.name})
        return replace(outcome, earlier=said_before)
    before = _earlier(session, file)
    stranger = None if before else _remark_on_recipients(session, file)
    unfit = tuple(_unfit(file, before, None if is_new_account else stranger))
    if unfit:
        return replace(outcome, rejects=unfit)
    said = lines_said(outcome.reading.statements)
    first_on = min([file.since, *(line.booked_on for line in said)])
    subjects = read_subjects(session.connection())
    stored, kept = (_to_stored(some, subjects) for some in (said, _read_kept(session, file, first_on)))
    place = find_place(file, stored, before, kept)
    if place.rejects:
        return replace(outcome, rejects=place.rejects)
    lines = list(_lines(said, stored, file, place.before))
    known = dict(_find_known(session, file.connection, [str(line["id"]) for line in lines]))
    new = [line for line in lines if line["id"] not in known]
    notes = (*place.notes, *filter(None, [stranger]), *_twice(session, file, content))
    if stranger:
        asks = Message("books.confirm_new_account", {"ends": file.account[-LAST_DIGITS:]})
        outcome = replace(outcome, asks=asks)
    outcome = replace(outcome, added=len(new), known=len(known), notes=notes)
    if dry_run:
        return outcome
    file.added = len(new)
    # Lines that count as before its own on a split day may be any touching file's.
    split = {other.sha256 for other in before if place.before and other.until >= first_on}
    file.rests_on = json.dumps(sorted(split | set(known.values())))
    session.add(file)
    if subjects is not None:
        new = [line | {name: subjects.redact_text(str(line[name])) for name in ("text", "reference")} for line in new]
    if new:
        session.execute(sa.insert(BankLine), new)
    return replace(outcome, kept=True)


def _twice(session: Session, file: BankFile, content: bytes) -> Iterator[Message]:
    """Say under which other accounts the very same file is kept: its money came in once."""
    others = select(BankFile.account).where(BankFile.connection == file.connection, BankFile.account != file.account)
    for account in sorted(session.exec(others.distinct())):
        if session.get(BankFile, (file.connection, _digest(content, account))) is not None:
            yield Message("books.kept_for_other_account", {"ends": account[-LAST_DIGITS:]})


def _earlier(session: Session, file: BankFile) -> Sequence[BankFile]:
    mine = select(BankFile).where(BankFile.connection == file.connection, BankFile.account == file.account)
    return session.exec(mine.order_by(col(BankFile.imported_at), col(BankFile.sha256))).all()


def _read_kept(session: Session, file: BankFile, since: date) -> list[Said]:
    names = (BankLine.booked_on, BankLine.amount, BankLine.currency, BankLine.text, BankLine.reference)
    mine = (col(BankLine.connection) == file.connection, col(BankLine.account) == file.account)
    form = col(BankFile.file_format)
    of_kind = form.in_(ADVICE_FORMS) if file.file_format in ADVICE_FORMS else form.not_in(ADVICE_FORMS)
    files = sa.select(col(BankFile.sha256)).where(col(BankFile.connection) == file.connection, of_kind)
    wanted = sa.select(*map(col, names)).where(*mine, col(BankLine.booked_on) >= since)
    wanted = wanted.where(col(BankLine.file_sha256).in_(files))
    return [Said(*row) for row in session.execute(wanted)]


def _to_stored(lines: Sequence[Said], subjects: Subjects | None) -> Sequence[Said]:
    """Return lines as all of them would read if their people were erased: what was erased and what was not compare."""
    if subjects is None:
        return lines
    words = subjects.pseudonyms.text
    return [replace(said, text=words(said.text), reference=words(said.reference)) for said in lines]


def _lines(
    lines: Iterable[Said], stored: Iterable[Said], file: BankFile, before: Counter[Said]
) -> Iterator[dict[str, object]]:
    """Name each line by what it says and by how many before it on its day say the same, so files may overlap."""
    seen = before.copy()
    for said, same in zip(lines, stored, strict=True):
        seen[same] += 1
        words = (file.account, said.booked_on, said.amount, said.currency, said.text, said.reference, seen[same])
        # A statement repeats what advice said before it, and its line must stand when that of the advice does not.
        kind = (Holds.ADVICE,) if file.file_format in ADVICE_FORMS else ()
        digest = hashlib.sha256("|".join(map(str, (*words, *kind))).encode()).hexdigest()[:_ID_LENGTH]
        yield {
            "connection": file.connection, "id": f"bank_{digest}", "account": file.account,
            "booked_on": said.booked_on, "amount": said.amount, "currency": said.currency, "text": said.text,
            "reference": said.reference, "file_sha256": file.sha256,
        }  # fmt: skip


def _find_known(session: Session, connection: str, ids: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the lines that are known, each with the file that brought it."""
    wanted = select(BankLine.id, BankLine.file_sha256).where(BankLine.connection == connection)
    for some in batches(ids):
        yield from session.exec(wanted.where(among(session, BankLine.id, some)))


def _unfit(file: BankFile, before: Sequence[BankFile], stranger: Message | None) -> Iterator[Reject]:
    if stranger:
        reason = Message("books.correct_account", {"stranger": stranger})
        yield Reject(NO_LINE, "account", f"…{file.account[-LAST_DIGITS:]}", reason)
    other = next((one for one in before if one.currency != file.currency), None)
    if other is not None:
        reason = Message("books.account_in_other_currency", {"file": other.name, "currency": other.currency})
        yield Reject(NO_LINE, "currency", file.currency, reason)


def _remark_on_recipients(session: Session, file: BankFile) -> Message | None:
    """Return a remark if payouts go to other accounts; None if they go here, or to none yet."""
    recipients = _recipients(session, file.connection)
    if not recipients or file.account in {account_digits(number) for number in recipients}:
        return None
    ends = sorted({number[-LAST_DIGITS:] for number in recipients})
    if file.account[-LAST_DIGITS:] in ends:
        return Message("books.nobody_pays_same_digits")
    return Message("books.nobody_pays_here", {"ends": ", ".join(ends)})


def _recipients(session: Session, connection: str) -> list[str]:
    """Return the numbers of the accounts that payouts go to, as the provider writes them."""
    wanted = select(Payout.recipient_number).where(Payout.connection == connection).distinct()
    return [number for number in session.exec(wanted) if number]
