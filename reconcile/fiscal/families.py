"""The tax documents of one sale: what they say of each other, the chain of their balances, and what is left by it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import sqlalchemy as sa
from sqlmodel import Session, col, select

from consumer.facts.messages import word
from reconcile.fiscal.complements import Break, check_chain
from reconcile.fiscal.notes import NotePart, read_notes
from reconcile.kept.records import Fact
from reconcile.tables.books import LocalInvoice
from reconcile.tables.fiscal import FiscalDocument, FiscalPayment, FiscalRelation

MOST = 100


@dataclass(frozen=True, slots=True)
class Settled:
    """One instalment as a valid complement states it, and what of it does not follow from the one before."""

    payment: FiscalPayment
    breaks: Break | None


@dataclass(frozen=True, slots=True)
class Family:
    """The documents of one sale by day, what they say of each other, and what complements settled of the one asked for.

    `at_tax_office` is the balance by valid documents: total, less what valid complements and `notes` take from it,
    of those about several documents their part. `stated` is what the last instalment says is left.
    """

    document: FiscalDocument
    members: Sequence[FiscalDocument]
    relations: Sequence[FiscalRelation]
    chain: Sequence[Settled]
    notes: Sequence[NotePart]
    at_tax_office: int
    stated: int | None
    in_books: frozenset[str]

    @property
    def credited(self) -> int:
        return sum(note.amount for note in self.notes)

    def part_of(self, member: FiscalDocument) -> int:
        """Return what a complement or note is to the document asked for: its part; every other one its total."""
        parts = [note.amount for note in self.notes if note.key == member.doc_key]
        parts += [one.payment.paid for one in self.chain if one.payment.doc_key == member.doc_key]
        return sum(parts) if parts else member.total

    def roles_of(self, key: str) -> list[str]:
        """Return how a member stands to others: the tax office's codes of what it says of them."""
        return sorted({one.kind for one in self.relations if one.doc_key == key and one.kind})


def find_family(session: Session, connection: str, doc_key: str) -> Family | None:
    """Return the family of a tax document; None where no XML of it came in."""
    document = session.get(FiscalDocument, (connection, doc_key))
    if document is None:
        return None
    relations = _walk(session, connection, doc_key)
    keys = {doc_key} | {key for one in relations for key in (one.doc_key, one.other_key)}
    asked = select(FiscalPayment).where(FiscalPayment.connection == connection, FiscalPayment.paid_key == doc_key)
    payments = session.exec(asked).all()
    keys |= {payment.doc_key for payment in payments}
    members = _read_members(session, connection, keys)
    valid = {one.doc_key for one in members if one.status == "valid"}
    notes = read_notes(session, connection, {doc_key}).get(doc_key, [])
    standing = [one for one in payments if one.doc_key in valid]
    chain = [Settled(one, why) for one, why in check_chain(standing, document.total, document.currency, notes)]
    paid = sum(one.payment.paid for one in chain if one.breaks is not Break.CURRENCY)
    books = select(LocalInvoice.doc_key).where(LocalInvoice.connection == connection)
    return Family(
        document, members, relations, chain, notes, document.payable - paid - sum(note.amount for note in notes),
        chain[-1].payment.balance_after if chain else None,
        frozenset(session.exec(books.where(col(LocalInvoice.doc_key).in_(keys)))),
    )  # fmt: skip


def _walk(session: Session, connection: str, doc_key: str) -> list[FiscalRelation]:
    """Follow relations both ways; complements and notes on several sales end the way, since they join no sales."""
    found: dict[tuple[str, int], FiscalRelation] = {}
    seen, waiting = {doc_key}, [doc_key]
    while waiting and len(seen) < MOST:
        mine = select(FiscalRelation).where(FiscalRelation.connection == connection)
        either = sa.or_(col(FiscalRelation.doc_key).in_(waiting), col(FiscalRelation.other_key).in_(waiting))
        near = session.exec(mine.where(either, FiscalRelation.other_key != "").limit(MOST)).all()
        found |= {(one.doc_key, one.line): one for one in near}
        shared = {one.doc_key for one in near if sum(other.doc_key == one.doc_key for other in near) > 1}
        ends = {key for one in near for key in (one.doc_key, one.other_key)} - seen
        seen |= ends
        waiting = sorted(ends - shared)
    return sorted(found.values(), key=lambda one: (one.doc_key, one.line))


def _read_members(session: Session, connection: str, keys: Iterable[str]) -> Sequence[FiscalDocument]:
    mine = (FiscalDocument.connection == connection, col(FiscalDocument.doc_key).in_(sorted(keys)[:MOST]))
    asked = select(FiscalDocument).where(*mine)
    return session.exec(asked.order_by(col(FiscalDocument.issue_date), col(FiscalDocument.doc_key))).all()


def facts_of_family(session: Session, connection: str, doc_key: str) -> Iterator[Fact]:
    """Yield what tax documents say of a sale, for the explanation of a document."""
    family = find_family(session, connection, doc_key)
    if family is None:
        return
    about, currency = f"tax document {doc_key}", family.document.currency
    yield Fact(about, "state", family.document.status)
    for key in filter(None, [family.document.replaced_by]):
        yield Fact(about, "replaced_by", key)
    for one in family.members:
        if one.doc_key != doc_key:
            roles = (word("relation", f"{one.country}.{role}", "en") for role in family.roles_of(one.doc_key))
            said = [word("kind", f"{one.country}.{one.kind}", "en"), *roles, word("tax_state", one.status, "en")]
            yield Fact(about, "family", f"{', '.join(said)} ({one.doc_key})")
    for settled in family.chain:
        payment = settled.payment
        broken = f" (broken: {settled.breaks})" if settled.breaks else ""
        yield Fact(about, "instalment", f"{payment.instalment} {payment.operation}{broken}".strip())
        yield Fact(about, "paid", payment.paid, currency)
    yield Fact(about, "balance_by_documents", family.at_tax_office, currency)
    if family.stated is not None:
        yield Fact(about, "balance_stated", family.stated, currency)
