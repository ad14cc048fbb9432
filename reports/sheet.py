"""The work list as a sheet to fill in: out as the reader's spreadsheet opens it, and back row by row."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from functools import cache

from consumer.facts.columns import to_columns
from consumer.facts.installation import Connection, Installation
from consumer.facts.messages import LANGUAGES, Message, word
from reconcile.desk import worklist
from reconcile.desk.worklist import RowOutcome
from reconcile.tables.runs import Run
from reports.access.owners import check_owner
from reports.queries import frames
from reports.queries.frames import latest_runs
from reports.queries.query import calendars_of
from reports.shapes import build
from reports.shapes.build import Report
from reports.shapes.definitions import Definition, label_of
from reports.shapes.spans import WHOLE

SHEET = Definition(
    "exceptions-sheet",
    to_columns(
        "exception_id code title severity amount_at_risk currency payout_id resource_id doc_key customer_name "
        "opened_on fact_on due_on age_business_days suggested_action owner state resolution note match_to version "
        "connection"
    ),
    sort=("connection", "severity", "opened_on", "exception_id"),
    unsummed=("amount_at_risk",),
)


def make(installation: Installation, connections: Sequence[Connection], *, today: date) -> Report:
    """List what is open with its row version, so that a row changed meanwhile is refused alone."""
    names = [connection.name for connection in connections]
    with installation.store.reading() as session:
        runs = latest_runs(session, names, today=today)
        rows = list(frames.exception_rows(session, frames.exceptions_open(names)))
    as_of = _day(runs, today)
    calendars = calendars_of(installation, connections, runs)
    aged = (
        {
            **row,
            "match_to": None,
            "age_business_days": max(0, calendars[row["connection"]].days_between(row["fact_on"], as_of)),
        }
        for row in rows
    )
    table = build.to_table(SHEET, aged, currency=lambda row: str(row["currency"]))
    facts = {
        "runs": " ".join(f"{run.connection}:{run.id}" for run in runs),
        "run_numbers": "-".join(f"r{run.number:04d}" for run in runs),
        "connections": "-".join(names),
        "countries": "-".join(dict.fromkeys(connection.country_code for connection in connections)),
    }
    return Report(SHEET, table, WHOLE, as_of, facts=facts)


def _day(runs: Sequence[Run], today: date) -> date:
    return max((run.as_of for run in runs), default=today)


def take_back(
    installation: Installation,
    connections: Sequence[Connection],
    content: bytes,
    *,
    author: str,
    at: datetime,
    today: date,
) -> Iterator[tuple[str, RowOutcome]]:
    """Apply a returned sheet, each row on its own; only where there is one connection may a row leave its name out.

    Raises `worklist.WorklistError` before anything is applied where the file is no such sheet.
    """
    by_name = {connection.name: connection for connection in connections}
    with installation.store.reading() as session:
        days = {name: _day(latest_runs(session, [name], today=today), today) for name in by_name}
    for line, cells in worklist.read_sheet(content, labels=_labels()):
        name = cells.get("connection", "").strip() or (connections[0].name if len(connections) == 1 else "")
        if name not in by_name:
            known = Message("pages.name_connection", {"connections": ", ".join(by_name)})
            refused = Message("pages.no_connection", {"connection": name}) if name else known
            yield name, RowOutcome(line, cells.get("exception_id", ""), (), refused)
            continue
        row = (line, {**cells, "state": _states().get(cells.get("state", "").strip().lower(), cells.get("state", ""))})
        taken = worklist.take_back(
            installation.store, name, [row], author=author, on=days[name], at=at, check_owner=check_owner
        )
        for outcome in taken:
            yield name, outcome


def _labels() -> Mapping[str, str]:
    return {label_of(SHEET.name, name, language): name for name in SHEET.names for language in LANGUAGES}


@cache
def _states() -> Mapping[str, str]:
    """Return each state by its own name and by its words in every language."""
    states = ("open", "resolved")
    named = {word("exception", state, language).lower(): state for state in states for language in LANGUAGES}
    return {**named, **dict(zip(states, states, strict=True))}
