"""The payments to be matched, oldest first, and the state of matching: what became of each, and what is still open."""

from dataclasses import dataclass, field
from itertools import repeat

import numpy as np
import pandas as pd
from msgspec import Struct
from pandas import DataFrame, Series

from consumer.facts.messages import Message
from consumer.facts.taxids import GENERIC_RFCS, GENERIC_RUTS
from reconcile.rules.columns import (
    ArrowTexts,
    Indices,
    Ints,
    Mask,
    Texts,
    Words,
    share_texts,
    sort_places,
    to_day_numbers,
)
from reconcile.rules.documents import Books
from reconcile.rules.inputs import PAYMENT_TYPES, REFUND, SAID, Evidence, rows_of
from reconcile.rules.keys import Said
from reconcile.rules.outcomes import LOST, Code, Outcome, Stage
from reconcile.rules.terms import RuleSet

UNKNOWN = -1
# So many rivals stand in a payment's evidence; it counts the others.
MOST_LISTED = 20
LATEST = np.iinfo(np.int64).max
_READ = [
    "payout_id",
    "resource_type",
    "resource_id",
    "currency",
    "amount",
    "occurred_at",
    "customer_tax_id",
    "sender_tax_id",
    "split",
    "local_date",
    "source",
]
_KEPT = ("resource_id", "currency", "amount", "split", "row", *SAID)


@dataclass(frozen=True, slots=True)
class Reversal:
    """Money of a payment that went back: a succeeded refund, or a dispute that was lost."""

    resource_id: str
    at: int
    amount: int
    payout_id: str | None
    is_dispute: bool = False


@dataclass(frozen=True, slots=True)
class Payments:
    """Columns of one length; a payment is its position in them. Customers and currencies are shared codes.

    `amount` is what the customer paid, also where it was split; `money` is the currency's name, `payout` the payout
    that carries the payment.
    """

    frame: DataFrame
    ids: Words
    amount: Ints
    currency: Ints
    customer: Ints
    tax_id: Texts
    payout: Words
    money: Words
    day: Ints
    moment: Ints
    order_ref: ArrowTexts
    in_parts: Mask
    reversals: dict[int, list[Reversal]]

    def __len__(self) -> int:
        return len(self.ids)


def choose_payments(rows: DataFrame, items: DataFrame) -> DataFrame:
    """Choose one row per payment, where it is at home, in total order, with what it says."""
    is_payment = (rows["place"] == "home") & rows["resource_type"].isin(PAYMENT_TYPES)
    order = sort_places(rows, ["occurred_at", "resource_id", "resource_type"])
    order = order[is_payment.to_numpy()[order]]
    frame = rows[_READ].assign(row=np.arange(len(rows))).take(order).reset_index(drop=True)
    return frame.assign(**{name: items[name].array.take(frame["source"].to_numpy()) for name in SAID})


def find_payers(frame: DataFrame, rules: RuleSet) -> Series:
    """Return each payment's customer: its customer's tax id, else the sender's; generic ones are left out."""
    generic = GENERIC_RUTS | GENERIC_RFCS | set(rules.generic_tax_ids)
    own, sender = frame["customer_tax_id"], frame["sender_tax_id"]
    return own.mask(own.isin(generic)).fillna(sender.mask(sender.isin(generic)))


def to_payments(
    frame: DataFrame, tax_ids: Series, codes: tuple[Ints, Ints], *, reversals: dict[int, list[Reversal]], said: Said
) -> Payments:
    currency, customer = codes
    ids = frame["resource_id"].to_numpy(dtype=object)
    return Payments(
        frame=frame[list(_KEPT)],
        ids=ids,
        amount=frame["amount"].to_numpy(dtype=np.int64),
        currency=currency,
        customer=customer,
        tax_id=Texts(tax_ids),
        payout=share_texts(frame["payout_id"]),
        money=share_texts(frame["currency"]),
        day=to_day_numbers(frame["local_date"]),
        moment=to_instants(frame["occurred_at"]),
        order_ref=said.order_refs(),
        in_parts=said.in_parts(),
        reversals=reversals,
    )


