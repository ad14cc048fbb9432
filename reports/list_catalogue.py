"""Every list there is, by its name, and a whole list as a report, so that it becomes a file like any other."""

from collections.abc import Callable
from dataclasses import replace
from datetime import date

from sqlmodel import Session

from reports import bookkeeping, keeping, operations
from reports.listing import Listing, Wanted, count, read
from reports.shapes.build import Report, to_table
from reports.shapes.columns import Column, Kind
from reports.shapes.definitions import Definition
from reports.shapes.spans import WHOLE

LISTINGS = {listing.name: listing for listing in (*operations.LISTS, *bookkeeping.LISTS, *keeping.LISTS)}

COUNTS = {
    "attempts", "times", "pages", "events", "payouts", "payouts_closed", "payouts_no_bank", "exceptions", "rows",
    "added", "changed", "adjustments", "period", "decision", "totals_accepted",
}  # fmt: skip
_DAYS = {"as_of", "since", "until", "booked_on"}
_IDS = {"id", "resource_id", "doc_key", "payout_id", "run_id", "account_last4"}
_AMOUNTS = {"opening", "closing", "amount"}
NUMBERS = COUNTS | _AMOUNTS
# A list is for looking; who wants millions of rows reads the API page by page.
MOST_ROWS = 100_000


class TooLongError(ValueError):
    """A list with more rows than a file of it may hold."""


def kind_of(key: str) -> Kind:
    """Say what the cells under a key of a list hold."""
    if key in COUNTS:
        return Kind.INT
    if key in {"at", "from", "to"} or key.endswith("_at"):
        return Kind.INSTANT
    if key in _DAYS:
        return Kind.DATE
    if key in _AMOUNTS:
        return Kind.DECIMAL
    return Kind.ID if key in _IDS or key.endswith("sha256") else Kind.TEXT


def to_report(
    session: Session, listing: Listing, wanted: Wanted, *, label: Callable[[str, str], str], as_of: date
) -> Report:
    """Give a whole list as a report, so that it becomes a file like any other."""
    if (total := count(session, listing, wanted)) > MOST_ROWS:
        raise TooLongError(f"{listing.name} has {total} rows; a file holds {MOST_ROWS}: narrow it, or page the API")
    columns = tuple(
        Column(key, kind_of(key), label(key, "es-CL"), label(key, "es-MX"), label(key, "en")) for key in listing.keys
    )
    title = f"title:{listing.title}"
    definition = Definition(listing.name, columns, (), es=label(title, "es-CL"), en=label(title, "en"))
    rows = read(session, listing, replace(wanted, number=1, size=MOST_ROWS)).rows
    table = to_table(definition, rows, currency=lambda _row: "")
    facts = {"runs": "", "run_numbers": "", "countries": "", "incomplete": "", "missing": ""}
    return Report(definition, table, WHOLE, as_of, facts=facts | {"connections": "-".join(wanted.connections)})
