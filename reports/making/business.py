"""Pure: the provider's transfers, account statements and fiscal objects as report rows, from their own JSON."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date

from consumer.facts.clock import local_date, to_instant
from consumer.facts.installation import Connection
from consumer.facts.taxids import TaxIdError, mask_account, to_tax_id
from reports.shapes.spans import Row, Span
from reports.wording.evidence import RETURNS

_F29 = ("retention_fee", "salary_tax", "monthly_provisional_payments")


@dataclass(frozen=True, slots=True)
class Bank:
    """What ties a transfer to the rest: its movement, the movement that gave it back, its statement, its payout."""

    movements: Mapping[str, Row] = field(default_factory=dict)
    returns: Mapping[str, Row] = field(default_factory=dict)
    statements: tuple[Row, ...] = ()
    payouts: Mapping[str, str] = field(default_factory=dict)


def to_bank(movements: Iterable[Row], statements: Iterable[Row], payouts: Iterable[Row]) -> Bank:
    of_transfer, returns = {}, {}
    for movement in movements:
        if movement["return_pair_id"]:
            returns[movement["return_pair_id"]] = movement
        if movement["resource_id"] and movement["resource_id"] not in of_transfer:
            of_transfer[movement["resource_id"]] = movement
    paid = {row["bank_movement_id"]: row["payout_id"] for row in payouts if row["bank_movement_id"]}
    return Bank(of_transfer, returns, tuple(statements), paid)


def transfers(rows: Iterable[Row], bank: Bank, connections: Mapping[str, Connection], *, span: Span) -> Iterator[Row]:
    """List transfers by local date; the operating date is the provider's own and never derived from the clock's."""
    for row in rows:
        country = connections[row["connection"]].country
        at = row["transaction_date"]
        if not span.holds(local_date(to_instant(at), country.zone) if at else None):
            continue
        other, code = row["counterparty"] or {}, row["return_reason_code"]
        movement = bank.movements.get(row["id"])
        movement_id = movement["id"] if movement else None
        back = bank.returns.get(movement_id) if movement_id else None
        institution = other.get("institution") or {}
        yield {
            "transfer_id": row["id"],
            "direction": row["direction"],
            "status": row["status"],
            "amount": row["amount"],
            "currency": row["currency"],
            "counterparty_tax_id": _tax_id(other.get("holder_id"), country.code),
            "counterparty_name": other.get("holder_name"),
            "institution": institution.get("name") or institution.get("id"),
            "account_masked": mask_account(other.get("account_number") or "") or None,
            "tracking_key": row["tracking_key"],
            "operating_date": row["post_date"][:10] if row["post_date"] else None,
            "calendar_ts": at,
            "return_code": code,
            "return_label": RETURNS.get(code) if code else None,
            "return_raw": row["return_reason"],
            "returned_at": back["transaction_date"] if back else row["reversed_at"] or row["rejected_at"],
            "movement_id": movement_id,
            "statement_period": _statement_period(movement, bank.statements, country.zone) if movement else None,
            "matched_to": bank.payouts.get(movement_id) if movement_id else None,
            "transfer_batch_id": row.get("transfer_batch_id"),
            "connection": row["connection"],
        }


def _statement_period(movement: Row, statements: Iterable[Row], zone: str) -> str | None:
    on = local_date(to_instant(movement["transaction_date"]), zone).isoformat()
    for row in statements:
        if row["account_id"] == movement["account_id"] and row["start_date"] <= on <= row["end_date"]:
            return str(row["start_date"][:7])
    return None


def statement_check(
    statements: Iterable[Row], movements: Iterable[Row], connections: Mapping[str, Connection], *, span: Span
) -> Iterator[Row]:
    """Add each statement up, and compare it with our movements of its days.

    If the totals agree no row is missing; if they do not, the number of missing rows cannot be known and stays
    unknown.
    """
    movements = list(movements)
    for row in statements:
        period = row["start_date"][:7]
        if not _has_month(span, period):
            continue
        zone = connections[row["connection"]].country.zone
        own = [m for m in movements if m["account_id"] == row["account_id"] and _is_within(m, row, zone)]
        inbound, outbound = row["total_credited_cents"], row["total_debited_cents"]
        computed = row["initial_balance_cents"] + inbound - outbound
        agrees = _sum(own, "inbound") == inbound and _sum(own, "outbound") == outbound
        yield {
            "account_id": row["account_id"],
            "period": period,
            "currency": row["currency"] or connections[row["connection"]].country.currency,
            "opening": row["initial_balance_cents"],
            "inbound": inbound,
            "outbound": outbound,
            "closing": row["final_balance_cents"],
            "computed_closing": computed,
            "difference": row["final_balance_cents"] - computed,
            "movements_missing_here": 0 if agrees else None,
            "movements_missing_there": 0 if agrees else None,
            "connection": row["connection"],
        }


def _is_within(movement: Row, statement: Row, zone: str) -> bool:
    on = local_date(to_instant(movement["transaction_date"]), zone).isoformat()
    return bool(statement["start_date"] <= on <= statement["end_date"])


def _sum(movements: Iterable[Row], direction: str) -> int:
    return sum(movement["amount"] for movement in movements if movement["direction"] == direction)


def tax_statements(rows: Iterable[Row], connections: Mapping[str, Connection], *, span: Span) -> Iterator[Row]:
    """List F29 forms with the identity their six amounts obey; a blank amount of the form is zero."""
    for row in rows:
        period = f"{row['fiscal_year']}-{row['period']:0>2}" if "-" not in row["period"] else row["period"]
        if not _has_month(span, period):
            continue
        form = row["institution_tax_statement"]
        due = max(0, (form["total_debit"] or 0) - (form["total_credit"] or 0))
        computed = due + sum(form[name] or 0 for name in _F29)
        yield {
            **{name: form[name] for name in ("total_debit", "total_credit", *_F29, "total_payment")},
            "taxpayer_id": _holder(row["taxpayer"], connections[row["connection"]]),
            "period": period,
            "document_number": row["document_number"],
            "status": row["status"],
            "computed_payment": computed,
            "identity_difference": None if form["total_payment"] is None else form["total_payment"] - computed,
            "connection": row["connection"],
        }


def tax_returns(rows: Iterable[Row], connections: Mapping[str, Connection], *, span: Span) -> Iterator[Row]:
    for row in rows:
        year = int(row["fiscal_year"])
        if not span.overlaps(date(year, 1, 1), date(year, 12, 31)):
            continue
        form = row["institution_tax_return"]
        yield {
            "taxpayer_id": _holder(row["taxpayer"], connections[row["connection"]]),
            "fiscal_year": year,
            "document_number": row["document_number"],
            "due_amount": form["due_amount"],
            "refund_amount": form["refund_amount"],
            "fees": form["income"]["fees"],
            "salary": form["income"]["salary"],
            "withheld_fees": form["income"]["withheld_fees"],
            "connection": row["connection"],
        }


def tax_invoices(rows: Iterable[Row], connections: Mapping[str, Connection], *, span: Span) -> Iterator[Row]:
    """List fiscal documents by tax period, which the register writes as month/year."""
    for row in rows:
        connection = connections[row["connection"]]
        month, _, year = (row["tax_period"] or "").partition("/")
        period = f"{year}-{month}" if year else None
        if not (_has_month(span, period) if period else span == Span()):
            continue
        form = row["institution_invoice"]
        yield {
            "issuer_id": _holder(row["issuer"], connection),
            "receiver_id": _holder(row["receiver"], connection),
            "issue_type": row["issue_type"],
            "document_type": form["document_type"],
            "number": row["number"],
            "date": _local_day(row["date"], connection),
            "tax_period": period,
            "net_amount": row["net_amount"],
            "vat_amount": form["vat_amount"],
            "exempt_amount": form["exempt_amount"],
            "total_amount": row["total_amount"],
            "status": form["invoice_status"],
            "has_note": form["has_note"],
            "connection": row["connection"],
            "currency": row["currency"],
        }


def _local_day(text: str | None, connection: Connection) -> date | None:
    if text is None:
        return None
    plain = len("2026-10-31")
    return date.fromisoformat(text) if len(text) == plain else local_date(to_instant(text), connection.country.zone)


def _has_month(span: Span, period: str) -> bool:
    first = date.fromisoformat(f"{period}-01")
    last = date(first.year + first.month // 12, first.month % 12 + 1, 1)
    return span.overlaps(first, date.fromordinal(last.toordinal() - 1))


def _holder(party: Row | None, connection: Connection) -> str | None:
    return _tax_id(party["id"], connection.country_code) if party else None


def _tax_id(raw: object, country: str) -> str | None:
    """Write a tax id canonically; one that is not well formed is shown as it came."""
    if not raw:
        return None
    try:
        return to_tax_id(str(raw), country)
    except TaxIdError:
        return str(raw)
