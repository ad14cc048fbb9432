"""Documents of which a later file states something else than the XML that came in first."""

import sqlalchemy as sa
from pandas import DataFrame

from consumer.facts.installation import Connection
from consumer.facts.tables.types import core_of
from consumer.facts.taxids import GENERIC_RFCS, GENERIC_RUTS
from reconcile.rules.inputs import CHANGED_DOCUMENTS, to_types
from reconcile.tables.books import LocalInvoice
from reconcile.tables.fiscal import FiscalDocument

_ISSUED = "issued"


def read_changed_documents(database: sa.Connection, connection: Connection) -> DataFrame:
    """Compare the merchant's tax documents with the books, and add what other XML of them stated.

    The books may state either total of a form that asks for another payment, and whom the public's document was for.
    """
    xml, books = core_of(FiscalDocument).c, core_of(LocalInvoice).c
    same = (books.connection == xml.connection) & (books.doc_key == xml.doc_key)
    is_other = {
        "total": books.total.not_in([xml.payable, xml.total]) & (books.currency == xml.currency),
        "customer_tax_id": (books.customer_tax_id != xml.receiver_tax_id)
        & (books.customer_tax_id != "")
        & xml.receiver_tax_id.not_in(["", *sorted(GENERIC_RFCS | GENERIC_RUTS)]),
        "issue_date": books.issue_date != xml.issue_date,
        "currency": books.currency != xml.currency,
    }
    asked = (
        sa.select(
            xml.doc_key, xml.currency, xml.payable, books.total, xml.other_fields, xml.other_payable,
            *(sa.case((found, 1), else_=0) for found in is_other.values()),
        )
        .outerjoin_from(core_of(FiscalDocument), core_of(LocalInvoice), same)
        .where(xml.connection == connection.name, xml.direction == _ISSUED)
        .where(sa.or_(xml.other_fields != "", *is_other.values()))
        .order_by(xml.doc_key)
    )  # fmt: skip
    rows = []
    for key, currency, stated, in_books, other, other_payable, *flags in database.execute(asked):
        in_books_fields = [name for name, flag in zip(is_other, flags, strict=True) if flag]
        fields = sorted({*in_books_fields, *other.split()})
        now = in_books if "total" in in_books_fields else other_payable if "total" in other.split() else stated
        rows.append((key, currency, stated, now - stated, " ".join(fields)))
    return to_types(DataFrame(rows, columns=list(CHANGED_DOCUMENTS)), CHANGED_DOCUMENTS)
