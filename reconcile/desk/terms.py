"""The terms of decisions: who decides what about which pair, and every way of being told no.

DecisionError
├── Unknown        the thing decided about does not exist
├── Stale          somebody changed it since it was looked at
├── Impossible     the decision contradicts what is known
└── Closed         it belongs to a period that was closed
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from consumer.facts.messages import Message, RefusalError, Value


class DecisionError(RefusalError):
    """A decision that was not taken; the message says why in one sentence."""


class Unknown(DecisionError):  # noqa: N818 - names what was asked for
    """The exception, payment or document does not exist."""


class Stale(DecisionError):  # noqa: N818 - names the state of what the person saw
    """Somebody changed it since it was looked at."""


class Impossible(DecisionError):  # noqa: N818 - names the decision
    """The decision contradicts what is known."""


class Closed(DecisionError):  # noqa: N818 - names the state of the period
    """It belongs to a period that a person closed."""


class Kind(StrEnum):
    MATCH = "match"
    UNMATCH = "unmatch"
    DECLINE = "decline"
    ADJUST = "adjust"
    WITHDRAW = "withdraw"


class Adjustment(StrEnum):
    """What an accepted difference is, for whoever books it."""

    ROUNDING = "rounding"
    BANK_FEE = "bank_fee"
    DISCOUNT = "discount"
    EXCHANGE = "exchange"
    WRITE_OFF = "write_off"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Signature:
    """Who decides, why, and when."""

    author: str
    reason: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Pair:
    """A payment and a document of one connection; some decisions name only one of them."""

    connection: str
    resource_id: str = ""
    doc_key: str = ""

    @property
    def subject(self) -> Value:
        """What a refusal names: both, or the one there is."""
        if self.resource_id and self.doc_key:
            return Message("desk.pair", {"payment": self.resource_id, "document": self.doc_key})
        return self.resource_id or self.doc_key
