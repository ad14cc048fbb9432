"""The catalogue of reports: which columns each has, in which order, how its rows sort and what it is called."""

from dataclasses import dataclass, replace

from reports.shapes.columns import COLUMNS, Column, Kind
from reports.shapes.dialects import local


class UnknownReportError(LookupError):
    """A report name that is not in the catalogue; the message lists those that are."""


@dataclass(frozen=True, slots=True)
class Definition:
    """One report. `range_on` is the column that --from and --to filter by; None means another rule or none.

    Amounts of `unsummed` columns are not of one kind, or stand in several rows: their sum would say nothing.
    """

    name: str
    columns: tuple[Column, ...]
    sort: tuple[str, ...]
    es: str
    en: str
    range_on: str | None = None
    unsummed: tuple[str, ...] = ()

    @property
    def summed(self) -> tuple[str, ...]:
        return tuple(name for name in self.of_kind(Kind.MONEY) if name not in self.unsummed)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def title(self, language: str) -> str:
        return self.en if language == "en" else local(self.es, language)

    def of_kind(self, kind: Kind) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns if column.kind is kind)


def _to_columns(names: str) -> tuple[Column, ...]:
    found = []
    for word in names.split():
        name, _, kind = word.partition(":")
        column = COLUMNS[name]
        found.append(replace(column, kind=Kind(kind)) if kind else column)
    if "connection" not in names.split():
        found.append(COLUMNS["connection"])
    return tuple(found)


