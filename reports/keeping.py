"""The queries behind the lists of what this room keeps itself: people, tokens, report files already made."""

import sqlalchemy as sa
from sqlmodel import col

from reports.listing import ELSEWHERE, Listing, Query, Wanted
from reports.shapes.spans import Row
from reports.tables import ReportFile, Token, User

PERSON_KEYS = ("email", "role", "state", "created_at", "disabled_at")
TOKEN_KEYS = ("name", "role", "scopes", "state", "created_at", "last_used_at", "revoked_at")
FILE_KEYS = ("made_at", "path", "rows", "since", "until", "as_of", "run_ids", "calendars", "sha256")


def people(wanted: Wanted) -> Query:
    query = sa.select(User).order_by(col(User.email))
    return query.where(col(User.email).contains(wanted.search, autoescape=True)) if wanted.search else query


def person_row(user: User) -> Row:
    own = {key: getattr(user, key) for key in PERSON_KEYS if key != "state"}
    return own | {"state": "active" if user.disabled_at is None else "disabled"}


def tokens(wanted: Wanted) -> Query:
    query = sa.select(Token).order_by(col(Token.name))
    return query.where(col(Token.name).contains(wanted.search, autoescape=True)) if wanted.search else query


def token_row(token: Token) -> Row:
    own = {key: getattr(token, key) for key in TOKEN_KEYS if key != "state"}
    return own | {"state": "active" if token.revoked_at is None else "revoked"}


def files(wanted: Wanted) -> Query:
    query = sa.select(ReportFile).order_by(col(ReportFile.made_at).desc(), col(ReportFile.id).desc())
    return query.where(col(ReportFile.path).contains(wanted.search, autoescape=True)) if wanted.search else query


def file_row(file: ReportFile) -> Row:
    return {key: getattr(file, key) for key in FILE_KEYS if key != "rows"} | {"rows": file.row_count}


LISTS = (
    Listing("people", "People", PERSON_KEYS, people, person_row, for_admins=True, place=ELSEWHERE),
    Listing("tokens", "Tokens", TOKEN_KEYS, tokens, token_row, for_admins=True, place=ELSEWHERE),
    Listing("files", "Files already made", FILE_KEYS, files, file_row, place=ELSEWHERE),
)