def to_instants(moments: Series) -> Ints:
    """Turn moments into whole microseconds."""
    numbers: Ints = moments.dt.tz_localize(None).to_numpy().astype("datetime64[us]").astype(np.int64)
    return numbers


def to_instant(moment: pd.Timestamp) -> int:
    """Turn one moment into whole microseconds."""
    return int(moment.tz_localize(None).to_datetime64().astype("datetime64[us]").astype(np.int64))


def number_together(left: Series, right: Series) -> tuple[Ints, Ints]:
    """Number the distinct values of two columns together; a missing value is unknown and equals no other."""
    codes, _ = pd.factorize(pd.concat([left, right], ignore_index=True))
    return codes[: len(left)], codes[len(left) :]


def group_reversals(frame: DataFrame, rows: DataFrame, disputes: DataFrame) -> dict[int, list[Reversal]]:
    """Group what went back by the payment it is of, oldest first: succeeded refunds, and lost disputes of its currency.

    A dispute in another currency takes an unknown amount, so it opens no document.
    """
    found = [*_list_refunds(rows), *_list_lost(disputes)]
    named = frame["resource_id"][frame["resource_id"].isin([parent for parent, _, _ in found])]
    places = dict(zip(named.tolist(), named.index.tolist(), strict=True))
    currencies = frame["currency"].to_numpy(dtype=object)
    grouped: dict[int, list[Reversal]] = {}
    for parent, currency, reversal in found:
        place = places.get(parent)
        if place is not None and (currency is None or currencies[place] == currency):
            grouped.setdefault(place, []).append(reversal)
    return {place: sorted(own, key=lambda one: (one.at, one.resource_id)) for place, own in grouped.items()}


def _list_refunds(rows: DataFrame) -> list[tuple[str, str | None, Reversal]]:
    is_refund = (rows["place"] == "home") & (rows["resource_type"] == REFUND) & (rows["status"] == "succeeded")
    is_chosen = is_refund & rows["parent_id"].notna()
    if not is_chosen.any():
        return []
    chosen = rows[is_chosen]
    return [
        (row.parent_id, None, Reversal(row.resource_id, int(at), int(row.amount), _to_known(row.payout_id)))
        for row, at in zip(rows_of(chosen), to_instants(chosen["occurred_at"]), strict=True)
    ]


def _list_lost(disputes: DataFrame) -> list[tuple[str, str | None, Reversal]]:
    if disputes.empty:
        return []
    chosen = disputes[disputes["status"].isin(LOST) & disputes["resource_id"].notna() & (disputes["amount"] > 0)]
    # Where no end is stated, no payment is known to have come after it.
    ended = np.where(chosen["ended_at"].isna(), LATEST, to_instants(chosen["ended_at"]))
    return [
        (row.resource_id, row.currency, Reversal(row.dispute_id, int(at), int(row.amount), None, is_dispute=True))
        for row, at in zip(rows_of(chosen), ended, strict=True)
    ]


def _to_known(text: str | None) -> str | None:
    return None if pd.isna(text) else text


class Reason(Struct, frozen=True):
    """Why an outcome: the stage and rule that decided, the rivals it left, and what was compared."""

    stage: Stage
    rule: str
    rivals: tuple[int, ...] = ()
    evidence: Evidence = {}


