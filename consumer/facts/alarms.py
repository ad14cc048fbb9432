"""Alarms as every room raises them: a cause with its severity, how much it covers and what that is worth."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from sqlmodel import Session

from consumer.facts.installation import Connection
from consumer.facts.messages import Message
from consumer.facts.tables.alarms import AlarmMessage

# A channel that is one person: this word, a blank and the mail address.
PERSON = "person"


class Severity(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"

    @property
    def rank(self) -> int:
        return list(Severity).index(self)


# Every kind of cause with its severity where it is a warning; what is a failure is always high. A cause is its kind, or
# its kind, a colon and what it is about: a code of exceptions, a job, a channel.
CAUSES = {
    "inbox": Severity.HIGH,
    "silence": Severity.HIGH,
    "signatures": Severity.HIGH,
    "quarantine": Severity.MEDIUM,
    "conflicts": Severity.MEDIUM,
    "webhook_endpoint": Severity.HIGH,
    "clock": Severity.HIGH,
    "gaps": Severity.MEDIUM,
    "job": Severity.HIGH,
    "night": Severity.HIGH,
    "exception": Severity.HIGH,
    "away": Severity.HIGH,
    "database": Severity.MEDIUM,
    "disk": Severity.HIGH,
    "disk_space": Severity.MEDIUM,
    "data_folder": Severity.HIGH,
    "backup": Severity.HIGH,
    "break_glass": Severity.HIGH,
    "trail": Severity.MEDIUM,
    "payers": Severity.HIGH,
    "channel": Severity.MEDIUM,
    "tax_duty": Severity.MEDIUM,
}


def tell_person(session: Session, address: str, lines: Sequence[Message], path: str, *, now: datetime) -> None:
    """Store a mail of some lines for one person, with the page it is about; it goes out where a server takes mail."""
    content = {"kind": "mention", "headline": [line.to_text() for line in lines], "alarms": [], "path": path}
    channel, text = f"{PERSON} {address}", json.dumps(content)
    session.add(AlarmMessage(channel=channel, kind="mention", content=text, made_at=now, next_try_at=now))


@dataclass(frozen=True, slots=True)
class Signal:
    """A cause that stands now.

    `found` is for terminals and logs and is never sent. A `mark` that is greater than the one of the last message says
    that there is more of it than was sent.
    """

    connection: str
    cause: str
    severity: Severity
    count: int = 1
    amounts: Mapping[str, int] = field(default_factory=dict)
    found: str = ""
    mark: str = ""


# What a room above this one raises of one connection; what concerns the whole installation comes with `main`.
Signals = Callable[[Session, Connection, datetime], Iterable[Signal]]


@dataclass(frozen=True, slots=True)
class ShownAlarm:
    """An alarm that stands, as a page shows it in the reader's language."""

    connection: str
    cause: str
    severity: str
    since: datetime
    sentence: str
    advice: str
    acknowledged_by: str
    acknowledged_at: datetime | None


@dataclass(frozen=True, slots=True)
class AlarmDesk:
    """What pages may ask of alarms: what stands in a language, taking one in hand, a message to every channel."""

    channels: tuple[str, ...]
    list_standing: Callable[[Session, str], Sequence[ShownAlarm]]
    acknowledge: Callable[[str, str, str], None]
    send_test: Callable[[], None]


def raises_none(_session: Session, _connection: Connection, _now: datetime) -> Iterable[Signal]:
    return ()
