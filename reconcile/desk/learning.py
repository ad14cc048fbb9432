"""What people's decisions say about payers, and what rules about them would have done to past payments; pure.

Both bounds of how often a rule is wrong hold at once for every count on the way (a betting martingale over the errors),
so that looking each night does not wear them out.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from math import inf, lgamma, log, log1p

import pandas as pd
from pandas import DataFrame

from reconcile.rules.documents import find_customers
from reconcile.rules.inputs import PAYERS, PAYMENT_TYPES, Inputs, rows_of, to_types
from reconcile.rules.keys import ORDER_REF, read_metadata
from reconcile.rules.ledger import find_payers
from reconcile.rules.names import normalize
from reconcile.rules.outcomes import Stage
from reconcile.rules.payers import DIGIT, PATTERN, PAYER, find_words, to_template
from reconcile.rules.payouts import place_items
from reconcile.rules.pipeline import match_payments
from reconcile.rules.terms import BPS

# So many payments have to say the same before it is proposed, and so many digits make an order number.
_LEAST, _LEAST_DIGITS = 2, 3
_ANY_DOCUMENT = ""
CONFIDENCE = 0.95
_LIMIT = -log(1 - CONFIDENCE)
_STEPS = 60


@dataclass(frozen=True, slots=True, order=True)
class Claim:
    """What a rule says: the subject pays for the object, or words made like the subject are order numbers."""

    kind: str
    subject: str
    object: str


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of payments without payers' rules: documents paid, pairs people refused, when they last spoke."""

    paid: Mapping[str, frozenset[str]]
    refused: frozenset[tuple[str, str]] = frozenset()
    spoke_at: Mapping[str, datetime] = field(default_factory=dict)

    def judge(self, payment: str, docs: frozenset[str]) -> bool | None:
        """Return whether a rule is right that pays these documents; None where nobody knows."""
        if paid := self.paid.get(payment):
            return docs <= paid
        is_refused = any((payment, doc) in self.refused for doc in (*docs, _ANY_DOCUMENT))
        return False if is_refused else None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a rule would have done with one payment: right, wrong, or None where that is open."""

    rule: int
    payment: str
    at: datetime
    is_right: bool | None


@dataclass(frozen=True, slots=True)
class Evidence:
    right: int = 0
    wrong: int = 0
    open: int = 0

    def bound_bps(self, error_bps: int) -> int:
        """Return the share of errors that is not exceeded, in hundredths of a percent, rounded up."""
        return -int(-bound_errors(self.wrong, self.right, error_bps / BPS) * BPS // 1)


def add_up(verdicts: Iterable[Verdict], rule: int, since: datetime | None = None) -> Evidence:
    own = (one.is_right for one in verdicts if one.rule == rule and (since is None or one.at >= since))
    counts = Counter(own)
    return Evidence(counts[True], counts[False], counts[None])


def propose(inputs: Inputs) -> list[Claim]:
    """Return what several matches by people have in common, in a stable order."""
    matches = inputs.decisions[(inputs.decisions["kind"] == "match") & inputs.decisions["doc_key"].notna()]
    payments = _choose_payments(inputs)
    payments = payments[payments["resource_id"].isin(matches["resource_id"])].reset_index(drop=True)
    documents = inputs.documents[inputs.documents["doc_key"].isin(matches["doc_key"])].reset_index(drop=True)
    if payments.empty or documents.empty:
        return []
    payer_of = dict(zip(payments["resource_id"], find_payers(payments, inputs.rules), strict=True))
    owner_of = dict(zip(documents["doc_key"], find_customers(documents, inputs.rules), strict=True))
    words_of, order_of = _read_words(payments), dict(zip(documents["doc_key"], documents["order_ref"], strict=True))
    said: dict[Claim, set[str]] = defaultdict(set)
    for row in rows_of(matches):
        payer, owner = payer_of.get(row.resource_id), owner_of.get(row.doc_key)
        if not pd.isna(payer) and not pd.isna(owner) and payer != owner:
            said[Claim(PAYER, str(payer), str(owner))].add(row.resource_id)
        order = order_of.get(row.doc_key)
        if isinstance(order, str) and _is_order_number(order) and order.upper() in words_of.get(row.resource_id, ""):
            said[Claim(PATTERN, to_template(order), ORDER_REF)].add(row.resource_id)
    return sorted(claim for claim, payments_of in said.items() if len(payments_of) >= _LEAST)


def weigh(inputs: Inputs, claims: Mapping[int, Claim], known: Known, *, since: datetime) -> list[Verdict]:
    """Return what rules would have done with every payment since a moment, had nothing else spoken for its document.

    Keys, texts and decisions of the payers' payments are taken out, and what they said is what the rules are held
    against; amounts, dates, ties and what other payments paid stay.
    """
    return [*_weigh_payers(inputs, claims, known, since), *_weigh_patterns(inputs, claims, known, since)]


def _weigh_payers(inputs: Inputs, claims: Mapping[int, Claim], known: Known, since: datetime) -> Iterator[Verdict]:
    mine = {number: claim for number, claim in claims.items() if claim.kind == PAYER}
    if not mine:
        return
    subjects = {claim.subject for claim in mine.values()}
    concerned = subjects | {claim.object for claim in mine.values()}
    owners = find_customers(inputs.documents, inputs.rules)
    documents = inputs.documents[owners.isin(concerned).to_numpy()].reset_index(drop=True)
    bare = replace(inputs, documents=documents, payers=_to_rules(mine))
    bare = _take_out(bare, concerned, subjects, known)
    rows = place_items(bare)
    ledger = match_payments(rows, bare)
    applied: dict[int, set[str]] = defaultdict(set)
    for payment, doc in ledger.applications()[["payment", "doc"]].itertuples(index=False):
        applied[int(payment)].add(str(ledger.books.keys[doc]))
    for payment, docs in sorted(applied.items()):
        reason = ledger.reasons[payment]
        at = pd.Timestamp(int(ledger.payments.moment[payment]), unit="us", tz="UTC").to_pydatetime()
        if reason.stage == Stage.PAYER and at >= since:
            rule, identity = int(reason.rule.split(":")[1].removeprefix(DIGIT)), str(ledger.payments.ids[payment])
            spoke = max(at, known.spoke_at.get(identity, at))
            yield Verdict(rule, identity, spoke, known.judge(identity, frozenset(docs)))


def _take_out(inputs: Inputs, concerned: set[str], subjects: set[str], known: Known) -> Inputs:
    """Keep the payments of those concerned and whatever paid their documents; the payers' own say nothing more."""
    items, keys = inputs.items, set(inputs.documents["doc_key"])
    payers = find_payers(items, inputs.rules)
    others = {payment for payment, docs in known.paid.items() if not keys.isdisjoint(docs)}
    is_kept = payers.isin(concerned) | items["resource_id"].isin(others)
    is_kept |= items["parent_id"].isin(items["resource_id"][is_kept])
    is_mute = payers.isin(subjects) & items["resource_type"].isin(PAYMENT_TYPES)
    texts = {name: items[name].mask(is_mute) for name in ("metadata", "texts")}
    mute = inputs.decisions["resource_id"].isin(items["resource_id"][is_mute])
    return replace(
        inputs,
        items=items.assign(**texts)[is_kept].reset_index(drop=True),
        decisions=inputs.decisions[~mute].reset_index(drop=True),
    )


