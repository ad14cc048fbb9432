"""What people say to each other about an exception: comments, and who is named in them."""

import re
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime

import sqlalchemy as sa
from sqlmodel import Session, col, select

from reconcile.desk.decisions import LONGEST_TEXT, DecisionError, Signature
from reconcile.tables.desk import ExceptionChange, ExceptionComment, ExceptionRow, Mention

_NAMED = re.compile(r"(?<!\S)@([\w.+-]+(?:@[\w.-]+\w)?)")


def comment(
    session: Session, connection: str, exception_id: str, signed: Signature, *, logins: Collection[str]
) -> ExceptionComment:
    """Add the signature's text to an exception; a person that it names with @ finds it until they have seen it.

    Raise DecisionError if it is empty, too long, or names no one of `logins`, by the login or what stands before its @.
    """
    text, at, author = signed.reason.strip(), signed.at, signed.author
    if not text:
        raise DecisionError("casework.no_text")
    if len(text) > LONGEST_TEXT:
        raise DecisionError("desk.reason_too_long", longest=LONGEST_TEXT)
    if session.get(ExceptionRow, (connection, exception_id)) is None:
        raise DecisionError("desk.no_exception", exception=exception_id, connection=connection)
    row = ExceptionComment(connection=connection, exception_id=exception_id, at=at, author=author, text=text)
    session.add(row)
    session.flush()
    for login in sorted(set(_find_named(text, logins))):
        session.add(
            Mention(
                comment_id=row.id or 0, login=login, connection=connection, exception_id=exception_id, at=at,
                author=author,
            )
        )  # fmt: skip
    session.add(
        ExceptionChange(
            connection=connection, exception_id=exception_id, at=at, author=author, change="comment", after=str(row.id)
        )
    )
    return row


def _find_named(text: str, logins: Collection[str]) -> Iterator[str]:
    for name in _NAMED.findall(text):
        plain = name.rstrip(".").lower()
        found = [login for login in logins if plain in {login, login.partition("@")[0]}]
        if len(found) != 1:
            raise DecisionError("casework.unknown_name", name=name, known=", ".join(sorted(logins)))
        yield found[0]


def see(session: Session, connection: str, exception_id: str, login: str, *, at: datetime) -> bool:
    """Note that a person who is named in comments of an exception has opened it; return whether that was new."""
    mine = (col(Mention.connection) == connection, col(Mention.exception_id) == exception_id)
    seen = sa.update(Mention).where(*mine, col(Mention.login) == login, col(Mention.seen_at).is_(None))
    is_new = session.connection().execute(seen.values(seen_at=at)).rowcount > 0
    if is_new:
        row = ExceptionChange(connection=connection, exception_id=exception_id, at=at, author=login, change="seen")
        session.add(row)
    return is_new


def unseen(session: Session, connections: Collection[str], login: str) -> Sequence[Mention]:
    """Return where a person is named and has not looked since, newest first."""
    mine = (col(Mention.connection).in_(connections), Mention.login == login, col(Mention.seen_at).is_(None))
    return session.exec(select(Mention).where(*mine).order_by(col(Mention.comment_id).desc())).all()


def find_named(session: Session, connection: str, exception_id: str, *, at: datetime) -> Sequence[str]:
    """Return the logins that comments of one moment name."""
    mine = (Mention.connection == connection, Mention.exception_id == exception_id, Mention.at == at)
    return session.exec(select(Mention.login).where(*mine).order_by(Mention.login)).all()


def find_comments(session: Session, connection: str, exception_id: str) -> dict[str, str]:
    """Return the texts of an exception's comments by number."""
    mine = (ExceptionComment.connection == connection, ExceptionComment.exception_id == exception_id)
    return {str(row.id): row.text for row in session.exec(select(ExceptionComment).where(*mine))}
