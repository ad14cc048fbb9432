"""Decisions that no run has counted with yet, on every page: rows as the next run will say them, marked as pending."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from flask import g
from sqlmodel import Session

from consumer.facts.clock import local_date
from reconcile.runs.pending import Pending, find_pending
from reports.pages import desk
from reports.shapes.spans import Row

# What a pending exception will be.
OPENS, CLOSES, CHANGES, REOPENS = "opens", "closes", "changes", "reopens"
_FIGURES_OF_DOCUMENT = ("outcome", "paid", "credited", "balance")


def pending_now() -> Mapping[str, Pending]:
    """Return by connection what waits for the next run, of those the reader sees; found once a request."""
    if "pending" not in g:
        with desk.installation().store.reading() as session:
            g.pending = _find(session)
    found: Mapping[str, Pending] = g.pending
    return found


def _find(session: Session) -> dict[str, Pending]:
    own = {connection.name: connection for connection in desk.visible_connections()}
    found: dict[str, Pending] = {}
    # A page of one run shows what that run said.
    if not own or desk.args().get("run"):
        return found
    # Not the day of the connection that the address names: it may be one that the reader does not see.
    today = local_date(desk.now(), next(iter(own.values())).country.zone)
    for run in desk.runs_now(session, list(own), today):
        waiting = find_pending(session, desk.installation(), own[run.connection], run, now=desk.now())
        if waiting is not None:
            found[run.connection] = waiting
    return found


def count_changes(waiting: Pending) -> Mapping[str, int]:
    """Count what changes by kind: documents, items, payouts, exceptions."""
    return Counter(change.kind for change in waiting.changes)


def on_payouts(rows: Iterable[Row]) -> list[Row]:
    return [_over(row, waiting.payouts.get(row["payout_id"])) if (waiting := _of(row)) else row for row in rows]


def on_bank() -> Mapping[str, Mapping[str, str | None]]:
    """Return by connection the payouts that lines of the bank will bring, where those change."""
    return {name: waiting.bank for name, waiting in pending_now().items()}


def on_document(row: Row | None, connection: str) -> Row | None:
    waiting = pending_now().get(connection)
    return row if row is None or waiting is None else _over(row, waiting.documents.get(row["doc_key"]))


def on_candidates(rows: Iterable[Row], connection: str) -> list[Row]:
    """Give documents that a payment could be for the balance they will have."""
    waiting = pending_now().get(connection)
    later = waiting.documents if waiting is not None else {}
    return [
        {**row, "balance": found["balance"], "difference": row["difference"] + row["balance"] - found["balance"]}
        if (found := later.get(row["doc_key"]))
        else row
        for row in rows
    ]


def on_lines(rows: Sequence[Row], connection: str, **mine: str) -> list[Row]:
    """Replace the lines of items that change by all their lines to be that have these values."""
    waiting = pending_now().get(connection)
    if waiting is None:
        return list(rows)
    found, items = [], dict.fromkeys(row["resource_id"] for row in rows)
    for item in [*items, *(waiting.lines.keys() - items.keys())]:
        later = waiting.lines.get(item)
        own = [row for row in rows if row["resource_id"] == item]
        if later is None:
            found += own
        else:
            fitting = (row for row in later if all(row[name] == value for name, value in mine.items()))
            found += [{**row, "connection": connection, "pending": CHANGES} for row in fitting]
    return found


def list_opening(**mine: str) -> list[Row]:
    """Return what will open and has these values, as rows of the work list."""
    rows = (row for waiting in pending_now().values() for row in waiting.list_opening())
    return [row for row in rows if all(row[name] == value for name, value in mine.items())]


def on_exceptions(rows: Iterable[Row]) -> list[Row]:
    """Mark exceptions that will open, close or change, with the amount they will have."""
    return [_on_exception(row, waiting) if (waiting := _of(row)) else row for row in rows]


def _on_exception(row: Row, waiting: Pending) -> Row:
    if row["id"] in waiting.opened:
        return {**row, "pending": OPENS}
    later = waiting.changed.get(row["id"])
    return row if later is None else {**row, **_figures(later), "pending": _say(later)}


def list_reopening() -> list[str]:
    """Return the exceptions that will be open again."""
    return [key for one in pending_now().values() for key, later in one.changed.items() if _say(later) == REOPENS]


def _figures(later: Mapping[str, object]) -> Row:
    return {name: later[name] for name in ("amount_at_risk", "severity") if name in later}


def _say(later: Mapping[str, object]) -> str:
    if later.get("resolved_on") is not None:
        return CLOSES
    return REOPENS if "resolved_on" in later else CHANGES


def on_report(rows: Iterable[Row]) -> list[Row]:
    """Show documents and items of a report as they will be, in the columns that the report has."""
    return [_on_report(row) for row in rows]


def _on_report(row: Row) -> Row:
    waiting = _of(row)
    if waiting is None:
        return row
    later = waiting.documents.get(row.get("doc_key") or "")
    if later is not None and "balance" in row:
        figures = {name: later[name] for name in _FIGURES_OF_DOCUMENT if name in row}
        return row | figures | ({"state": later["outcome"]} if "state" in row else {}) | {"pending": CHANGES}
    lines = waiting.lines.get(row.get("resource_id") or "")
    return {**row, "outcome": lines[0]["outcome"], "pending": CHANGES} if lines and "outcome" in row else row


def _of(row: Row) -> Pending | None:
    return pending_now().get(row.get("connection") or "")


def _over(row: Row, later: Row | None) -> Row:
    return row if later is None else {**row, **later, "pending": CHANGES}
