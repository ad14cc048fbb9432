"""Later facts about people who were erased: redacted as they arrive, known by the digests of their identifiers."""

import secrets
from collections.abc import Iterable, Mapping
from typing import cast

import sqlalchemy as sa

from consumer.facts.meaning import leaves_of
from consumer.facts.pseudonyms import Pseudonyms, find_identifiers
from consumer.facts.store import insert_once
from consumer.facts.tables.erasures import SUBJECT, ErasingKey, ErasureMark
from consumer.facts.tables.types import core_of

# The option of an engine that opens the key.
CIPHER = "cuadre_erasures"
_KEY_BYTES = 32
_MARK = core_of(ErasureMark)
# Made once: it is asked with every batch of events.
_SUBJECTS = sa.select(_MARK.c.key).where(_MARK.c.kind == SUBJECT)
# The condition of a statement, in SQL, that writes what it is given only if `read_subjects` would find none.
IS_NO_ONE_ERASED = f"NOT EXISTS (SELECT 1 FROM {_MARK.name} WHERE kind = '{SUBJECT}')"  # noqa: S608 - our own names


class ErasingKeyError(RuntimeError):
    """The key of erased people is kept under another secret key: what arrives could not be redacted."""

    def __init__(self) -> None:
        super().__init__("the key of erased people cannot be read: set the CUADRE_SECRET_KEY that it was kept under")


class Subjects:
    """The people who were erased, as far as they can be known again."""

    def __init__(self, digests: Iterable[str], pseudonyms: Pseudonyms) -> None:
        self._digests, self.pseudonyms = frozenset(digests), pseudonyms

    def is_own(self, text: str) -> bool:
        return self.pseudonyms.digest(text) in self._digests

    def is_in(self, node: object) -> bool:
        """Return True if decoded JSON bears an identifier of one of them."""
        return any(self.is_own(text) for text in leaves_of(node))

    def redact(self, body: Mapping[str, object]) -> dict[str, object]:
        return cast("dict[str, object]", self.pseudonyms.body(dict(body), self.is_own))

    def redact_text(self, text: str) -> str:
        """Return a text without its words if it names one of them by a tax id, a mail or a number."""
        return self.pseudonyms.text(text) if any(map(self.is_own, find_identifiers(text))) else text


def read_subjects(connection: sa.Connection) -> Subjects | None:
    """Return those of this database; None where no one was erased, as nearly always."""
    digests = connection.execute(_SUBJECTS).scalars().all()
    if not digests:
        return None
    return Subjects(digests, open_pseudonyms(connection))


def is_touched(connection: sa.Connection, kind: str, *names: object) -> bool:
    """Return True if an erasing touched this run, closed period or file."""
    mine = (_MARK.c.kind == kind) & (_MARK.c.key == " ".join(map(str, names)))
    return connection.execute(sa.select(_MARK.c.key).where(mine)).first() is not None


def open_pseudonyms(connection: sa.Connection, *, encrypted: bytes | None = None) -> Pseudonyms:
    """Return what tokens are made with; raise ErasingKeyError under another secret key.

    The first call makes its key, or keeps the one that is given: that of a restored installation.
    """
    opener, table = connection.get_execution_options()[CIPHER], core_of(ErasingKey)
    kept = connection.execute(sa.select(table.c.encrypted)).scalar()
    if kept is None:
        made = encrypted or opener.encrypt(secrets.token_bytes(_KEY_BYTES))
        insert_once(connection, ErasingKey, [{"label": "key", "encrypted": made}], keys=["label"])
        kept = connection.execute(sa.select(table.c.encrypted)).scalar_one()
    key = opener.open(kept)
    if key is None:
        raise ErasingKeyError
    return Pseudonyms(key)
