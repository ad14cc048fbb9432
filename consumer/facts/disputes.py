"""What rooms share of disputes: states of evidence, which files are evidence, and what pages may ask."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from consumer.facts.installation import Connection
from consumer.facts.messages import RefusalError
from consumer.facts.tables.disputes import Evidence
from consumer.facts.uploads import LARGEST, find_media

WAITS = "waiting_documentation"
_KILOBYTE = 1_000


class EvidenceError(RefusalError):
    """Evidence that cannot be kept or sent; the message says why in one sentence."""


class State(StrEnum):
    KEPT = "kept"
    # Asked of the provider, and no answer is known.
    SENDING = "sending"
    SENT = "sent"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Chosen:
    """A file that a person chose."""

    name: str
    content: bytes
    who: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Standing:
    """How a dispute stands at the provider now; `at` is the provider's own clock."""

    status: str
    due_at: datetime | None
    at: datetime
    documents: int


@dataclass(frozen=True, slots=True)
class DisputeDesk:
    """What pages may ask of disputes.

    `keep` takes a file in, `drop` forgets one that was never sent, `read` returns its bytes, `look` asks the provider,
    `send` sends one document, and `submit` asks for the review of as many documents as its reader saw.
    """

    list_kept: Callable[[Connection, str], Sequence[Evidence]]
    keep: Callable[[Connection, str, Chosen], Evidence]
    drop: Callable[[Connection, str, int], None]
    read: Callable[[Evidence], bytes]
    look: Callable[[Connection, str], Standing]
    send: Callable[[Connection, str, int, str], None]
    submit: Callable[[Connection, str, int, str], None]


def find_type(name: str, content: bytes) -> str:
    """Return the media type of a document; raise EvidenceError if the provider would not take it."""
    if not 0 < len(content) < LARGEST:
        raise EvidenceError("disputes.size", name=name, kilobytes=-(-len(content) // _KILOBYTE))
    found = find_media(content)
    if found is None:
        raise EvidenceError("disputes.type", name=name)
    return found
