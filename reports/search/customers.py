"""The one customer that a text means: by tax id, name, or a document of theirs by folio, UUID, order or name."""

from collections.abc import Sequence

import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.facts.installation import Connection
from consumer.facts.messages import RefusalError
from consumer.facts.taxids import TaxIdError, to_tax_id
from reconcile.tables.books import LocalInvoice
from reports.queries.cases import find_named
from reports.queries.names import Reader, name_customers
from reports.search import finding

_MOST_NAMED = 5


class CustomerError(RefusalError):
    """A text that means no customer, or several; the message says so."""


def find_customer(session: Session, own: Connection, text: str, reader: Reader) -> str:
    """Return a tax id in its canonical form; raise CustomerError if no or more than one customer is meant."""
    try:
        return to_tax_id(text, own.country_code)
    except TaxIdError:
        is_named = sa.func.lower(col(LocalInvoice.customer_name)).contains(text.strip().lower(), autoescape=True)
        found = _list_customers(session, own.name, is_named)
        if not found:
            is_theirs = col(LocalInvoice.doc_key).in_(_find_keys(session, own, text, reader))
            found = _list_customers(session, own.name, is_theirs)
    if not found:
        raise CustomerError("proof.no_customer", text=text, connection=own.name)
    if len(found) > 1:
        names = name_customers(session, own.name, found[:_MOST_NAMED]).values()
        raise CustomerError("proof.several_customers", text=text, found=", ".join(names))
    return found[0]


def _find_keys(session: Session, own: Connection, text: str, reader: Reader) -> Sequence[str]:
    if keys := find_named(session, own.name, text, amount=None):
        return keys
    hits = finding.find(session, [own.name], text, ["document"], _MOST_NAMED, reader)
    return [hit.key for hit in hits if hit.name == text] or [hit.key for hit in hits]


def _list_customers(session: Session, connection: str, of: sa.ColumnElement[bool]) -> Sequence[str]:
    tax_id = col(LocalInvoice.customer_tax_id)
    asked = sa.select(tax_id).where(col(LocalInvoice.connection) == connection, tax_id != "", of)
    return session.scalars(asked.distinct().order_by(tax_id).limit(_MOST_NAMED + 1)).all()
