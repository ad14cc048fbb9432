"""The tables of a closed month, each from what its closing froze: the run it rests on, the work list, decisions."""

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import cached_property
from pathlib import Path

import msgspec
import pyarrow as pa
from sqlmodel import Session, col, select

from consumer.facts.columns import Kind, to_columns
from consumer.facts.installation import Connection, Installation
from reconcile.desk import attachments
from reconcile.desk.archive import FILES
from reconcile.kept import day_end, extracts, snapshots
from reconcile.kept.chunks import BANK
from reconcile.kept.records import read_closed_periods
from reconcile.tables.closing import EXCEPTION, ClosedFigure, Period
from reconcile.tables.desk import Attachment, Decision, ExceptionChange
from reconcile.tables.runs import Run
from reports.directory import LISTINGS
from reports.making import catalogue
from reports.making.control import Books, control
from reports.output import files
from reports.output.files import Shape
from reports.queries import frames
from reports.queries.listing import Wanted, to_row
from reports.queries.query import Query, Source
from reports.shapes.build import Report, from_columns, in_transit, receivables, to_table
from reports.shapes.definitions import Definition, definition_of
from reports.shapes.spans import WHOLE, Row, Span

_RUNS = "run "


@dataclass(frozen=True)
class Month:
    """A closed period with the run it rests on, in one view of the database.

    What is a state is that of the last day of the period; exceptions and payouts are as the run's day found them.
    """

    installation: Installation
    session: Session
    connection: Connection
    period: Period
    run: Run

    @property
    def span(self) -> Span:
        return Span(self.period.since, self.period.until)

    @cached_property
    def owed(self) -> day_end.Owed:
        """What was open on documents on the last day."""
        folder, period = self.installation.settings.files_dir, self.period
        return day_end.read_owed(self.session, folder, self.run, period.until, period.ends_at)

    @cached_property
    def in_transit(self) -> pa.Table:
        """What waited for a payout on the last day."""
        return day_end.read_transit(self.session, self.run, self.period.until)

    @cached_property
    def balances(self) -> Mapping[str, tuple[int, int]]:
        """What the provider owed before the first day and after the last one, by currency."""
        return day_end.read_balances(self.session, self.run, self.period.since, self.period.until)

    def source(self, name: str) -> Source:
        query = Query(name, (self.connection,), today=self.run.as_of, span=self.span, as_of=self.run.as_of)
        return Source(self.session, [self.run], query, self.run.as_of, self.installation)

    def build(self, definition: Definition, rows: Iterable[Row]) -> Report:
        """Build a table that is no report of the catalogue, or from other rows than its."""
        own = {"connection": self.connection.name}
        currency = catalogue.currency_of(definition, (self.connection,))
        table = to_table(definition, ({**own, **row} for row in rows), currency=currency)
        return self._report(definition, table, self.run.as_of)

    def build_state(self, name: str, rows: pa.Table) -> Report:
        """Build a report of the catalogue that says how things stood on the last day."""
        definition = definition_of(name)
        return self._report(definition, from_columns(definition, [(self.connection.name, rows)]), self.period.until)

    def _report(self, definition: Definition, table: pa.Table, as_of: date) -> Report:
        facts = catalogue.facts_of(self.source(definition.name).query, [self.run])
        return Report(definition, table, self.span, as_of, facts=facts)

    def find_exceptions(self) -> Iterator[Row]:
        """Read the work list as it stood when the period was closed, without what happened after its last day."""
        figure = ClosedFigure
        asked = select(figure.words).where(figure.period_id == self.period.id, figure.kind == EXCEPTION)
        rows = (_to_exception(msgspec.json.decode(words)) for words in self.session.exec(asked))
        return (row for row in rows if row["fact_on"] <= self.period.until)

    def is_of_this_closing(self, at: datetime) -> bool:
        """Return True for a moment after the closing before this one, up to this one."""
        before = [one.closed_at for one in self._closed() if one.until < self.period.until]
        return (not before or at > max(before)) and at <= self.period.closed_at

    def _closed(self) -> Iterable[Period]:
        return read_closed_periods(self.session, self.connection.name)


