"""What rooms share of disputes: states of evidence, which files are evidence, and what pages may ask."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import sqlalchemy as sa
from sqlmodel import col

from consumer.facts.erasures import open_pseudonyms
from consumer.facts.installation import Connection, Installation
from consumer.facts.kept_files import KeptFiles
from consumer.facts.messages import Message, RefusalError
from consumer.facts.tables.disputes import Evidence
from consumer.facts.tables.erasures import SUBJECT, ErasureMark
from consumer.facts.uploads import LARGEST, find_media

# Part of the archive: what went out is kept for as long as the rows that name it.
FILES = KeptFiles("evidence", col(Evidence.sha256))
WAITS = "waiting_documentation"
_KILOBYTE = 1_000


class EvidenceError(RefusalError):
    """Evidence that cannot be kept or sent; the message says why in one sentence."""


def not_waiting(dispute_id: str, status: str) -> EvidenceError:
    """Return why a dispute takes no documents any more."""
    return EvidenceError("disputes.not_waiting", dispute=dispute_id, status=Message(f"dispute.{status}"))


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


def find_evidence_type(name: str, content: bytes) -> str:
    """Return the media type of a document; raise EvidenceError if the provider would not take it."""
    if not 0 < len(content) < LARGEST:
        raise EvidenceError("disputes.size", name=name, kilobytes=-(-len(content) // _KILOBYTE))
    found = find_media(content)
    if found is None:
        raise EvidenceError("disputes.type", name=name)
    return found


def list_lost(installation: Installation) -> list[str]:
    """Say which documents of disputes are not there any more; those of people who were erased are meant to be gone."""
    with installation.store.reading() as session:
        lost = FILES.find_lost(session, installation)
        rows = session.scalars(sa.select(Evidence).where(col(Evidence.sha256).in_(lost))).all()
        erased = set(session.scalars(sa.select(col(ErasureMark.key)).where(col(ErasureMark.kind) == SUBJECT)))
    if rows and erased:
        with installation.store.connection() as connection:
            digest = open_pseudonyms(connection).digest
        rows = [row for row in rows if digest(row.dispute_id) not in erased]
    return sorted(f"{row.name} of dispute {row.dispute_id}" for row in rows)