@dataclass(slots=True)
class Ledger:
    """Payments and documents while they are matched. Every payment starts as unexplained."""

    payments: Payments
    books: Books
    rules: RuleSet
    outcome: Words = field(init=False)
    left: Mask = field(init=False)
    reasons: dict[int, Reason] = field(default_factory=dict)
    codes: dict[int, list[Code]] = field(default_factory=dict)
    paid: Ints = field(init=False)
    reopened: Ints = field(init=False)
    adjusted: Ints = field(init=False)
    forbidden: set[tuple[int, int]] = field(default_factory=set)
    accepted: dict[int, int] = field(default_factory=dict)
    written_off: list[tuple[int, int]] = field(default_factory=list)
    bulk: list[tuple[Indices, Indices, Ints, Ints]] = field(default_factory=list)
    single: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    unsearched: dict[int, dict[str, str]] = field(default_factory=dict)
    given_back: dict[Reversal, int] = field(default_factory=dict)
    went_back: dict[int, list[tuple[Reversal, int]]] = field(default_factory=dict)
    # What a complement says a payment paid of a document.
    parts: dict[tuple[int, int], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.outcome = np.full(len(self.payments), str(Outcome.UNEXPLAINED), dtype=object)
        self.left = np.ones(len(self.payments), dtype=bool)
        self.paid = np.zeros(len(self.books), dtype=np.int64)
        self.reopened = np.zeros(len(self.books), dtype=np.int64)
        self.adjusted = np.zeros(len(self.books), dtype=np.int64)

    def balances(self) -> Ints:
        """Return the balance of every document: its total less notes and payments, plus what of these went back."""
        books = self.books
        return books.total - books.credited - self.adjusted - self.paid + self.reopened

    def balance(self, doc: int) -> int:
        books = self.books
        taken = books.credited[doc] + self.adjusted[doc] + self.paid[doc] - self.reopened[doc]
        return int(books.total[doc] - taken)

    def open_now(self) -> Ints:
        """Return the open balance of every document that can be paid; zero for all others."""
        is_open = self.books.is_claim & ~self.books.is_void
        return np.where(is_open, np.maximum(self.balances(), 0), 0)

    def is_left(self) -> Mask:
        """Return which payments no stage has decided yet."""
        return self.left.copy()

    def net_paid(self, doc: int, at: int = LATEST) -> int:
        """Return what is paid on a document, less what went back before a moment."""
        back = sum(amount for reversal, amount in self.went_back.get(doc, ()) if reversal.at <= at)
        return int(self.paid[doc]) + int(self.adjusted[doc]) - back

    def open_at(self, doc: int, payment: int) -> int:
        """Return the balance a payment finds: notes written before its day, what went back before its moment."""
        credited = self.books.sum_notes_before(doc, int(self.payments.day[payment]))
        return int(self.books.total[doc]) - credited - self.net_paid(doc, int(self.payments.moment[payment]))

    def is_open_for(self, doc: int, payment: int) -> bool:
        """Return whether a document asked for money when a payment came, and was not opened again only later."""
        return doc not in self.went_back or self.open_at(doc, payment) > 0

    def is_equal(self, doc: int, payment: int) -> bool:
        """Return whether a payment equals the open balance, before or after the notes of its own day or later ones.

        A note may put right beforehand what a payment does, or be dated the same day; either way both agree.
        """
        amount, found = int(self.payments.amount[payment]), self.open_at(doc, payment)
        if found == amount:
            return True
        if doc not in self.books.notes:
            return False
        before = self.books.sum_notes_before(doc, int(self.payments.day[payment]))
        same_day = self.books.sum_notes_before(doc, int(self.payments.day[payment]) + 1)
        everything = int(self.books.credited[doc])
        return found > 0 and amount in (found + before - same_day, found + before - everything)

    def are_equal(self, docs: Indices, payments: Indices) -> Mask:
        """Return `is_equal` of many pairs at once; only what notes or reversals changed is compared one by one."""
        books = self.books
        equal: Mask = books.total[docs] - self.paid[docs] - self.adjusted[docs] == self.payments.amount[payments]
        for place in np.flatnonzero(np.isin(docs, [*books.notes, *self.went_back])):
            equal[place] = self.is_equal(int(docs[place]), int(payments[place]))
        return equal

    def decide(self, payment: int, outcome: Outcome, reason: Reason, *codes: Code) -> None:
        self.outcome[payment] = str(outcome)
        self.left[payment] = False
        self.reasons[payment] = reason
        if codes:
            self.codes[payment] = list(codes)

    def undo(self, payment: int) -> None:
        """Take back a decision that applied no amount."""
        self.outcome[payment] = str(Outcome.UNEXPLAINED)
        self.left[payment] = True
        self.reasons.pop(payment, None)
        self.codes.pop(payment, None)

    def apply(self, payment: int, doc: int, amount: int, *, difference: int = 0) -> None:
        """Apply an amount of a payment to a document; what went back of the payment opens the document again."""
        self.paid[doc] += amount
        self._reopen(payment, doc, amount)
        self.single.append((payment, doc, amount, self.balance(doc), difference))

    def match_exactly(self, payments: Indices, docs: Indices, reason: Reason) -> None:
        """Match many payments at once, each with a document of exactly its amount; no document occurs twice."""
        if len(payments) == 0:
            return
        amounts = self.payments.amount[payments]
        self.paid[docs] += amounts
        self.outcome[payments] = str(Outcome.MATCHED)
        self.left[payments] = False
        self.reasons.update(zip(payments.tolist(), repeat(reason)))
        for place in np.flatnonzero(np.isin(payments, list(self.payments.reversals))):
            self._reopen(int(payments[place]), int(docs[place]), int(amounts[place]))
        self.bulk.append((payments, docs, amounts, self.balances()[docs]))

    def leave_unsearched(self, payment: int, what: str, why: Message) -> None:
        """Note of what there was too much to search."""
        self.unsearched.setdefault(payment, {})[what] = why.to_text()

    def leave_rest(self) -> None:
        """Decide every payment that is left: it has no document."""
        reason = Reason(Stage.NONE, "none:nothing")
        for payment in np.flatnonzero(self.is_left()).tolist():
            self.decide(payment, Outcome.NO_DOCUMENT, reason, Code.PAYMENT_NO_INVOICE)

    def accept_rests(self) -> None:
        """Close what people accepted, once all else is applied; what disputes that were lost later took stays open."""
        for doc, amount in self.written_off:
            self.adjusted[doc] += amount
        for doc, at in sorted(self.accepted.items()):
            self.adjusted[doc] += self.balance(doc) - self._sum_lost_since(doc, at)

    def _sum_lost_since(self, doc: int, at: int) -> int:
        """Return what disputes lost after a moment left open: what they took back less what was paid after them."""
        lost = [(one.at, amount) for one, amount in self.went_back.get(doc, ()) if one.is_dispute and one.at > at]
        if not lost:
            return 0
        applied = self.applications()
        own = applied[applied["doc"] == doc]
        is_later = self.payments.moment[own["payment"].to_numpy()] > min(lost)[0]
        left = sum(amount for _, amount in lost) - int(own["applied"].to_numpy()[is_later].sum())
        return max(0, min(left, self.balance(doc)))

    def _reopen(self, payment: int, doc: int, amount: int) -> None:
        rest = amount
        for reversal in self.payments.reversals.get(payment, ()):
            given = self.given_back.get(reversal, 0)
            back = min(rest, reversal.amount - given)
            if back > 0:
                self.went_back.setdefault(doc, []).append((reversal, back))
                self.given_back[reversal] = given + back
                self.reopened[doc] += back
                rest -= back

    def applications(self) -> DataFrame:
        """Return every amount applied: payment, document, amount, balance after it and difference shown."""
        names = ["payment", "doc", "applied", "balance_after", "difference"]
        many = [DataFrame(dict(zip(names, (*chunk, 0), strict=True))) for chunk in self.bulk]
        return pd.concat([DataFrame(self.single, columns=names, dtype="int64"), *many], ignore_index=True)
