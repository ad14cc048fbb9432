"""Differences that people accepted, as entries; pure."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from typing import NamedTuple

from reconcile.journal.collected import Row
from reconcile.journal.postings import ROUNDING, Entry, Posting
from reconcile.journal.remembered import OTHER


class Accepted(NamedTuple):
    """A decision of a person about a document or a payment; without an amount it is about all that was left."""

    number: int
    on: date
    reason: str
    resource_id: str = ""
    doc_key: str = ""
    amount: int | None = None


def reasons_of_payments(decisions: Iterable[Accepted]) -> Mapping[str, str]:
    """Return why payments need no document."""
    return {one.resource_id: one.reason or OTHER for one in decisions if one.resource_id}


def list_accepted(decisions: Iterable[Accepted], documents: Iterable[Row]) -> Iterator[Entry]:
    """Yield an entry for each decision about a document: its amount, or of what the run adjusted the rest."""
    known = {row["doc_key"]: row for row in documents}
    by_document: dict[str, list[Accepted]] = defaultdict(list)
    for one in sorted(decisions):
        if one.doc_key in known:
            by_document[one.doc_key].append(one)
    for key, found in by_document.items():
        row = known[key]
        rest = (row["adjusted_amount"] or 0) - sum(one.amount or 0 for one in found)
        last = max((one.number for one in found if one.amount is None), default=0)
        for one in found:
            amount = (rest if one.number == last else 0) if one.amount is None else one.amount
            if amount:
                posting = _to_posting(one, row, amount)
                yield Entry(f"accepted/{one.number}/{row['currency']}", one.on, row["currency"], (posting,))


def _to_posting(accepted: Accepted, row: Row, amount: int) -> Posting:
    kind = "accepted_rounding" if accepted.reason == ROUNDING else "accepted"
    return Posting(
        kind, accepted.doc_key, amount, row["currency"], means=accepted.reason or OTHER,
        tax_id=row["customer_tax_id"] or "", doc_type=row["doc_type"] or "", doc_folio=row["folio"] or "",
        doc_uuid=row["uuid"] or "", doc_total=row["total"] or 0,
    )  # fmt: skip
