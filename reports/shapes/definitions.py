"""The catalogue of reports: which columns each has, in which order, how its rows sort and what it is called."""

from dataclasses import dataclass

from consumer.facts.columns import Column, Kind, to_columns
from consumer.facts.messages import is_translated, translate
from reconcile.kept.records import EXCEPTION_KEYS
from reconcile.rules.outcomes import DOCUMENT_COLUMNS, LINE_COLUMNS, PAYOUT_COLUMNS


class UnknownReportError(LookupError):
    """A report name that is not in the catalogue; the message lists those that are."""


@dataclass(frozen=True, slots=True)
class Definition:
    """One report, whose title and headings stand in the catalogues of messages under its name.

    `range_on` is the column that --from and --to filter by; None means another rule or none. Amounts of `unsummed`
    columns are not of one kind, or stand in several rows: their sum would have no meaning.
    """

    name: str
    columns: tuple[Column, ...]
    sort: tuple[str, ...] = ()
    range_on: str | None = None
    unsummed: tuple[str, ...] = ()

    @property
    def summed(self) -> tuple[str, ...]:
        money = (column.name for column in self.columns if column.kind is Kind.MONEY)
        return tuple(name for name in money if name not in self.unsummed)

    @property
    def totaled(self) -> tuple[str, ...]:
        """Columns of money that a filtered list adds up: all but those that stand at the ends of a day or a period."""
        money = (column.name for column in self.columns if column.kind is Kind.MONEY)
        return tuple(name for name in money if name in self.summed or name in _TOTALED_IN_LISTS)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def title(self, language: str) -> str:
        return title_of(self.name, language)


def title_of(name: str, language: str) -> str:
    """Return the title of a report or a list."""
    return translate(f"report.{name}", language)


def label_of(table: str, name: str, language: str) -> str:
    """Return the heading of a column: the words a report or list has for it, or those it has everywhere."""
    own = f"column.{table}.{name}"
    return translate(own if is_translated(own, language) else f"column.{name}", language)


# Sums that a file leaves out, since credits lie among debts; what is filtered shows which rows they are of.
_TOTALED_IN_LISTS = frozenset({"balance"})
_CONNECTION = to_columns("connection")


def _with_connection(names: str) -> tuple[Column, ...]:
    """Return the columns, and last the connection that a row belongs to."""
    return (*to_columns(names), *_CONNECTION)


