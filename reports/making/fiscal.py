"""The tax control as reports: each figure of a period with its two witnesses, and every cause of a difference."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date
from typing import NamedTuple

from sqlmodel import Session

from consumer.facts.countries import COUNTRIES
from consumer.facts.installation import Connection
from consumer.facts.messages import translate
from consumer.facts.money import take_tax_out
from reconcile.fiscal.collecting import CARDS, VoucherDay, voucher_days
from reconcile.fiscal.comparing import Part, Tie
from reconcile.fiscal.facts import causes
from reconcile.fiscal.fees import FeeDocument, list_documents
from reconcile.fiscal.reading import read_bills, read_periods, read_world
from reconcile.fiscal.tie_out import end_of, tie_out
from reconcile.fiscal.witnesses import Witness
from reports.queries.query import Source
from reports.shapes.spans import Row, Span

_YEAR = len("2026")
# The kinds of ties in the order of the control, by the witnesses that each compares.
GROUPS = {
    "registers": {(Witness.BOOKS, Witness.REGISTER), (Witness.REGISTER, Witness.LINK)},
    "declared": {
        (Witness.REGISTER, Witness.DECLARED), (Witness.DECLARED, Witness.COMPUTED),
        (Witness.TAX_OFFICE, Witness.DECLARED),
    },
    "collected": {(Witness.COLLECTED, Witness.BOOKS)},
    "fees": {(Witness.FEES, Witness.REGISTER), (Witness.FEES, Witness.XML)},
    "office": {(Witness.COLLECTED, Witness.REGISTER), (Witness.TAX_OFFICE, Witness.COLLECTED)},
}  # fmt: skip


class Group(NamedTuple):
    """Ties of one kind."""

    name: str
    ties: Sequence[Tie]


def to_groups(ties: Sequence[Tie]) -> list[Group]:
    """Return ties by kind, in the order of the control."""
    found = [
        Group(name, [tie for tie in ties if (tie.a.witness, tie.b.witness) in pairs]) for name, pairs in GROUPS.items()
    ]
    return [group for group in found if group.ties]


def add_up_causes(tie: Tie) -> dict[str, int]:
    """Return what each cause of a tie comes to, the largest first."""
    sums: Counter[str] = Counter()
    for part in tie.parts:
        sums[part.cause] += part.amount
    return dict(sorted(sums.items(), key=lambda one: (-abs(one[1]), one[0])))


def find_periods(session: Session, connection: Connection, span: Span) -> list[str]:
    """Return the months, and years of annual returns, that a register, an XML or a declared figure is of."""
    return sorted(period for period in read_periods(session, connection) if _is_within(period, span))


def _is_within(period: str, span: Span) -> bool:
    if len(period) == _YEAR:
        return span.overlaps(date(int(period), 1, 1), date(int(period), 12, 31))
    return span.overlaps(date.fromisoformat(f"{period}-01"), end_of(period))


def list_ties(session: Session, connection: Connection, span: Span, *, today: date) -> Iterator[Tie]:
    periods = find_periods(session, connection, span)
    world = read_world(session, connection, today=today, periods=periods)
    for period in periods:
        yield from tie_out(world, period)


def read_invoices(source: Source) -> dict[tuple[str, str, str], list[FeeDocument]]:
    """Return the provider's documents over fees by connection, month of the fees and currency."""
    found: dict[tuple[str, str, str], list[FeeDocument]] = {}
    runs = {run.connection: run for run in source.runs}
    for connection in source.query.connections:
        run, issuer, currency = runs.get(connection.name), connection.provider_tax_id, connection.country.currency
        if run is not None and issuer:
            world = read_bills(source.session, connection, run, issuer)
            for document in list_documents(world, currency):
                found.setdefault((connection.name, document.period, currency), []).append(document)
    return found


def tie_rows(source: Source) -> Iterator[Row]:
    """Yield a row for each figure of each period."""
    for connection in source.query.connections:
        for tie in list_ties(source.session, connection, source.query.span, today=source.as_of):
            yield to_row(tie, connection)


def to_row(tie: Tie, connection: Connection) -> Row:
    return {
        "period": tie.period,
        "country": connection.country_code,
        "figure": tie.figure,
        "witness_a": tie.a.witness.value,
        "amount_a": tie.a.amount,
        "witness_b": tie.b.witness.value,
        "amount_b": tie.b.amount,
        "difference": tie.difference,
        "explained": tie.explained,
        "rest": tie.rest,
        "verdict": tie.verdict.value,
        "as_of_a": tie.a.as_of,
        "as_of_b": tie.b.as_of,
        "connection": connection.name,
    }


def cause_rows(source: Source) -> Iterator[Row]:
    """Yield a row for each cause of each figure; days count from the document's own."""
    for connection in source.query.connections:
        for tie in list_ties(source.session, connection, source.query.span, today=source.as_of):
            for part in tie.parts:
                yield to_cause(tie.period, tie.figure, part, connection, source.as_of)


def to_cause(period: str, figure: str, part: Part, connection: Connection, as_of: date) -> Row:
    return {
        "period": period,
        "figure": figure,
        "cause": part.cause,
        "side": causes()[part.cause].side,
        "doc_key": part.doc_key or None,
        "counterparty_tax_id": part.tax_id or None,
        "amount": part.amount,
        "tax": part.tax,
        "opened_on": part.on,
        "age_days": max(0, (as_of - part.on).days) if part.on else None,
        "suggested_action": translate(f"tax_do.{part.cause}", "en"),
        "connection": connection.name,
    }


def voucher_rows(source: Source) -> Iterator[Row]:
    """Yield a row for each day of a month with card payments, as Chile's register asks for its vouchers by day."""
    for connection in source.query.connections:
        if connection.country_code == "cl":
            world = read_world(source.session, connection, today=source.as_of)
            months = {payment.period for payment in world.payments if payment.subtype in CARDS}
            for period in sorted(month for month in months if _is_within(month, source.query.span)):
                yield from to_vouchers(voucher_days(world.payments, period), connection.name)


def to_vouchers(days: Sequence[VoucherDay], connection: str) -> Iterator[Row]:
    """Yield the days of one month: what was taxed is split by the rate, to the peso."""
    for day in days:
        net, vat = take_tax_out(day.total - day.exempt, COUNTRIES["cl"].vat_percent)
        yield {
            "date": day.on, "payments_count": day.payments, "net": net, "vat": vat, "exempt": day.exempt,
            "total": day.total, "with_receipt": day.with_receipt, "connection": connection,
        }  # fmt: skip
