"""Fiscal invoices, annual returns (F22) and monthly statements (F29) as rows."""

from typing import Any

from consumer.facts.tables.business import TaxInvoice, TaxReturn, TaxStatement
from consumer.provider.rows import fields
from consumer.provider.rows.accounts import status_only
from consumer.provider.rows.fields import Data
from consumer.provider.rows.kind import Kind


def _tax_invoice(data: Data) -> dict[str, Any]:
    return {
        "status": fields.text(fields.part(data, "institution_invoice"), "invoice_status"),
        "amount": fields.amount(data, "total_amount"),
        "currency": fields.currency(data),
    }


def _tax_statement(data: Data) -> dict[str, Any]:
    """The year comes as a number and the month as text, and a month alone names no period."""
    year, month = data.get("fiscal_year"), fields.text(data, "period")
    return status_only(data) | {
        "document_number": _document_number(data),
        "period": f"{year}-{month:0>2}" if year is not None and month and "-" not in month else month,
    }


def _document_number(data: Data) -> str | None:
    value = data.get("document_number")
    return (
        str(value) if isinstance(value, int) and not isinstance(value, bool) else fields.text(data, "document_number")
    )


KINDS = {
    "tax_invoice": Kind(TaxInvoice, _tax_invoice, ("invoice",)),
    "tax_return": Kind(TaxReturn, status_only, ("tax_return",)),
    "tax_statement": Kind(TaxStatement, _tax_statement, ("tax_statement",)),
}