_CATALOGUE = (
    Definition(
        "payout-summary",
        (PAYOUT_COLUMNS[0], *_CONNECTION, *PAYOUT_COLUMNS[1:]),
        sort=("country", "connection", "payout_date", "payout_id"),
        range_on="payout_date",
    ),
    Definition(
        "payout-detail",
        (*LINE_COLUMNS, *_CONNECTION),
        sort=("connection", "payout_id", "occurred_at_utc", "resource_type", "resource_id", "line"),
        range_on="payout_date",
        unsummed=(
            "doc_total",
            "doc_balance_after",
        ),
    ),
    Definition(
        "exceptions",
        to_columns(EXCEPTION_KEYS),
        sort=("connection", "opened_on", "code", "exception_id"),
        unsummed=("amount_at_risk",),
    ),
    Definition(
        "documents",
        (*DOCUMENT_COLUMNS, *_CONNECTION),
        sort=("connection", "issue_date", "doc_key"),
        unsummed=("balance",),
        range_on="issue_date",
    ),
    Definition(
        "receivables",
        _with_connection(
            "doc_key customer_tax_id customer_name issue_date due_date currency total paid credited balance "
            "days_overdue bucket last_payment_id state"
        ),
        sort=("connection", "customer_tax_id", "due_date", "doc_key"),
        unsummed=("balance",),
    ),
    Definition(
        "clearing-rollforward",
        _with_connection(
            "date currency opening payments charges refunds refund_adjustments disputes fees payouts other closing "
            "closing_items_count"
        ),
        sort=("connection", "currency", "date"),
        range_on="date",
        unsummed=(
            "opening",
            "closing",
        ),
    ),
    Definition(
        "in-transit",
        _with_connection(
            "resource_type resource_id occurred_at_utc bank_day currency amount_signed age_business_days "
            "expected_payout_day"
        ),
        sort=("connection", "occurred_at_utc", "resource_type", "resource_id"),
    ),
    Definition(
        "cash-application",
        _with_connection(
            "date customer_tax_id customer_name doc_type doc_folio doc_uuid amount currency method deposit_account "
            "operation payment_id payout_id run_id"
        ),
        sort=("connection", "date", "payment_id", "doc_type", "doc_folio", "doc_uuid"),
        range_on="date",
    ),
    Definition(
        "bank-lines",
        _with_connection(
            "account_last4 bank_day amount_signed currency description reference source file payout_id tied_by "
            "tied_reason movement_id"
        ),
        sort=("connection", "bank_day", "movement_id"),
        range_on="bank_day",
    ),
    Definition(
        "disputes",
        _with_connection(
            "dispute_id payment_id status amount currency opened_at_utc due_at_utc bank_days_left documents_sent "
            "payout_id doc_key customer_tax_id customer_name exception_code"
        ),
        sort=("connection", "opened_at_utc", "dispute_id"),
        range_on="opened_at_utc",
        unsummed=("amount",),
    ),
    Definition(
        "fee-summary",
        _with_connection(
            "period resource_subtype count gross fee_net fee_vat fee_total rate_pct fee_source invoice_key invoice_net "
            "invoice_vat difference"
        ),
        sort=("connection", "period", "resource_subtype", "fee_source"),
        range_on="payout_date",
    ),
    Definition(
        "journal",
        _with_connection(
            "entry_id external_id date period entry_type description line account_key account cost_centre debit credit "
            "currency tax_id doc_type doc_folio doc_uuid operation reverses run_id"
        ),
        sort=("connection", "date", "entry_id", "line"),
        range_on="date",
    ),
    Definition(
        "transfers",
        _with_connection(
            "transfer_id direction status amount currency counterparty_tax_id counterparty_name institution "
            "account_masked tracking_key operating_date calendar_ts return_code return_label return_raw returned_at "
            "movement_id statement_period matched_to transfer_batch_id"
        ),
        sort=("connection", "calendar_ts", "transfer_id"),
        range_on="operating_date",
        unsummed=("amount",),
    ),
    Definition(
        "statement-check",
        _with_connection(
            "account_id period currency opening inbound outbound closing computed_closing difference "
            "movements_missing_here movements_missing_there"
        ),
        sort=("connection", "account_id", "period", "currency"),
        range_on="period",
        unsummed=(
            "opening",
            "closing",
            "computed_closing",
        ),
    ),
    Definition(
        "tax-statements",
        _with_connection(
            "taxpayer_id period document_number status total_debit total_credit retention_fee salary_tax "
            "monthly_provisional_payments total_payment computed_payment identity_difference"
        ),
        sort=("connection", "taxpayer_id", "period", "document_number"),
        range_on="period",
    ),
    Definition(
        "tax-returns",
        _with_connection(
            "taxpayer_id fiscal_year document_number due_amount refund_amount fees salary withheld_fees",
        ),
        sort=("connection", "taxpayer_id", "fiscal_year", "document_number"),
        range_on="fiscal_year",
    ),
    Definition(
        "tax-invoices",
        _with_connection(
            "issuer_id receiver_id issue_type document_type number date tax_period net_amount vat_amount "
            "exempt_amount total_amount status has_note"
        ),
        sort=("connection", "tax_period", "issue_type", "document_type", "issuer_id", "number"),
        range_on="tax_period",
        unsummed=(
            "net_amount",
            "vat_amount",
            "exempt_amount",
            "total_amount",
        ),
    ),
    Definition(
        "payment-complements",
        _with_connection(
            "payment_id customer_tax_id doc_uuid series folio paid_at_local payment_form operation_number currency "
            "amount instalment_number balance_before paid balance_after due_on state issued_uuid difference note"
        ),
        sort=("connection", "due_on", "doc_uuid", "instalment_number", "payment_id"),
        range_on="due_on",
        unsummed=("amount", "balance_before", "balance_after"),
    ),
    Definition(
        "tax-tie-out",
        _with_connection(
            "period country figure witness_a amount_a witness_b amount_b difference explained rest verdict as_of_a "
            "as_of_b"
        ),
        sort=("connection", "period", "figure", "witness_a", "witness_b"),
        range_on="period",
        unsummed=("amount_a", "amount_b", "difference", "explained", "rest"),
    ),
    Definition(
        "tax-causes",
        _with_connection(
            "period figure cause side doc_key counterparty_tax_id amount tax opened_on age_days suggested_action"
        ),
        sort=("connection", "period", "figure", "cause", "doc_key"),
        range_on="period",
        unsummed=("amount", "tax"),
    ),
    Definition(
        "tax-vouchers",
        _with_connection("date payments_count net vat exempt total with_receipt"),
        sort=("connection", "date"),
    ),
    Definition(
        "drift",
        to_columns("connection stream id kind field ours theirs"),
        sort=("connection", "stream", "id", "field"),
    ),
    Definition(
        "run-diff",
        _with_connection("kind subject before after cause"),
        sort=("connection", "kind", "subject"),
    ),
    Definition(
        "control",
        _with_connection("figure source amount currency ties_to other_amount difference verdict"),
        sort=("connection", "currency", "figure", "source"),
        range_on="payout_date",
        unsummed=(
            "amount",
            "other_amount",
        ),
    ),
)

CATALOGUE = {definition.name: definition for definition in _CATALOGUE}


def definition_of(name: str) -> Definition:
    try:
        return CATALOGUE[name]
    except KeyError:
        raise UnknownReportError(f"there is no report {name!r}; there are {', '.join(CATALOGUE)}") from None
