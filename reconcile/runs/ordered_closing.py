"""A closing that a person asked for on a page: ordered there, and done by a process of its own."""

from enum import StrEnum

import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.facts import approvals
from consumer.facts.approvals import ApprovalNeededError, Subject
from consumer.facts.installation import Connection, Installation
from consumer.facts.messages import Message
from consumer.facts.work import WorkError
from reconcile.closing.periods import PeriodError
from reconcile.desk.decisions import Signature
from reconcile.rules.pipeline import UnbalancedError
from reconcile.runs.close_period import close_period
from reconcile.runs.run import Seal, Watch, ignore_step
from reconcile.tables.closing import ClosingOrder


class OrderState(StrEnum):
    ORDERED = "ordered"
    DONE = "done"
    ASKED = "asked"
    REFUSED = "refused"


def order(session: Session, wanted: ClosingOrder) -> None:
    """Keep what is asked for; an order whose process died before it was done is no longer one."""
    mine = (col(ClosingOrder.connection) == wanted.connection, col(ClosingOrder.state) == OrderState.ORDERED)
    lost = Message("closing.process_ended").to_text()
    session.execute(sa.update(ClosingOrder).where(*mine).values(state=OrderState.REFUSED, words=lost))
    session.add(wanted)


def find_order(session: Session, connection: str) -> ClosingOrder | None:
    """Find the newest order of a connection."""
    mine = sa.select(ClosingOrder).where(col(ClosingOrder.connection) == connection)
    return session.scalar(mine.order_by(col(ClosingOrder.id).desc()).limit(1))


def carry_out(installation: Installation, connection: Connection, watch: Watch, seal: Seal = ignore_step) -> Message:
    """Close what was ordered, and write down how that ended; raise WorkError where nothing waits to be closed.

    What `seal` refuses is not closed, and its order stays as it is.

    1. Close the days, with the figures of a run of their own.
    2. Where a second person must approve, make the request instead; one that was approved and does not hold any more
       becomes stale.
    3. A refusal is kept as the words of the order, for the page that waits for it.
    """
    store = installation.store
    with store.reading() as session:
        wanted = find_order(session, connection.name)
    if wanted is None or wanted.state != OrderState.ORDERED:
        raise WorkError("no closing is ordered")
    signed = Signature(wanted.author, wanted.reason, wanted.ordered_at)
    period_id: int | None = None
    try:
        made = close_period(
            installation, connection, until=wanted.until, as_of=wanted.as_of, signed=signed, watch=watch, seal=seal
        )
        state, words, period_id = OrderState.DONE, Message("done.close"), made.id
    except ApprovalNeededError as error:
        if wanted.request_id is None:
            by = Subject(wanted.author, wanted.person_id)
            number = approvals.ask(store, error.wish, by, reason=wanted.reason, now=wanted.ordered_at)
            state, words = OrderState.ASKED, Message("approvals.asked", {"number": number})
        else:
            state, words = OrderState.REFUSED, Message("approvals.changed")
    except PeriodError as error:
        state, words = OrderState.REFUSED, error.message
    except UnbalancedError:
        state, words = OrderState.REFUSED, Message("closing.unbalanced")
    with store.transaction() as session:
        if state == OrderState.REFUSED and wanted.request_id is not None:
            approvals.make_stale(session, wanted.request_id)
        ended = {"state": state, "words": words.to_text(), "period_id": period_id}
        session.execute(sa.update(ClosingOrder).where(col(ClosingOrder.id) == wanted.id).values(**ended))
    return words
