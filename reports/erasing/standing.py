"""What is still open with a person: balances, disputes, refunds and payments under way."""

from collections.abc import Iterator

import sqlalchemy as sa
from sqlmodel import Session, select

from consumer.facts.installation import Installation
from consumer.facts.messages import Message
from consumer.facts.money import format_decimal
from consumer.facts.tables.provider import Charge, Dispute, PaymentIntent, ProviderObject, Refund
from consumer.facts.tables.types import core_of
from reconcile.kept import chunks
from reconcile.tables.books import LocalInvoice
from reports.erasing.finding import Person, rows_of_newest_run

# States that are an end; a refund that failed may be asked for again, as a new one.
_ENDED: dict[type[ProviderObject], frozenset[str]] = {
    Dispute: frozenset({"won", "lost", "expired"}),
    Refund: frozenset({"succeeded", "failed", "canceled"}),
    PaymentIntent: frozenset({"succeeded", "failed", "rejected", "expired", "canceled"}),
    Charge: frozenset({"succeeded", "failed", "canceled"}),
}


def list_open(installation: Installation, session: Session, person: Person) -> Iterator[Message]:
    """Yield what keeps a person's data from being erased, each by its name and amount."""
    for connection in installation.settings.all_connections:
        yield from _list_balances(session, person, connection.name)
    for kind, ended in _ENDED.items():
        table = core_of(kind)
        asked = sa.select(table.c.id, table.c.status, table.c.amount, table.c.currency)
        under_way = table.c.status.not_in(ended) & table.c.gone_at.is_(None)
        for row in session.execute(asked.where(under_way).order_by(table.c.id)):
            if row.id in person.names:
                amount = _show(row.amount or 0, row.currency)
                yield Message("erase.under_way", {"name": row.id, "status": row.status, "amount": amount})


def _list_balances(session: Session, person: Person, connection: str) -> Iterator[Message]:
    """Yield documents with a balance: as the newest run says, in full where no run has read them yet."""
    judged = rows_of_newest_run(session, connection, chunks.DOCUMENT, ["doc_key", "balance"])
    balances = {row["doc_key"]: row["balance"] for row in judged}
    for document in session.exec(select(LocalInvoice).where(LocalInvoice.connection == connection)):
        if f"{connection} {document.doc_key}" in person.names and document.status != "void":
            balance = balances.get(document.doc_key, document.total)
            if balance:
                amount = _show(balance, document.currency)
                yield Message("erase.balance", {"name": document.doc_key, "amount": amount})


def _show(amount: int, currency: str | None) -> str:
    return f"{format_decimal(amount, currency)} {currency}" if currency else str(amount)
