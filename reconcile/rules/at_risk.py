"""What exceptions are worth together, counting each peso once; pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from reconcile.rules.outcomes import WITHOUT_DOCUMENT, Code

# These put the whole amount of their payout at risk.
WHOLE_PAYOUT = frozenset({Code.PAYOUT_LATE, Code.PAYOUT_NOT_IN_BANK, Code.PAYOUT_RETURNED})
_DOCUMENT, _RESOURCE, _DISPUTE = "document:", "resource:", "dispute:"

# A subject and where its amount stands: in a payout at risk whole, or in none.
Places = dict[tuple[str | None, str], int]


class AtRisk(Protocol):
    """What a total reads of an exception; its amount is in minor units."""

    @property
    def code(self) -> str: ...
    @property
    def subject(self) -> str: ...
    @property
    def currency(self) -> str: ...
    @property
    def amount_at_risk(self) -> int: ...
    @property
    def payout_id(self) -> str | None: ...
    @property
    def doc_key(self) -> str | None: ...
    @property
    def resource_id(self) -> str | None: ...


class Stake(NamedTuple):
    """An exception as a total reads it, where only this much of it is read from a table."""

    code: str
    subject: str
    currency: str
    amount_at_risk: int
    payout_id: str | None = None
    doc_key: str | None = None
    resource_id: str | None = None


class Total(NamedTuple):
    """A total at risk, and how many exceptions it covers."""

    amount: int
    exceptions: int


def add_up_risks(found: Iterable[AtRisk]) -> dict[str, Total]:
    """Add up exceptions of one connection by currency.

    A subject counts once, with the largest of its amounts. A payout at risk as a whole counts once with everything in
    it: the larger of its amount and of what is at risk inside. A payment without a certain document and its disputes
    are the larger of it and of their sum. Of a document only what exceeds the payments, refunds and disputes that name
    it is added. For a row that names several documents, or none, the whole amount counts.
    """
    by_currency: dict[str, list[AtRisk]] = defaultdict(list)
    for one in found:
        by_currency[one.currency].append(one)
    return {currency: Total(_count_once(rows), len(rows)) for currency, rows in sorted(by_currency.items())}


def _count_once(rows: Sequence[AtRisk]) -> int:
    whole = {row.payout_id for row in rows if row.code in WHOLE_PAYOUT}
    placed: Places = {}
    documents: dict[str, int] = {}
    named: dict[str, dict[str, int]] = defaultdict(dict)
    for row in rows:
        subject, amount = _drop_payout(row.subject), row.amount_at_risk
        if subject.startswith(_DOCUMENT):
            documents[subject] = max(amount, documents.get(subject, 0))
            continue
        place = (row.payout_id if row.payout_id in whole else None, subject)
        placed[place] = max(amount, placed.get(place, 0))
        if row.doc_key is not None:
            of_document = named[subject]
            of_document[row.doc_key] = max(amount, of_document.get(row.doc_key, 0))
    placed = _merge_disputes(_drop_repeated(placed), _find_disputed(rows))
    outside = sum(amount for (payout_id, _), amount in placed.items() if payout_id is None)
    return _sum_payouts(placed) + outside + _sum_documents(documents, named)


def _drop_repeated(placed: Places) -> Places:
    """Take an item of a payout at risk whole out of any other payout it may be in."""
    inside = {subject for payout_id, subject in placed if payout_id is not None}
    if not inside:
        return placed
    return {
        (payout_id, subject): max(amount, placed.get((None, subject), 0))
        for (payout_id, subject), amount in placed.items()
        if payout_id is not None or subject not in inside
    }


def _find_disputed(rows: Sequence[AtRisk]) -> dict[str, str]:
    """Return the payment of each dispute that names no document, where the payment is without one too."""
    payments = {
        row.subject: f"{_RESOURCE}{row.resource_id}"
        for row in rows
        if row.subject.startswith(_DISPUTE) and row.doc_key is None
    }
    if not payments:
        return {}
    lonely = {row.subject for row in rows if row.code in WITHOUT_DOCUMENT}
    return {dispute: payment for dispute, payment in payments.items() if payment in lonely}


def _merge_disputes(placed: Places, payments: Mapping[str, str]) -> Places:
    """Make a payment and its disputes at the same place one amount: the larger of it and of their sum."""
    if not payments:
        return placed
    disputed: dict[tuple[str | None, str], int] = defaultdict(int)
    kept = {}
    for (payout_id, subject), amount in placed.items():
        payment = (payout_id, payments.get(subject, ""))
        if payment in placed:
            disputed[payment] += amount
        else:
            kept[payout_id, subject] = amount
    return {place: max(amount, disputed.get(place, 0)) for place, amount in kept.items()}


def _drop_payout(subject: str) -> str:
    """Name an item alike in every payout that lists it; a document's key may hold any character."""
    return subject if "@" not in subject or subject.startswith(_DOCUMENT) else subject.partition("@")[0]


def _sum_payouts(placed: Places) -> int:
    payouts: dict[str, int] = {}
    items: dict[str, int] = defaultdict(int)
    for (payout_id, subject), amount in placed.items():
        if payout_id is None:
            continue
        if subject == f"payout:{payout_id}":
            payouts[payout_id] = amount
        else:
            items[payout_id] += amount
    return sum(max(amount, items[payout_id]) for payout_id, amount in payouts.items())


def _sum_documents(documents: Mapping[str, int], named: Mapping[str, Mapping[str, int]]) -> int:
    inside: dict[str, int] = defaultdict(int)
    for of_document in named.values():
        if len(of_document) == 1:
            ((doc_key, amount),) = of_document.items()
            inside[_DOCUMENT + doc_key] += amount
    return sum(max(0, amount - inside[subject]) for subject, amount in documents.items())