def _of_catalogue(month: Month, name: str) -> Report:
    # Names of banks may change after the closing; their ids do not.
    return replace(catalogue.build_from(month.source(name)), banks={})


def _exceptions(month: Month, name: str) -> Report:
    return month.build(definition_of(name), catalogue.age_exceptions(month.source(name), month.find_exceptions()))


def _receivables(month: Month, name: str) -> Report:
    due_days = month.source(name).due_days[month.connection.name]
    return month.build_state(name, receivables(month.owed.documents, due_days, as_of=month.period.until))


def _in_transit(month: Month, name: str) -> Report:
    calendar = month.source(name).calendars[month.connection.name]
    return month.build_state(name, in_transit(month.in_transit, calendar, as_of=month.period.until))


def _control(month: Month, name: str) -> Report:
    """Tie the tables of the archive: sums of the period's days, and what stood open on its last one."""
    own = {"connection": month.connection.name}
    sums = frames.figure_rows(month.session, [month.run], month.span)
    figures = [row for row in sums if row["source"] != "documents"]
    figures += [
        {**own, "source": "documents", "name": "balance", "currency": currency, "amount": amount}
        for currency, amount in month.owed.balances.items()
    ]
    owed, too_much = catalogue.split_balances(own["connection"], month.owed.documents)
    waiting = catalogue.sum_by_currency(own["connection"], month.in_transit, "amount_signed")
    closing = [{**own, "currency": currency, "closing": end} for currency, (_, end) in month.balances.items()]
    return month.build(definition_of(name), control(Books(figures, owed, too_much, waiting, closing)))


_DAYS = tuple(column.name for column in definition_of("exceptions").columns if column.kind is Kind.DATE)


def _to_exception(row: Row) -> Row:
    """Return a frozen row as the report reads it; one without a day of its own counts from the day it was seen."""
    days = {name: row[name] and date.fromisoformat(row[name]) for name in _DAYS}
    return {**row, **days, "exception_id": row["id"], "fact_on": days["fact_on"] or days["opened_on"]}


def _decisions(month: Month, name: str) -> Report:
    """Build what people decided up to the closing and after the one before; what was undone later stands here."""
    listing = LISTINGS["decisions"]
    query = listing.query(Wanted([month.connection.name])).where(col(Decision.at) <= month.period.closed_at)
    found = [(one[0], to_row(listing, one)) for one in month.session.execute(query)]
    known = {decision.id for decision, _ in found}
    rows = (
        {**row, "state": "undone" if decision.undone_by in known else "standing"}
        for decision, row in reversed(found)
        if month.is_of_this_closing(decision.at)
    )
    return month.build(Definition(name, tuple(column for column in listing.columns if column.name != "decision")), rows)


def _history(month: Month, name: str) -> Report:
    """Build what people did to exceptions up to the closing and after the one before."""
    change = ExceptionChange
    asked = select(change).where(change.connection == month.connection.name, change.at <= month.period.closed_at)
    rows = (
        {"at": one.at, "who": one.author, "exception_id": one.exception_id, "field": one.change,
         "before": one.before, "after": one.after}
        for one in month.session.exec(asked.order_by(col(change.at), col(change.id)))
        if month.is_of_this_closing(one.at) and not one.author.startswith(_RUNS)
    )  # fmt: skip
    return month.build(Definition(name, to_columns("at who exception_id field before after connection")), rows)


def _files(month: Month, name: str) -> Report:
    """Build what people added to exceptions up to the closing and after the one before, with the file of each."""
    rows = (
        {"at": one.at, "who": one.who, "exception_id": one.exception_id, "name": one.name, "file": _name_file(one),
         "sha256": one.sha256}
        for one in _find_attachments(month)
    )  # fmt: skip
    return month.build(Definition(name, to_columns("at who exception_id name file sha256 connection")), rows)