def _weigh_patterns(inputs: Inputs, claims: Mapping[int, Claim], known: Known, since: datetime) -> Iterator[Verdict]:
    mine = {number: claim for number, claim in claims.items() if claim.kind == PATTERN}
    if not mine:
        return
    payments = _choose_payments(inputs)
    is_late = (payments["occurred_at"] >= since).to_numpy()
    orders = [(normalize(order), str(key)) for key, order in
              inputs.documents[["doc_key", "order_ref"]].dropna().itertuples(index=False)]  # fmt: skip
    bearers: dict[str, set[str]] = defaultdict(set)
    for order, key in orders:
        bearers[order].add(key)
    for number, claim in mine.items():
        found: dict[int, set[str]] = defaultdict(set)
        for place, word in find_words(claim.subject, payments, is_late):
            found[place].add(word)
        for place, words in sorted(found.items()):
            docs = bearers.get(normalize(next(iter(words))), set())
            if len(words) == 1 and len(docs) == 1:
                identity, at = payments["resource_id"][place], payments["occurred_at"][place].to_pydatetime()
                spoke = max(at, known.spoke_at.get(identity, at))
                yield Verdict(number, identity, spoke, known.judge(identity, frozenset(docs)))


def _to_rules(claims: Mapping[int, Claim]) -> DataFrame:
    rows = [(number, claim.kind, claim.subject, claim.object, None, None) for number, claim in claims.items()]
    return to_types(DataFrame(rows, columns=list(PAYERS)), PAYERS)


def _choose_payments(inputs: Inputs) -> DataFrame:
    is_payment = inputs.items["resource_type"].isin(PAYMENT_TYPES)
    return inputs.items[is_payment].drop_duplicates("resource_id").reset_index(drop=True)


def _read_words(payments: DataFrame) -> dict[str, str]:
    """Return the texts of payments that name no sale in their metadata, in capitals."""
    is_free = ~read_metadata(payments["metadata"]).names_sale()
    texts = payments["texts"].fillna("") + "\n" + payments["metadata"].fillna("")
    return dict(zip(payments["resource_id"][is_free], texts[is_free].str.upper(), strict=True))


def _is_order_number(order: str) -> bool:
    return sum(sign.isdigit() for sign in order) >= _LEAST_DIGITS and any(sign.isalpha() for sign in order)


def bound_errors(wrong: int, right: int, error: float) -> float:
    """Return the share of errors that is not exceeded, at 95 %; sharpest for rules about as good as `error`."""
    weight = 0.5 * (1 - error) / error
    return _find_end(wrong, right, (0.5, weight), _share(wrong, right), 1.0)


def is_contradicted(wrong: int, right: int, error: float) -> bool:
    """Return True if more errors than `error` are proved at 95 %."""
    return _share(wrong, right) > error and _log_martingale(wrong, right, (1.0, 1.0), error) >= _LIMIT


def _share(wrong: int, right: int) -> float:
    return wrong / (wrong + right) if wrong + right else 0.0


def _find_end(wrong: int, right: int, prior: tuple[float, float], low: float, high: float) -> float:
    """Halve the stretch in which the martingale reaches the limit."""
    for _ in range(_STEPS):
        middle = (low + high) / 2
        is_possible = _log_martingale(wrong, right, prior, middle) < _LIMIT
        low, high = (middle, high) if is_possible else (low, middle)
    return high


def _log_martingale(wrong: int, right: int, prior: tuple[float, float], share: float) -> float:
    """Return the log of how much better the observed order is explained by the prior than by this share of errors."""
    if (share <= 0 and wrong) or (share >= 1 and right):
        return inf
    explained = _log_beta(wrong + prior[0], right + prior[1]) - _log_beta(*prior)
    return explained - (wrong * log(share) if wrong else 0.0) - (right * log1p(-share) if right else 0.0)


def _log_beta(left: float, right: float) -> float:
    return lgamma(left) + lgamma(right) - lgamma(left + right)
