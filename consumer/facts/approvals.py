"""Second people: a deed that `[approvals]` names is done once another person than the one who asked has approved it.

A request is for one deed with all its terms. An approval is used up by it, and is void where what it is about changed.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

import msgspec
import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.facts.messages import Message, RefusalError
from consumer.facts.store import Store
from consumer.facts.tables.approvals import ApprovalRequest

LASTS = timedelta(days=7)
_LONGEST_REASON = 2000
Terms = Mapping[str, str | int | None]


class Deed(StrEnum):
    CLOSING = "closing"
    WRITE_OFF = "write_off"
    REFUND = "refund"
    PAYERS = "payers"


class State(StrEnum):
    WAITING = "waiting"
    APPROVED = "approved"
    DONE = "done"
    REFUSED = "refused"
    WITHDRAWN = "withdrawn"
    STALE = "stale"
    EXPIRED = "expired"


class ApprovalError(RefusalError):
    """An approval that cannot be given; the message says why."""


@dataclass(frozen=True, slots=True)
class Wish:
    """One deed: what it is about, its terms, `words` for people, and a digest of the facts it was judged by."""

    deed: Deed
    connection: str
    subject: str
    terms: Terms
    words: Message
    basis: str = ""

    @property
    def sha256(self) -> str:
        named = (self.deed, self.connection, self.subject, dict(self.terms))
        return hashlib.sha256(msgspec.json.encode(named, order="sorted")).hexdigest()


@dataclass(frozen=True, slots=True)
class Subject:
    """A person by the id of their row; a terminal proves none."""

    name: str
    person_id: int | None = None


class ApprovalNeededError(Exception):
    """A deed that waits for a second person; `ask` makes the request."""

    def __init__(self, wish: Wish) -> None:
        super().__init__(str(wish.words))
        self.wish = wish


def is_approved(session: Session, wish: Wish, *, now: datetime) -> bool:
    return _find(session, wish, State.APPROVED, now) is not None


def use(session: Session, wish: Wish, *, now: datetime, key: str = "") -> None:
    """Use up the approval of this deed; raise ApprovalNeededError if there is none.

    A repeat under the key that used it up passes: it asks the provider for the same deed again.
    """
    if key and any(row.used_key == key for row in _rows(session, wish, State.DONE)):
        return
    row = _find(session, wish, State.APPROVED, now)
    if row is None or not _move(session, row, State.APPROVED, {"state": State.DONE, "used_key": key}):
        raise ApprovalNeededError(wish)


def ask(store: Store, wish: Wish, by: Subject, *, reason: str, now: datetime) -> int:
    """Make a request, or find the one that waits for the same deed, and return its number."""
    with store.transaction() as session:
        waiting = _find(session, wish, State.WAITING, now)
        if waiting is not None:
            return waiting.id or 0
        row = ApprovalRequest(
            connection=wish.connection, deed=wish.deed, subject=wish.subject, words=wish.words.to_text(),
            terms=msgspec.json.encode(dict(wish.terms)).decode(), sha256=wish.sha256, basis=wish.basis,
            reason=reason.strip()[:_LONGEST_REASON], state=State.WAITING, who=by.name, asked_by=by.person_id, at=now,
            expires_at=now + LASTS,
        )  # fmt: skip
        session.add(row)
        session.flush()
        return row.id or 0


def approve(session: Session, number: int, by: Subject, *, now: datetime) -> ApprovalRequest:
    """Approve a request of another person. Of one from a terminal the first who confirms it becomes who asked."""
    row = find(session, number)
    if state_of(row, now=now) != State.WAITING:
        raise ApprovalError("approvals.over")
    if row.asked_by is None:
        adopted = {"asked_by": by.person_id, "who": f"{row.who}, {by.name}"}
        is_mine = col(ApprovalRequest.asked_by).is_(None)
        if not _move(session, row, State.WAITING, adopted, is_mine):
            raise ApprovalError("approvals.over")
        return row
    if row.asked_by == by.person_id:
        raise ApprovalError("approvals.same_person")
    return _decide(session, row, State.APPROVED, by, now)


def turn_down(session: Session, number: int, by: Subject, *, now: datetime) -> ApprovalRequest:
    """End a request that waits: withdrawn by who asked, refused by any other person."""
    row = find(session, number)
    if state_of(row, now=now) != State.WAITING:
        raise ApprovalError("approvals.over")
    state = State.WITHDRAWN if row.asked_by == by.person_id else State.REFUSED
    return _decide(session, row, state, by, now)


def make_stale(session: Session, number: int) -> None:
    """End an approval that cannot be used: what it is about changed, or the deed is refused by its own rules."""
    _move(session, find(session, number), State.APPROVED, {"state": State.STALE})


def find(session: Session, number: int) -> ApprovalRequest:
    row = session.get(ApprovalRequest, number)
    if row is None:
        raise ApprovalError("approvals.unknown", number=number)
    return row


def state_of(row: ApprovalRequest, *, now: datetime) -> State:
    is_open = row.state in (State.WAITING, State.APPROVED)
    return State.EXPIRED if is_open and row.expires_at <= now else State(row.state)


def terms_of(row: ApprovalRequest) -> Terms:
    return msgspec.json.decode(row.terms, type=dict[str, str | int | None])


def _decide(session: Session, row: ApprovalRequest, state: State, by: Subject, now: datetime) -> ApprovalRequest:
    decided = {"state": state, "second": by.name, "decided_by": by.person_id, "decided_at": now}
    if not _move(session, row, State.WAITING, decided):
        raise ApprovalError("approvals.over")
    return row


def _find(session: Session, wish: Wish, state: State, now: datetime) -> ApprovalRequest | None:
    valid = (row for row in _rows(session, wish, state) if row.basis == wish.basis and row.expires_at > now)
    return next(valid, None)


def _rows(session: Session, wish: Wish, state: State) -> list[ApprovalRequest]:
    mine = (col(ApprovalRequest.sha256) == wish.sha256, col(ApprovalRequest.state) == state)
    return list(session.scalars(sa.select(ApprovalRequest).where(*mine).order_by(col(ApprovalRequest.id))))


def _move(
    session: Session,
    row: ApprovalRequest,
    state: State,
    changes: Mapping[str, object],
    *more: sa.ColumnElement[bool],
) -> bool:
    """Change a request that is in this state; return False if another was faster."""
    mine = (col(ApprovalRequest.id) == row.id, col(ApprovalRequest.state) == state, *more)
    moved = session.execute(
        sa.update(ApprovalRequest).where(*mine).values(**changes).returning(col(ApprovalRequest.id))
    ).first()
    session.refresh(row)
    return moved is not None
