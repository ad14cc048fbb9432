"""What the tax authorities know: fiscal invoices, annual returns (F22), monthly statements (F29)."""

from datetime import timedelta

from consumer.provider import routes
from consumer.sync import tax_forms
from consumer.sync.streams.stream import Again, Stream, of_each_link

# A fiscal document is accepted, claimed or corrected by a note for months after its date.
_CORRECTABLE = timedelta(days=120)

STREAMS = (
    Stream(
        "tax-invoices",
        "tax_invoice",
        of_each_link(routes.TAX_INVOICES),
        Again.DAYS,
        lookback=_CORRECTABLE,
        by_link=True,
        dated="date",
    ),
    Stream("tax-returns", "tax_return", of_each_link(routes.TAX_RETURNS), by_link=True),
    Stream(
        "tax-statements",
        "tax_statement",
        of_each_link(routes.TAX_STATEMENTS),
        by_link=True,
        look_over=tax_forms.forms_in_force,
    ),
)
