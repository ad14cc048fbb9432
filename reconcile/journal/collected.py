"""Pure: the postings of one day's items: payments with their documents, refunds, disputes, and Mexico's VAT."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from reconcile.journal.postings import ROUNDING, Posting
from reconcile.rules.inputs import DISPUTE, PAYMENT_TYPES, REFUND, REFUND_ADJUSTMENT
from reconcile.rules.outcomes import Outcome

# The columns of a stored line that are read.
LINE = (
    "payout_id", "resource_type", "resource_subtype", "resource_id", "line", "local_date", "amount_signed",
    "currency", "customer_tax_id", "outcome", "match_rule", "doc_type", "doc_folio", "doc_uuid", "doc_total",
    "applied_amount", "doc_balance_after", "doc_key", "doc_customer_tax_id", "doc_vat", "vat_moved",
    "reversed_doc_key", "reversed_doc_total",
)  # fmt: skip
# Of what a payout gives or takes that is no payment: the kind of posting, and the sign its amount has there.
_OTHERS: Mapping[str, tuple[str, int]] = {
    REFUND: ("refund", -1),
    REFUND_ADJUSTMENT: ("refund_failed", 1),
    DISPUTE: ("dispute", -1),
}
_SECOND = "second_payout"
# Of these an item may have several, one for each document.
_BY_DOCUMENT = frozenset({"payment", "vat_collected"})
# A row of a table: its values by name.
Row: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Terms:
    """What decides how a payment is posted: the country, the largest rest that is rounding, what people accepted.

    `accepted` has, for a payment that needs no document, the reason.
    """

    country: str
    rounding_limit: int
    accepted: Mapping[str, str] = field(default_factory=dict)


class Document(NamedTuple):
    """What a line says of the document it is about."""

    key: str
    doc_type: str = ""
    doc_folio: str = ""
    doc_uuid: str = ""
    doc_total: int = 0


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


def find_applied(lines: pa.Table) -> pa.Table:
    """Return the lines that are posted as payments of a document."""
    is_payment = pc.is_in(lines["resource_type"].cast(pa.string()), value_set=pa.array(sorted(PAYMENT_TYPES)))
    is_second = pc.fill_null(pc.equal(lines["match_rule"].cast(pa.string()), _SECOND), fill_value=False)
    has_amount = pc.and_(pc.is_valid(lines["doc_key"]), pc.fill_null(pc.not_equal(lines["applied_amount"], 0), False))
    return lines.filter(pc.and_(pc.and_not(is_payment, is_second), has_amount))


def post_item(item: Item, terms: Terms) -> Iterator[Posting]:
    """Yield what an item moves; the clearing account always moves by its signed amount."""
    first = item.first
    kind = first["resource_type"]
    if kind in _OTHERS:
        name, sign = _OTHERS[kind]
        document = _read_key(first["reversed_doc_key"], first["reversed_doc_total"])
        yield from _post(name, first, sign * first["amount_signed"], document)
        if terms.country == "mx":
            yield from _post("vat_returned", first, -(first["vat_moved"] or 0), document)
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
        document = _read_document(row)
        yield from _post("payment", row, row["applied_amount"], document)
        rest -= row["applied_amount"]
        if terms.country == "mx":
            yield from _post("vat_collected", row, _find_collected_vat(row), document)
    yield from _post_rest(first, rest, terms, is_applied=bool(item.applied))


def _post_rest(first: Row, rest: int, terms: Terms, *, is_applied: bool) -> Iterator[Posting]:
    """Yield what no document took of a payment, by the reason that it has."""
    is_above = first["outcome"] == Outcome.MATCHED_WITH_DIFFERENCE
    reason = terms.accepted.get(first["resource_id"], "")
    if is_applied and is_above and abs(rest) <= terms.rounding_limit:
        yield from _post("payment_rounding", first, rest)
    elif rest < 0:
        yield from _post("share", first, -rest)
    elif first["outcome"] == Outcome.ADJUSTMENT and reason:
        kind = "payment_rounding" if reason == ROUNDING else "payment_accepted"
        yield from _post(kind, first, rest, reason=reason)
    elif first["outcome"] == Outcome.DUPLICATE:
        yield from _post("paid_again", first, rest)
    else:
        yield from _post("overpaid" if is_applied and is_above else "payment_open", first, rest)


def _find_collected_vat(row: Row) -> int:
    """Return the VAT of what was applied, as the run says; runs of 0.1.0 do not, and it follows from the balance."""
    if row["vat_moved"] is not None:
        return int(row["vat_moved"])
    total, vat = row["doc_total"], row["doc_vat"]
    if not vat or not total or row["doc_balance_after"] is None:
        return 0
    after = min(total - row["doc_balance_after"], total)
    before = max(0, total - row["doc_balance_after"] - row["applied_amount"])
    return max(0, _share(vat, after, total) - _share(vat, min(before, total), total))


def _share(vat: int, part: int, total: int) -> int:
    return (2 * vat * part + total) // (2 * total)


def _read_document(row: Row) -> Document:
    return Document(
        row["doc_key"], row["doc_type"] or "", row["doc_folio"] or "", row["doc_uuid"] or "", row["doc_total"] or 0
    )


def _read_key(key: str | None, total: int | None) -> Document | None:
    """Return what the name of a document says of it."""
    if key is None:
        return None
    _, kind, *rest = key.split(":")
    if kind == "uuid":
        return Document(key, doc_uuid=rest[0], doc_total=total or 0)
    return Document(key, kind, rest[-1], doc_total=total or 0)


def _post(kind: str, row: Row, amount: int, document: Document | None = None, *, reason: str = "") -> Iterator[Posting]:
    if amount == 0:
        return
    subject = f"{row['resource_type']}/{row['resource_id']}"
    if row["match_rule"] == _SECOND:
        subject = f"{subject}@{row['payout_id']}"
    means = reason or row["resource_subtype"] or ""
    tax_id = row["customer_tax_id"] or ""
    if document is None:
        yield Posting(kind, subject, amount, row["currency"], row["resource_id"], means, tax_id)
        return
    if kind in _BY_DOCUMENT:
        subject = f"{subject}/{document.key}"
    yield Posting(
        kind, subject, amount, row["currency"], row["resource_id"], means,
        row["doc_customer_tax_id"] or tax_id, document.doc_type, document.doc_folio, document.doc_uuid,
        document.doc_total,
    )  # fmt: skip
