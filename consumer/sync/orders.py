"""The order check of a night: what the merchant's own system says of paid and of delivered orders, kept as answers."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta

import msgspec
import sqlalchemy as sa
from sqlmodel import Session, col, select

from consumer.facts.bulk import insert_rows
from consumer.facts.clock import day_start, utc_now
from consumer.facts.installation import Connection, Installation
from consumer.facts.tables.orders import OrderAnswer
from consumer.facts.tables.provider import Charge, PaymentIntent
from consumer.facts.tables.types import core_of
from consumer.facts.work import Completion
from consumer.provider.orders import Answer, Limits, OrderCheckError, ask_delivered, ask_orders

# Names of metadata that name an order.
ORDER_KEYS = ("order_ref", "order_id")
_NAMES = ("order_ref", "delivered_on", "amount", "currency")
_AT_ONCE = 500
_decode = msgspec.json.Decoder(dict[str, object]).decode


@dataclass(slots=True)
class Checked:
    """How an order check ended, with its lines for people; without lines where it is not set."""

    status: Completion = Completion.DONE
    lines: list[str] = field(default_factory=list)


def check_orders(
    installation: Installation, connection: Connection, on: date, *, limits: Limits | None = None
) -> Checked:
    """Ask for the orders of the last days and keep the answers; what was answered before a failure is kept too.

    1. Ask which orders were delivered.
    2. Ask for the order of each payment that succeeded, unless it was delivered or asked for this day already.
    3. Keep the answers in one transaction. The next run reads them as it reads everything else.
    """
    check = installation.settings.order_check
    if check is None or check.connection != connection.name:
        return Checked()
    limits, since, answers, problem = limits or Limits.of(check), on - timedelta(days=check.days), {}, ""
    with installation.store.reading() as session:
        waiting = _list_waiting(session, connection, since=since, on=on)
    try:
        answers = {one.order_ref: one for one in ask_delivered(check, since, on + timedelta(days=1), limits)}
        for answer in ask_orders(check, sorted(waiting - answers.keys()), limits):
            answers[answer.order_ref] = answer
    except OrderCheckError as error:
        problem = str(error)
    with installation.store.transaction() as session:
        _keep(session, connection, list(answers.values()), on)
    said = f"{connection.name}: orders: {len(answers)} answers, as of {on}"
    status = Completion.PARTLY_DONE if problem else Completion.DONE
    return Checked(status, [f"{said}: {problem}" if problem else said])


def _list_waiting(session: Session, connection: Connection, *, since: date, on: date) -> set[str]:
    """Return the orders that payments of these days name and of which no delivery is known, not asked for this day."""
    mine = (OrderAnswer.connection == connection.name,)
    known = sa.or_(col(OrderAnswer.delivered_on).is_not(None), col(OrderAnswer.asked_on) >= on)
    answered = set(session.exec(select(OrderAnswer.order_ref).where(*mine, known)))
    begins = day_start(since, connection.country.zone)
    return {order for order in _list_named(session, connection, begins) if order not in answered}


def _list_named(session: Session, connection: Connection, begins: object) -> Iterator[str]:
    for table in (PaymentIntent, Charge):
        columns = core_of(table).c
        asked = sa.select(columns.metadata_json).where(
            columns.connection == connection.name, columns.mode == connection.mode, columns.status == "succeeded",
            columns.gone_at.is_(None), columns.metadata_json.is_not(None), columns.created_at >= begins,
        )  # fmt: skip
        for text in session.execute(asked).scalars():
            named = _decode(text)
            yield from (value for key in ORDER_KEYS if isinstance(value := named.get(key), str) and value)


def _keep(session: Session, connection: Connection, answers: list[Answer], on: date) -> None:
    """Put the answers in the place of earlier ones."""
    table = core_of(OrderAnswer)
    for start in range(0, len(answers), _AT_ONCE):
        names = [answer.order_ref for answer in answers[start : start + _AT_ONCE]]
        session.execute(sa.delete(table).where(table.c.connection == connection.name, table.c.order_ref.in_(names)))
    alike = {"connection": connection.name, "asked_on": on, "asked_at": utc_now()}
    insert_rows(session.connection(), table, _NAMES, answers, alike=alike)
