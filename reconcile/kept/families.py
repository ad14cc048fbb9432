"""The tax documents of one sale: what they say of each other, the chain of their balances, and what is left by it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import sqlalchemy as sa
from sqlmodel import Session, col, select

from reconcile.kept.records import Fact
from reconcile.rules.kinds import CREDIT_NOTES
from reconcile.tables.books import LocalInvoice
from reconcile.tables.fiscal import FiscalDocument, FiscalPayment, FiscalRelation

MOST = 100
# Relations by which a note takes from what is owed.
_LOWERS = {"mx": ("01", "03", "07"), "cl": ("1", "3", "")}


@dataclass(frozen=True, slots=True)
class Settled:
    """One instalment as a valid complement states it; `breaks` names what does not follow from the one before."""

    payment: FiscalPayment
    breaks: str


@dataclass(frozen=True, slots=True)
class Family:
    """The documents of one sale by day, what they say of each other, and what complements settled of the one asked for.

    `at_tax_office` is the balance by valid documents: total, less valid payments, less valid notes. `stated` is what
    the last instalment says is left.
    """

    document: FiscalDocument
    members: Sequence[FiscalDocument]
    relations: Sequence[FiscalRelation]
    chain: Sequence[Settled]
    at_tax_office: int
    stated: int | None
    in_books: frozenset[str]

    def role_of(self, key: str) -> str:
        """Return how a member stands to others: the tax office's code of what it says of them."""
        return ", ".join(sorted({one.kind for one in self.relations if one.doc_key == key and one.kind}))


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
    chain = check_chain(document, [one for one in payments if one.doc_key in valid])
    lowered = {one.doc_key for one in relations if one.other_key == doc_key and one.kind in _LOWERS[document.country]}
    credited = sum(one.total for one in members if one.doc_key in valid & lowered and one.kind in CREDIT_NOTES)
    paid = sum(one.payment.paid for one in chain)
    books = select(LocalInvoice.doc_key).where(LocalInvoice.connection == connection)
    return Family(
        document, members, relations, chain, document.payable - paid - credited,
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


def check_chain(document: FiscalDocument, payments: Sequence[FiscalPayment]) -> list[Settled]:
    """Check instalments in their order: the first begins at the total, each at the rest of the one before."""
    ordered = sorted(payments, key=lambda one: (one.instalment, one.paid_at, one.doc_key))
    if not ordered:
        return []
    first = ordered[0]
    chain = [Settled(first, _find_break(first, document.total, first.instalment == 1))]
    chain += [
        Settled(now, _find_break(now, before.balance_after, now.instalment == before.instalment + 1))
        for before, now in pairwise(ordered)
    ]
    return chain


def _find_break(payment: FiscalPayment, expected: int, is_next: bool) -> str:  # noqa: FBT001 - one of two tests of a row
    if not is_next:
        return "instalment"
    if payment.balance_before != expected:
        return "balance_before"
    return "" if payment.balance_after == payment.balance_before - payment.paid else "balance_after"


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
            said = " ".join(filter(None, [one.kind, family.role_of(one.doc_key), one.status, one.doc_key]))
            yield Fact(about, "family", said)
    for settled in family.chain:
        payment = settled.payment
        broken = f" (broken: {settled.breaks})" if settled.breaks else ""
        yield Fact(about, "instalment", f"{payment.instalment} {payment.operation}{broken}".strip())
        yield Fact(about, "paid", payment.paid, currency)
    yield Fact(about, "balance_by_documents", family.at_tax_office, currency)
    if family.stated is not None:
        yield Fact(about, "balance_stated", family.stated, currency)
