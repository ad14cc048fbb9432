"""Every list there is, by its name, and a whole list as a report, so that it becomes a file like any other."""

from collections.abc import Callable
from dataclasses import replace
from datetime import date

import sqlalchemy as sa
from sqlalchemy.orm import Mapped
from sqlmodel import Session, col

from reports import bookkeeping, operations
from reports.listing import ELSEWHERE, Listing, Query, Wanted, count, read
from reports.shapes.build import Report, to_table
from reports.shapes.columns import Column, Kind
from reports.shapes.definitions import Definition
from reports.shapes.spans import WHOLE, Row
from reports.tables import ReportFile, Token, User

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


PERSON_KEYS = ("email", "role", "state", "created_at", "disabled_at")
TOKEN_KEYS = ("name", "role", "scopes", "state", "created_at", "last_used_at", "revoked_at")
FILE_KEYS = ("made_at", "path", "rows", "since", "until", "as_of", "run_ids", "calendars", "sha256")


def _people(wanted: Wanted) -> Query:
    return _searched(sa.select(User).order_by(col(User.email)), col(User.email), wanted)


def _person_row(user: User) -> Row:
    own = {key: getattr(user, key) for key in PERSON_KEYS if key != "state"}
    return own | {"state": "active" if user.disabled_at is None else "disabled"}


def _tokens(wanted: Wanted) -> Query:
    return _searched(sa.select(Token).order_by(col(Token.name)), col(Token.name), wanted)


def _token_row(token: Token) -> Row:
    own = {key: getattr(token, key) for key in TOKEN_KEYS if key != "state"}
    return own | {"state": "active" if token.revoked_at is None else "revoked"}


def _files(wanted: Wanted) -> Query:
    query = sa.select(ReportFile).order_by(col(ReportFile.made_at).desc(), col(ReportFile.id).desc())
    return _searched(query, col(ReportFile.path), wanted)


def _file_row(file: ReportFile) -> Row:
    return {key: getattr(file, key) for key in FILE_KEYS if key != "rows"} | {"rows": file.row_count}


def _searched(query: Query, name: Mapped[str], wanted: Wanted) -> Query:
    return query.where(name.contains(wanted.search, autoescape=True)) if wanted.search else query


_OWN = (
    Listing("people", "People", PERSON_KEYS, _people, _person_row, for_admins=True, place=ELSEWHERE),
    Listing("tokens", "Tokens", TOKEN_KEYS, _tokens, _token_row, for_admins=True, place=ELSEWHERE),
    Listing("files", "Files already made", FILE_KEYS, _files, _file_row, place=ELSEWHERE),
)
LISTINGS = {listing.name: listing for listing in (*operations.LISTS, *bookkeeping.LISTS, *_OWN)}
