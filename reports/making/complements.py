"""Mexico's payment complements as a report: each payment of a deferred invoice as it must be stamped, and as it was."""

from collections.abc import Iterator

from reconcile.fiscal.complements import Complement, plan_complements
from reconcile.fiscal.reading import read_months
from reconcile.fiscal.sales import read_listing, read_sales
from reconcile.fiscal.scope import Scope
from reports.queries.query import Source
from reports.shapes.spans import Row

_COUNTRY = "mx"


def complement_rows(source: Source) -> Iterator[Row]:
    """Yield a row for each payment of a deferred invoice whose complement is due in the span."""
    runs = {run.connection: run for run in source.runs}
    for connection in source.query.connections:
        if connection.country_code != _COUNTRY:
            continue
        sales = read_sales(source.session, connection, runs.get(connection.name), Scope())
        months, _ = read_months(source.session, connection.name)
        listing = read_listing(source.session, connection, months, None)
        for row in plan_complements(sales, today=source.as_of, listing=listing):
            if source.query.span.holds(row.due_on):
                yield {**_to_row(row), "connection": connection.name}


def _to_row(row: Complement) -> Row:
    invoice, payment = row.invoice, row.payment
    return {
        "payment_id": payment.payment_id, "customer_tax_id": invoice.tax_id, "doc_uuid": invoice.uuid,
        "series": invoice.series or None, "folio": invoice.folio or None,
        "paid_at_local": payment.at.replace(tzinfo=None).isoformat(timespec="seconds"),
        "payment_form": payment.form or None, "operation_number": payment.operation or None,
        "currency": invoice.currency, "amount": payment.amount, "instalment_number": row.instalment,
        "balance_before": row.before, "paid": payment.paid, "balance_after": row.after, "due_on": row.due_on,
        "state": str(row.state), "issued_uuid": row.issued[0].uuid if row.issued else None,
        "difference": row.difference, "note": " ".join(row.differing) or None,
    }  # fmt: skip
