"""What is asked of the catalogue, and where the rows that answer it come from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from sqlmodel import Session

from consumer.facts.bankdays import BankCalendar, read_calendar, to_calendar
from consumer.facts.installation import Connection, Installation
from reconcile.kept.records import read_summary
from reconcile.tables.runs import Run
from reports.shapes.spans import Span


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked: a report of some connections, over local business dates, as of a day."""

    name: str
    connections: tuple[Connection, ...]
    today: date
    span: Span = field(default_factory=Span)
    as_of: date | None = None
    payout_id: str | None = None
    # The number of the one run to read, where an address is pinned to it.
    run: int | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """Where a report's rows come from: an open view, the runs it reads, and the query."""

    session: Session
    runs: Sequence[Run]
    query: Query
    as_of: date
    installation: Installation

    @property
    def names(self) -> list[str]:
        return [connection.name for connection in self.query.connections]

    @property
    def due_days(self) -> Mapping[str, int]:
        """Return by connection the days that its run took for a document without a due date."""
        return {run.connection: read_summary(run)["tolerances"]["due_days"] for run in self.runs}

    @property
    def calendars(self) -> Mapping[str, BankCalendar]:
        return calendars_of(self.installation, self.query.connections, self.runs)


def calendars_of(
    installation: Installation, connections: Sequence[Connection], runs: Sequence[Run]
) -> Mapping[str, BankCalendar]:
    """Bring back the bank days each connection's run counted with; without a run, those of the installation today."""
    editions = {run.connection: run.calendar for run in runs}
    return {
        own.name: to_calendar(own.country_code, editions[own.name])
        if own.name in editions
        else read_calendar(installation.settings.files_dir, own.country_code)
        for own in connections
    }
