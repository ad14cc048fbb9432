"""Every list there is, by its name, and a whole list as a report, so that it becomes a file like any other."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date

import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.facts.clock import utc_now
from consumer.facts.columns import Column, to_columns
from consumer.facts.messages import RefusalError
from reports.access.keys import state_of_token
from reports.access.people import state_of_user
from reports.archive import select_files
from reports.queries import bookkeeping, operations
from reports.queries.listing import ELSEWHERE, Listing, Statement, Wanted, count, read, search
from reports.shapes.build import Report, to_table
from reports.shapes.definitions import Definition
from reports.shapes.spans import WHOLE, Row
from reports.tables import ReportFile, Token, User

# A list is for looking; who wants millions of rows reads the API page by page.
MOST_ROWS = 100_000
# What stands in one cell of a page are columns of their own in a file.
_SHOWN_TOGETHER = {"code": ("code", "title"), "subject": ("payout_id", "resource_id", "doc_key")}


class TooLongError(RefusalError):
    """A list with more rows than a file of it may hold."""


def to_report(session: Session, listing: Listing, wanted: Wanted, zones: Mapping[str, str], *, as_of: date) -> Report:
    """Give a whole list as a report, so that it becomes a file like any other."""
    if (total := count(session, listing, wanted)) > MOST_ROWS:
        raise TooLongError("reports.list_too_long", list=listing.name, rows=total, most=MOST_ROWS)
    definition = Definition(listing.name, listing.columns)
    rows = read(session, listing, replace(wanted, number=1, size=MOST_ROWS)).rows
    table = to_table(definition, rows, currency=lambda _row: "")
    facts = {"runs": "", "run_numbers": "", "countries": "", "incomplete": "", "missing": "", **zones}
    return Report(definition, table, WHOLE, as_of, facts=facts | {"connections": "-".join(wanted.connections)})


def narrow(report: Report, columns: Sequence[Column]) -> Report:
    """Return a report with some of its columns in their order; the others stay at hand for the words of a cell."""
    if not columns:
        return report
    names = [name for column in columns for name in _SHOWN_TOGETHER.get(column.name, (column.name,))]
    known = {column.name: column for column in report.definition.columns}
    chosen = tuple(known[name] for name in dict.fromkeys(names) if name in known)
    own = {column.name for column in chosen}
    ordered = [column.name for column in chosen] + [one for one in report.table.column_names if one not in own]
    return replace(report, definition=replace(report.definition, columns=chosen), table=report.table.select(ordered))


def _people(wanted: Wanted) -> Statement:
    return search(sa.select(User), wanted, User.email).order_by(col(User.email))


def _show_person(user: User) -> Row:
    return {"state": state_of_user(user)}


def _tokens(wanted: Wanted) -> Statement:
    return search(sa.select(Token), wanted, Token.name).order_by(col(Token.name))


def _show_token(token: Token) -> Row:
    return {"state": state_of_token(token, now=utc_now())}


def _state_of_token() -> sa.ColumnElement[str]:
    is_over = col(Token.expires_at) <= utc_now()
    return sa.case((col(Token.revoked_at).is_not(None), "revoked"), (is_over, "expired"), else_="active")


def _files(wanted: Wanted) -> Statement:
    return search(select_files(wanted), wanted, ReportFile.path)


def _show_file(file: ReportFile) -> Row:
    return {"rows": file.row_count}


_OWN = (
    Listing(
        "people",
        to_columns("email role state created_at disabled_at"),
        _people,
        _show_person,
        by={
            "state": sa.case(
                (col(User.disabled_at).is_not(None), "disabled"),
                (col(User.password_hash) != "", "active"),
                else_="invited",
            )
        },
        for_admins=True,
        place=ELSEWHERE,
    ),
    Listing(
        "tokens",
        to_columns("name role scopes state created_at last_used_at revoked_at expires_at"),
        _tokens,
        _show_token,
        by={"state": _state_of_token},
        for_admins=True,
        place=ELSEWHERE,
    ),
    Listing(
        "files",
        to_columns("made_at path rows since until as_of run_ids calendars sha256"),
        _files,
        _show_file,
        by={"rows": ReportFile.row_count},
        place=ELSEWHERE,
    ),
)
LISTINGS = {listing.name: listing for listing in (*operations.LISTS, *bookkeeping.LISTS, *_OWN)}
