"""The queries behind the lists of what this room keeps itself: people, tokens, report files already made."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlmodel import col

from reports.spans import Row
from reports.tables import ReportFile, Token, User

PERSON_KEYS = ("email", "role", "state", "created_at", "disabled_at")
TOKEN_KEYS = ("name", "role", "scopes", "state", "created_at", "last_used_at", "revoked_at")
FILE_KEYS = ("made_at", "path", "rows", "since", "until", "as_of", "run_ids", "calendars", "sha256")

Query = sa.Select[*tuple[Any, ...]]


def people(_connections: Sequence[str], _state: str, search: str) -> Query:
    query = sa.select(User).order_by(col(User.email))
    return query.where(col(User.email).contains(search, autoescape=True)) if search else query


def person_row(user: User) -> Row:
    own = {key: getattr(user, key) for key in PERSON_KEYS if key != "state"}
    return own | {"state": "active" if user.disabled_at is None else "disabled"}


def tokens(_connections: Sequence[str], _state: str, search: str) -> Query:
    query = sa.select(Token).order_by(col(Token.name))
    return query.where(col(Token.name).contains(search, autoescape=True)) if search else query


def token_row(token: Token) -> Row:
    own = {key: getattr(token, key) for key in TOKEN_KEYS if key != "state"}
    return own | {"state": "active" if token.revoked_at is None else "revoked"}


def files(_connections: Sequence[str], _state: str, search: str) -> Query:
    query = sa.select(ReportFile).order_by(col(ReportFile.made_at).desc(), col(ReportFile.id).desc())
    return query.where(col(ReportFile.path).contains(search, autoescape=True)) if search else query


def file_row(file: ReportFile) -> Row:
    return {key: getattr(file, key) for key in FILE_KEYS if key != "rows"} | {"rows": file.row_count}


# As the lists of the books are told, and whether only admins read it.
LISTS: tuple[tuple[str, str, tuple[str, ...], Any, Any, bool], ...] = (
    ("people", "People", PERSON_KEYS, people, person_row, True),
    ("tokens", "Tokens", TOKEN_KEYS, tokens, token_row, True),
    ("files", "Files already made", FILE_KEYS, files, file_row, False),
)