def _find_attachments(month: Month) -> Iterator[Attachment]:
    mine = select(Attachment).where(Attachment.connection == month.connection.name)
    found = month.session.exec(mine.order_by(col(Attachment.at), col(Attachment.id)))
    return (one for one in found if month.is_of_this_closing(one.at))


def _name_file(one: Attachment) -> str:
    """Name a file in the archive by its digest; only its ending is the person's."""
    ending = Path(one.name).suffix.lower()
    return f"{FILES.place}/{one.sha256}{ending if ending[1:].isalnum() and ending.isascii() else ''}"


def copy_files(month: Month, folder: Path) -> None:
    """Copy what people added to exceptions; raise DecisionError if a file is not the one that was kept."""
    for one in _find_attachments(month):
        target = folder / _name_file(one)
        target.parent.mkdir(exist_ok=True)
        shutil.copyfile(attachments.find_file(month.installation, one), target)


_BANK = to_columns(
    "movement_id file_line_id account_last4 booked_on bank_day amount_signed currency text reference source payout_id "
    "connection"
)


def _bank(month: Month, name: str) -> Report:
    """Build the lines of the bank that the run read: those of the period's days, and those of its payouts.

    A deposit that the provider and a file both tell is one line: the provider's, which names that of the file.
    """
    data_dir, connection = month.installation.settings.files_dir, month.connection.name
    frame = snapshots.read_frame(data_dir, connection, month.run.id, "bank")
    lines = pa.Table.from_pandas(frame, preserve_index=False).to_pylist()
    payouts, own = _find_arrived(month, WHOLE), _find_arrived(month, month.span)
    published = extracts.read(month.session, month.run, BANK, ["movement_id", "file_line_id"]).to_pylist()
    twins = {row["movement_id"]: row["file_line_id"] for row in published if row["file_line_id"]}
    repeated = {twin for line, twin in twins.items() if twin != line}
    # A line of amount 0 says which days its account's history covers.
    days = [(line, _to_day(line["booked_on"]), _to_day(line["bank_day"])) for line in lines if line["amount"]]
    rows = (
        {**line, "booked_on": booked_on, "bank_day": bank_day, "amount_signed": line["amount"],
         "source": "file" if line["known_until"] else "provider", "file_line_id": twins.get(line["movement_id"]),
         "payout_id": payouts.get(line["movement_id"]) or payouts.get(twins.get(line["movement_id"], ""))}
        for line, booked_on, bank_day in days
        if line["movement_id"] not in repeated
        and (not own.keys().isdisjoint({line["movement_id"], twins.get(line["movement_id"])})
             or month.span.holds(bank_day or booked_on))
    )  # fmt: skip
    return month.build(Definition(name, _BANK, sort=("booked_on", "movement_id")), rows)


def _find_arrived(month: Month, span: Span) -> dict[str, str]:
    """Return the payouts of a span by the line of the bank that shows them."""
    names = ["payout_date", "payout_id", "bank_movement_id"]
    ((_, table),) = frames.payout_tables(month.session, [month.run], span, names=names)
    return {row["bank_movement_id"]: row["payout_id"] for row in table.to_pylist() if row["bank_movement_id"]}


def _to_day(at: datetime | None) -> date | None:
    return at and at.date()


# Every table of the archive, by its name and in the order they are made. A new control of a period is a new row.
TABLES: Mapping[str, Callable[[Month, str], Report]] = {
    "payout-summary": _of_catalogue,
    "payout-detail": _of_catalogue,
    "exceptions": _exceptions,
    "decisions": _decisions,
    "exception-history": _history,
    "exception-files": _files,
    "receivables": _receivables,
    "in-transit": _in_transit,
    "clearing-rollforward": _of_catalogue,
    "bank": _bank,
    "control": _control,
}


def write_tables(month: Month, folder: Path, shape: Shape) -> Iterator[Report]:
    """Write each table as a file and yield it, one at a time: a month may have a million lines."""
    for name, make in TABLES.items():
        report = make(month, name)
        files.write(folder / f"{name}.{shape.format}", files.pieces([report], shape))
        yield report