_CATALOGUE = (
    Definition(
        "payout-summary",
        _to_columns(
            "payout_id connection mode country currency status created_at_utc succeeded_at_utc payout_date bank_day "
            "window_start window_end recipient_institution recipient_account_last4 payments_count payments_gross "
            "charges_count charges_gross refunds_count refunds_gross refund_adjustments disputes fee_total fee_net "
            "fee_vat fee_rate_pct fee_source computed_amount payout_amount difference expected_arrival bank_date "
            "bank_movement_id bank_amount bank_difference days_late matched_count unmatched_count status_recon "
            "exceptions"
        ),
        sort=("country", "connection", "payout_date", "payout_id"),
        es="Liquidaciones",
        en="Payouts",
        range_on="payout_date",
    ),
    Definition(
        "payout-detail",
        _to_columns(
            "payout_id resource_type resource_subtype resource_id line source_event_id occurred_at_utc local_date "
            "local_time bank_day amount_signed fee_total fee_net fee_vat net_amount currency customer_tax_id "
            "customer_name order_ref outcome match_stage match_rule rivals doc_country doc_type doc_series doc_folio "
            "doc_uuid doc_date doc_due_date doc_total applied_amount doc_balance_after difference expected_doc "
            "exception_code note"
        ),
        sort=("connection", "payout_id", "occurred_at_utc", "resource_type", "resource_id", "line"),
        es="Detalle de liquidaciones",
        en="Payout detail",
        range_on="payout_date",
        unsummed=(
            "doc_total",
            "doc_balance_after",
        ),
    ),
    Definition(
        "exceptions",
        _to_columns(
            "exception_id code severity title opened_on last_seen_on age_business_days age_bucket amount_at_risk "
            "currency payout_id resource_id doc_key evidence suggested_action owner state resolved_on resolution "
            "run_first run_last fact_on due_on customer_name"
        ),
        sort=("connection", "opened_on", "code", "exception_id"),
        unsummed=("amount_at_risk",),
        es="Excepciones",
        en="Exceptions",
    ),
    Definition(
        "documents",
        _to_columns(
            "doc_key doc_type series folio uuid issue_date due_date customer_tax_id customer_name currency total "
            "outcome paid credited balance payments:int exception_code"
        ),
        sort=("connection", "issue_date", "doc_key"),
        unsummed=("balance",),
        es="Documentos",
        en="Documents",
        range_on="issue_date",
    ),
    Definition(
        "receivables",
        _to_columns(
            "doc_key customer_tax_id customer_name issue_date due_date currency total paid credited balance "
            "days_overdue bucket last_payment_id state"
        ),
        sort=("connection", "customer_tax_id", "due_date", "doc_key"),
        unsummed=("balance",),
        es="Cuentas por cobrar",
        en="Receivables",
    ),
    Definition(
        "clearing-rollforward",
        _to_columns(
            "date currency opening payments charges refunds refund_adjustments disputes fees payouts other closing "
            "closing_items_count"
        ),
        sort=("connection", "currency", "date"),
        es="Fondos por liquidar, día a día",
        en="Clearing roll-forward",
        range_on="date",
        unsummed=(
            "opening",
            "closing",
        ),
    ),
    Definition(
        "in-transit",
        _to_columns(
            "resource_type resource_id occurred_at_utc bank_day currency amount_signed age_business_days "
            "expected_payout_day"
        ),
        sort=("connection", "occurred_at_utc", "resource_type", "resource_id"),
        es="En tránsito",
        en="In transit",
    ),
    Definition(
        "transfers",
        _to_columns(
            "transfer_id direction status amount currency counterparty_tax_id counterparty_name institution "
            "account_masked tracking_key operating_date calendar_ts return_code return_label return_raw returned_at "
            "movement_id statement_period matched_to"
        ),
        sort=("connection", "calendar_ts", "transfer_id"),
        es="Transferencias",
        en="Transfers",
        range_on="operating_date",
        unsummed=("amount",),
    ),
    Definition(
        "statement-check",
        _to_columns(
            "account_id period currency opening inbound outbound closing computed_closing difference "
            "movements_missing_here movements_missing_there"
        ),
        sort=("connection", "account_id", "period", "currency"),
        es="Control de cartolas",
        en="Statement check",
        range_on="period",
        unsummed=(
            "opening",
            "closing",
            "computed_closing",
        ),
    ),
    Definition(
        "tax-statements",
        _to_columns(
            "taxpayer_id period document_number status total_debit total_credit retention_fee salary_tax "
            "monthly_provisional_payments total_payment computed_payment identity_difference"
        ),
        sort=("connection", "taxpayer_id", "period", "document_number"),
        es="Declaraciones mensuales (F29)",
        en="Monthly tax statements (F29)",
        range_on="period",
    ),
    Definition(
        "tax-returns",
        _to_columns(
            "taxpayer_id fiscal_year document_number due_amount refund_amount fees salary withheld_fees",
        ),
        sort=("connection", "taxpayer_id", "fiscal_year", "document_number"),
        es="Declaraciones anuales (F22)",
        en="Annual tax returns (F22)",
        range_on="fiscal_year",
    ),
    Definition(
        "tax-invoices",
        _to_columns(
            "issuer_id receiver_id issue_type document_type number date tax_period net_amount vat_amount "
            "exempt_amount total_amount status has_note"
        ),
        sort=("connection", "tax_period", "issue_type", "document_type", "issuer_id", "number"),
        es="Documentos tributarios",
        en="Tax invoices",
        range_on="tax_period",
        unsummed=(
            "net_amount",
            "vat_amount",
            "exempt_amount",
            "total_amount",
        ),
    ),
    Definition(
        "drift",
        _to_columns("connection stream id kind field ours theirs"),
        sort=("connection", "stream", "id", "field"),
        es="Diferencias con el proveedor",
        en="Differences from the provider",
    ),
    Definition(
        "run-diff",
        _to_columns("kind subject before after cause"),
        sort=("connection", "kind", "subject"),
        es="Cambios entre corridas",
        en="Changes between runs",
    ),
    Definition(
        "control",
        _to_columns("figure source amount currency ties_to other_amount difference verdict"),
        sort=("connection", "currency", "figure", "source"),
        es="Control de totales",
        en="Control totals",
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
