"""Every list there is, by its name, and a whole list as a report, so that it becomes a file like any other."""

from dataclasses import replace
from datetime import date

import sqlalchemy as sa
from sqlalchemy.orm import Mapped
from sqlmodel import Session, col

from consumer.facts.columns import to_columns
from consumer.facts.messages import RefusalError
from reports import bookkeeping, operations
from reports.listing import ELSEWHERE, Listing, Statement, Wanted, count, read
from reports.shapes.build import Report, to_table
from reports.shapes.definitions import Definition
from reports.shapes.spans import WHOLE, Row
from reports.tables import ReportFile, Token, User

# A list is for looking; who wants millions of rows reads the API page by page.
MOST_ROWS = 100_000


class TooLongError(RefusalError):
    """A list with more rows than a file of it may hold."""


def to_report(session: Session, listing: Listing, wanted: Wanted, *, as_of: date) -> Report:
    """Give a whole list as a report, so that it becomes a file like any other."""
    if (total := count(session, listing, wanted)) > MOST_ROWS:
        raise TooLongError("reports.list_too_long", list=listing.name, rows=total, most=MOST_ROWS)
    definition = Definition(listing.name, listing.columns)
    rows = read(session, listing, replace(wanted, number=1, size=MOST_ROWS)).rows
    table = to_table(definition, rows, currency=lambda _row: "")
    facts = {"runs": "", "run_numbers": "", "countries": "", "incomplete": "", "missing": ""}
    return Report(definition, table, WHOLE, as_of, facts=facts | {"connections": "-".join(wanted.connections)})


PERSON_KEYS = ("email", "role", "state", "created_at", "disabled_at")
TOKEN_KEYS = ("name", "role", "scopes", "state", "created_at", "last_used_at", "revoked_at")
FILE_KEYS = ("made_at", "path", "rows", "since", "until", "as_of", "run_ids", "calendars", "sha256")


def _people(wanted: Wanted) -> Statement:
    return _searched(sa.select(User).order_by(col(User.email)), col(User.email), wanted)


def _person_row(user: User) -> Row:
    own = {key: getattr(user, key) for key in PERSON_KEYS if key != "state"}
    return own | {"state": "active" if user.disabled_at is None else "disabled"}


def _tokens(wanted: Wanted) -> Statement:
    return _searched(sa.select(Token).order_by(col(Token.name)), col(Token.name), wanted)


def _token_row(token: Token) -> Row:
    own = {key: getattr(token, key) for key in TOKEN_KEYS if key != "state"}
    return own | {"state": "active" if token.revoked_at is None else "revoked"}


def _files(wanted: Wanted) -> Statement:
    query = sa.select(ReportFile).order_by(col(ReportFile.made_at).desc(), col(ReportFile.id).desc())
    return _searched(query, col(ReportFile.path), wanted)


def _file_row(file: ReportFile) -> Row:
    return {key: getattr(file, key) for key in FILE_KEYS if key != "rows"} | {"rows": file.row_count}


def _searched(query: Statement, name: Mapped[str], wanted: Wanted) -> Statement:
    return query.where(name.contains(wanted.search, autoescape=True)) if wanted.search else query


_OWN = (
    Listing("people", to_columns(PERSON_KEYS), _people, _person_row, for_admins=True, place=ELSEWHERE),
    Listing("tokens", to_columns(TOKEN_KEYS), _tokens, _token_row, for_admins=True, place=ELSEWHERE),
    Listing("files", to_columns(FILE_KEYS), _files, _file_row, place=ELSEWHERE),
)
LISTINGS = {listing.name: listing for listing in (*operations.LISTS, *bookkeeping.LISTS, *_OWN)}
