"""Pure: the postings of one day's items: payments with their documents, refunds, disputes, and Mexico's VAT."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa

from reconcile.journal.postings import Posting
from reconcile.rules.inputs import DISPUTE, PAYMENT_TYPES, REFUND, REFUND_ADJUSTMENT
from reconcile.rules.outcomes import Outcome

# The columns of a stored line that are read.
LINE = (
    "payout_id", "resource_type", "resource_subtype", "resource_id", "line", "local_date", "amount_signed",
    "currency", "customer_tax_id", "outcome", "match_rule", "doc_type", "doc_folio", "doc_uuid", "doc_total",
    "applied_amount", "doc_balance_after", "doc_key", "doc_customer_tax_id", "doc_vat",
)  # fmt: skip
# Of what a payout gives or takes that is no payment: the kind of posting, and the sign its amount has there.
_OTHERS: Mapping[str, tuple[str, int]] = {
    REFUND: ("refund", -1),
    REFUND_ADJUSTMENT: ("refund_failed", 1),
    DISPUTE: ("dispute", -1),
}
_SECOND = "second_payout"
# A row of a table: its values by name.
Row: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Terms:
    """What decides how a payment is posted: the country, and the largest rest that is rounding."""

    country: str
    rounding_limit: int


class Item(NamedTuple):
    """One item of the run: its first line, and the lines that applied it to a document."""

    first: Row
    applied: Sequence[Row]


def read_items(lines: pa.Table) -> Iterator[Item]:
    """Yield the items of some lines, which stand together and in order."""
    columns = [lines[name].to_pylist() for name in LINE]
    first: Row | None = None
    applied: list[Row] = []
    for values in zip(*columns, strict=True):
        row = dict(zip(LINE, values, strict=True))
        if row["line"] == 1:
            if first is not None:
                yield Item(first, applied)
            first, applied = row, []
        if row["doc_key"] is not None and row["applied_amount"]:
            applied.append(row)
    if first is not None:
        yield Item(first, applied)


def post_item(item: Item, terms: Terms) -> Iterator[Posting]:
    """Yield what an item moves; the clearing account always moves by its signed amount."""
    first = item.first
    kind = first["resource_type"]
    if kind in _OTHERS:
        name, sign = _OTHERS[kind]
        yield from _post(name, first, sign * first["amount_signed"])
    elif kind not in PAYMENT_TYPES:
        raise ValueError(f"{kind} is no kind of item")
    elif first["match_rule"] == _SECOND:
        yield from _post("paid_twice", first, first["amount_signed"])
    else:
        yield from _post_payment(item, terms)


def _post_payment(item: Item, terms: Terms) -> Iterator[Posting]:
    first = item.first
    rest = first["amount_signed"]
    for row in item.applied:
        yield from _post("payment", row, row["applied_amount"], document=True)
        rest -= row["applied_amount"]
        if terms.country == "mx":
            yield from _post("vat_collected", row, _find_collected_vat(row), document=True)
    if not item.applied:
        yield from _post("payment_open", first, rest)
    elif first["outcome"] == Outcome.MATCHED_WITH_DIFFERENCE and abs(rest) <= terms.rounding_limit:
        yield from _post("payment_rounding", first, rest)
    elif rest > 0:
        yield from _post("payment_open", first, rest)
    else:
        yield from _post("share", first, -rest)


def _find_collected_vat(row: Row) -> int:
    """Return the VAT of what was applied: what was collected after it less before, so that parts add up to the whole.

    What was paid beyond the total has no VAT; if the document's VAT is unknown, return 0.
    """
    total, vat = row["doc_total"], row["doc_vat"]
    if not vat or not total or row["doc_balance_after"] is None:
        return 0
    after = min(total - row["doc_balance_after"], total)
    before = max(0, total - row["doc_balance_after"] - row["applied_amount"])
    return max(0, _share(vat, after, total) - _share(vat, min(before, total), total))


def _share(vat: int, part: int, total: int) -> int:
    return (2 * vat * part + total) // (2 * total)


def _post(kind: str, row: Row, amount: int, *, document: bool = False) -> Iterator[Posting]:
    if amount == 0:
        return
    subject = f"{row['resource_type']}/{row['resource_id']}"
    if kind == "paid_twice":
        subject = f"{subject}@{row['payout_id']}"
    known = {"operation": row["resource_id"], "means": row["resource_subtype"] or ""}
    if not document:
        yield Posting(kind, subject, amount, row["currency"], **known, tax_id=row["customer_tax_id"] or "")
        return
    yield Posting(
        kind,
        f"{subject}/{row['doc_key']}",
        amount,
        row["currency"],
        **known,
        tax_id=row["doc_customer_tax_id"] or row["customer_tax_id"] or "",
        doc_type=row["doc_type"] or "",
        doc_folio=row["doc_folio"] or "",
        doc_uuid=row["doc_uuid"] or "",
        doc_total=row["doc_total"] or 0,
    )
