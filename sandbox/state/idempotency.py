"""What was answered under each `Idempotency-Key`, and given again to whoever asks the same."""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Self

from werkzeug.wrappers import Request

from sandbox.state.bodies import fingerprint
from sandbox.state.refusal import RefusalError, invalid

LONGEST_KEY = 255
KEPT_FOR = timedelta(hours=24)
MISMATCH = "idempotency_key_reused"  # the provider's own code is not published


@dataclass(frozen=True, slots=True)
class Asked:
    """A POST with its key; without a key nothing is kept."""

    mode: str
    key: str | None
    fingerprint: str

    @classmethod
    def read(cls, incoming: Request, mode: str) -> Self:
        key = incoming.headers.get("Idempotency-Key") if incoming.method == "POST" else None
        if key is not None and not 0 < len(key) <= LONGEST_KEY:
            raise invalid("string", "Idempotency-Key", f"text of 1 to {LONGEST_KEY} characters")
        if key is None:
            return cls(mode, None, "")
        content = b"\n".join((incoming.full_path.encode(), fingerprint(incoming)))
        return cls(mode, key, hashlib.sha256(content).hexdigest())


@dataclass(frozen=True, slots=True)
class Known:
    """An answer that was given."""

    fingerprint: str
    at: datetime
    status: int
    body: bytes


class Answers:
    """The answers of the last day, errors included."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Known] = {}

    def recall(self, asked: Asked, now: datetime) -> Known | None:
        """The answer given under this key. Raises when it was given to another request."""
        known = self._known.get((asked.mode, asked.key)) if asked.key else None
        if known is None or now - known.at >= KEPT_FOR:
            return None
        if known.fingerprint != asked.fingerprint:
            raise RefusalError(
                409, MISMATCH, "This Idempotency-Key was used with other parameters", param="Idempotency-Key"
            )
        return known

    def remember(self, asked: Asked, now: datetime, status: int, body: bytes) -> None:
        if asked.key:
            self._known[asked.mode, asked.key] = Known(asked.fingerprint, now, status, body)
