"""Messages that wait for a channel: stored with the change that made them, claimed, sent, tried again, given up."""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import sqlalchemy as sa
import structlog
from sqlmodel import Session, col

from consumer.alarms.outbound import NotSentError
from consumer.alarms.sending import send
from consumer.alarms.targets import Target, find_person
from consumer.alarms.wording import Content
from consumer.facts.installation import Installation
from consumer.facts.messages import say_stored
from consumer.facts.store import Store
from consumer.facts.tables.alarms import AlarmMessage
from consumer.facts.tables.types import core_of

log = structlog.get_logger("cuadre.alarms")

# Longer than any channel may take: who crashed in between leaves a message that is sent once more, by another.
LEASE = timedelta(minutes=3)
GIVEN_UP = timedelta(days=3)
# Minutes between one try and the next.
_PAUSES = (1, 2, 4, 8, 16, 32, 60)
_KEPT = timedelta(days=90)
FAILING = 3
_MESSAGE = core_of(AlarmMessage)


class Failing(NamedTuple):
    """A channel that does not take what waits for it: how many messages, since when, and what it answered last."""

    channel: str
    messages: int
    since: datetime
    error: str


def put_in(session: Session, channels: Iterable[str], content: Content, *, now: datetime) -> None:
    """Store a message for each channel, in the transaction of what it is about."""
    text = json.dumps(content)
    for channel in channels:
        message = AlarmMessage(channel=channel, kind=content["kind"], content=text, made_at=now, next_try_at=now)
        session.add(message)


def deliver(installation: Installation, targets: dict[str, Target], *, now: datetime) -> int:
    """Send what is due, oldest first; return how many messages arrived.

    1. Claim one message for three minutes: of several workers one sends it.
    2. Send it. One that is not taken waits longer each time, an hour at most, and is given up after three days.
    3. Write down what came of it. A crash before that lets it be sent once more.
    """
    sent = 0
    while (claimed := _claim(installation.store, now=now)) is not None:
        sent += _send_one(installation, targets, claimed, now)
    return sent


class _Claimed(NamedTuple):
    id: int
    channel: str
    content: str
    attempts: int
    made_at: datetime


def _claim(store: Store, *, now: datetime) -> _Claimed | None:
    is_free = sa.or_(_MESSAGE.c.claimed_until.is_(None), _MESSAGE.c.claimed_until <= now)
    due = sa.select(_MESSAGE.c.id).where(_MESSAGE.c.next_try_at <= now, is_free).order_by(_MESSAGE.c.id).limit(1)
    with store.reading() as session:
        if session.connection().execute(due).first() is None:
            return None
    taken = sa.update(_MESSAGE).where(_MESSAGE.c.id.in_(due.with_for_update(skip_locked=True).cte("due").select()))
    columns = [_MESSAGE.c[name] for name in _Claimed._fields]
    with store.connection() as connection:
        row = connection.execute(taken.values(claimed_until=now + LEASE).returning(*columns)).one_or_none()
    return None if row is None else _Claimed(*row)


def _send_one(installation: Installation, targets: dict[str, Target], message: _Claimed, now: datetime) -> bool:
    target = targets.get(message.channel) or find_person(message.channel, installation.settings)
    message_id = f"cuadre-{message.made_at:%Y%m%d%H%M}-{message.id}"
    values: dict[str, object]
    try:
        send(target, json.loads(message.content), installation.settings, message_id=message_id, now=now)
        values = {"sent_at": now, "next_try_at": None, "error": ""}
    except NotSentError as error:
        pause = timedelta(minutes=_PAUSES[min(message.attempts, len(_PAUSES) - 1)])
        is_over = target is None or now - message.made_at >= GIVEN_UP
        values = {"next_try_at": None if is_over else now + pause, "error": error.message.to_text()}
        if is_over or message.attempts == 0:
            log.warning("alarm not sent", channel=message.channel, why=str(error), given_up=is_over)
    values |= {"attempts": message.attempts + 1, "claimed_until": None}
    with installation.store.connection() as connection:
        connection.execute(sa.update(_MESSAGE).where(_MESSAGE.c.id == message.id).values(values))
    return "sent_at" in values


def failing_channels(session: Session) -> Sequence[Failing]:
    """List channels that refused a message several times and still have it waiting."""
    waiting = sa.select(AlarmMessage).where(col(AlarmMessage.next_try_at).is_not(None)).order_by(col(AlarmMessage.id))
    by_channel: dict[str, list[AlarmMessage]] = defaultdict(list)
    for message in session.scalars(waiting):
        by_channel[message.channel].append(message)
    return [
        Failing(channel, len(messages), messages[0].made_at, say_stored(messages[0].error))
        for channel, messages in by_channel.items()
        if max(message.attempts for message in messages) >= FAILING
    ]


def forget(store: Store, *, now: datetime) -> None:
    """Delete messages that were sent or given up a season ago."""
    with store.connection() as connection:
        is_done = _MESSAGE.c.next_try_at.is_(None)
        connection.execute(_MESSAGE.delete().where(is_done, _MESSAGE.c.made_at < now - _KEPT))
