"""The planned verdict of every payment, against rules.md applied by brute force to what the world shows."""

import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import cache, cached_property
from itertools import combinations
from typing import Any

import pytest

from sandbox.scenarios.calendar import add_bank_days
from sandbox.scenarios.damages import SWITCHABLE
from sandbox.state.happening import WholeScenario

MOMENTS = (
    datetime(2026, 10, 1, 3, tzinfo=UTC),
    datetime(2026, 10, 17, 3, tzinfo=UTC),
    datetime(2026, 11, 4, 3, tzinfo=UTC),
)
PLACES = {"CLP": 0, "MXN": 2, "USD": 2, "CLF": 4}
KEY_NAMES = ("order_ref", "order_id", "uuid", "invoice")
Answer = tuple[str, tuple[str, ...], str | None]


@dataclass
class Doc:
    """A row of the books as the brute force reads it."""

    key: str
    row: dict[str, str]
    total: int
    balance: int
    notes: list[tuple[datetime, int]] = field(default_factory=list)

    @cached_property
    def names(self) -> set[str]:
        """Every text that means it."""
        return {self.key, self.row["order_ref"].lower(), self.row["uuid"] or "-"}


@dataclass
class Paid:
    """A payment as the brute force reads it."""

    id: str
    at: datetime
    amount: int
    currency: str
    tax_id: str
    metadata: dict[str, str]
    words: set[str]


def minor(text: str, currency: str) -> int:
    whole, _, cents = text.partition(".")
    return int(whole) * int(10 ** PLACES[currency]) + int(cents or "0")


@cache
def plain(tax_id: str) -> str:
    return re.sub(r"[^0-9A-ZÑ&]", "", tax_id.upper())


def read_docs(scenario: WholeScenario, at: datetime) -> dict[str, Doc]:
    docs: dict[str, Doc] = {}
    notes = []
    for document in scenario.documents:
        row = document.row
        if document.known_at > at:
            continue
        key = f"mx:uuid:{row['uuid']}" if row["uuid"] else f"cl:{row['doc_type']}:{row['series']}:{row['folio']}"
        total = minor(row["total"], row["currency"])
        if row["doc_type"] in {"61", "E"}:
            notes.append((document.known_at, total, row))
        else:
            docs[key] = Doc(key, row, total, total)
    for known_at, total, row in notes:
        ref = row["ref_number"]
        sale = docs[f"mx:uuid:{ref}" if row["uuid"] else f"cl:{row['ref_type']}::{ref}"]
        sale.notes.append((known_at, total))
    return docs


def read_payments(scenario: WholeScenario, at: datetime) -> list[Paid]:
    tax_ids = {h.object["id"]: h.object["tax_id"]["value"] for h in scenario.happenings if h.collection == "customers"}
    events = {"payment_intent.succeeded", "charge.succeeded"}
    seen = [h for h in scenario.happenings if h.event in events and h.object["mode"] == "test"]
    return [to_paid(h.object, h.at, tax_ids) for h in seen if h.at <= at]


def to_paid(intent: dict[str, Any], at: datetime, tax_ids: dict[str, str]) -> Paid:
    sender = (intent.get("sender_account") or {}).get("holder_id", "")
    tax_id = tax_ids[intent["customer"]] if intent.get("customer") else sender
    texts = f"{intent.get('comment') or ''} {intent.get('reference_id') or ''}"
    words = set(texts.split()) | set(re.split(r"[^0-9A-Za-z]+", texts))
    return Paid(intent["id"], at, intent["amount"], intent["currency"], plain(tax_id), intent["metadata"], words - {""})


def named(paid: Paid, docs: dict[str, Doc]) -> Doc | None:
    """The one document the metadata name."""
    wanted = {paid.metadata[name].lower() for name in KEY_NAMES if name in paid.metadata}
    if not wanted and "folio" not in paid.metadata:
        return None
    found = [
        d for d in docs.values()
        if wanted & d.names
        or (paid.metadata.get("folio") == d.row["folio"]
            and paid.metadata.get("doc_type", d.row["doc_type"]) == d.row["doc_type"])
    ]  # fmt: skip
    assert len(found) <= 1
    return found[0] if found else None


def in_window(paid: Paid, doc: Doc) -> bool:
    issue = date.fromisoformat(doc.row["issue_date"])
    due = date.fromisoformat(doc.row["due_date"]) if doc.row["due_date"] else issue + timedelta(days=30)
    country = "mx" if doc.row["uuid"] else "cl"
    return add_bank_days(issue, -3, country) <= paid.at.date() <= add_bank_days(due, 10, country)


def judge_named(paid: Paid, doc: Doc, docs: dict[str, Doc]) -> Answer:
    """The rows of the table that begin with a key."""
    credited = sum(total for known_at, total in doc.notes if known_at < paid.at)
    rest = doc.balance - credited
    buyer = plain(doc.row["customer_tax_id"])
    strangers = bool(paid.tax_id and buyer and paid.tax_id != buyer)
    if paid.currency != doc.row["currency"]:
        return ("no_document", (), "CURRENCY_DIFF")
    if doc.row["status"] == "void" or credited >= doc.total:
        return judge_dead(paid, doc, docs)
    if rest <= 0:
        return ("duplicate", (), "DUPLICATE_PAYMENT")
    if paid.amount == rest:
        return settle(doc, paid, "matched", "CUSTOMER_DIFF" if strangers else None)
    if strangers:
        return ("no_document", (), "PAYMENT_NO_INVOICE")
    if any(d is not doc and d.balance == paid.amount and plain(d.row["customer_tax_id"]) == buyer != ""
           and d.row["status"] == "valid" for d in docs.values()):  # fmt: skip
        return ("ambiguous", (), "AMBIGUOUS")
    if abs(paid.amount - rest) == 1:
        doc.balance -= rest
        return ("matched_with_difference", (doc.key,), None)
    if paid.amount > rest:
        return settle(doc, paid, "matched_with_difference", "AMOUNT_DIFF")
    small = (rest - paid.amount) * 100 <= 15 * doc.total
    declared = "installments" in paid.metadata or doc.row["payment_method"] == "PPD"
    return settle(doc, paid, "partial", "AMOUNT_DIFF" if small and not declared else None)


def settle(doc: Doc, paid: Paid, outcome: str, code: str | None) -> Answer:
    doc.balance -= paid.amount
    return (outcome, (doc.key,), code)


def judge_dead(paid: Paid, doc: Doc, docs: dict[str, Doc]) -> Answer:
    heirs = [
        d for d in docs.values()
        if d.row["ref_number"] in {doc.row["folio"], doc.row["uuid"] or "-"} and d.total == doc.total
        and d.row["customer_tax_id"] == doc.row["customer_tax_id"] and d.row["status"] == "valid"
    ]  # fmt: skip
    return settle(heirs[0], paid, "matched", None) if len(heirs) == 1 else ("no_document", (), "PAID_CANCELLED_DOC")


def judge_all(scenario: WholeScenario, at: datetime) -> dict[str, Answer]:
    """Every payment by the first row of the table that applies."""
    docs, paid = read_docs(scenario, at), read_payments(scenario, at)
    answers: dict[str, Answer] = {}
    keyed = [(p, d) for p in paid if (d := named(p, docs)) is not None]
    for p, d in sorted(keyed, key=lambda pair: (pair[0].amount != pair[1].total, pair[0].at)):
        answers[p.id] = judge_named(p, d, docs)
    rest = [p for p in paid if p.id not in answers]
    for stage in (by_reference, by_customer, by_set, by_amount):
        stage(rest, docs, answers)
        rest = [p for p in rest if p.id not in answers]
    return answers | {p.id: ("no_document", (), "PAYMENT_NO_INVOICE") for p in rest}


def open_docs(docs: dict[str, Doc]) -> list[Doc]:
    return [d for d in docs.values() if d.row["status"] == "valid" and sum(t for _, t in d.notes) < d.total]


def by_reference(rest: list[Paid], docs: dict[str, Doc], answers: dict[str, Answer]) -> None:
    opened = open_docs(docs)
    for paid in rest:
        equal = [d for d in opened if d.balance == paid.amount]
        said = [d for d in equal if paid.words & {d.row["folio"], d.row["order_ref"]}]
        if len(said) == 1 and (plain(said[0].row["customer_tax_id"]) == paid.tax_id or len(equal) == 1):
            answers[paid.id] = settle(said[0], paid, "matched", None)


def by_customer(rest: list[Paid], docs: dict[str, Doc], answers: dict[str, Answer]) -> None:
    groups: dict[tuple[str, int], list[Paid]] = defaultdict(list)
    for paid in sorted(rest, key=lambda p: p.at):
        if paid.tax_id:
            groups[paid.tax_id, paid.amount].append(paid)
    opened = open_docs(docs)
    for (tax_id, amount), payments in groups.items():
        found = [d for d in opened if d.balance == amount and plain(d.row["customer_tax_id"]) == tax_id]
        assert all(in_window(p, d) for p in payments for d in found), "the plan stays inside the window"
        found.sort(key=lambda d: d.row["due_date"])
        outcome = "matched" if len(found) == len(payments) == 1 else "interchangeable"
        for paid, doc in zip(payments, found, strict=False):
            answers[paid.id] = settle(doc, paid, outcome, None)


def by_set(rest: list[Paid], docs: dict[str, Doc], answers: dict[str, Answer]) -> None:
    opened = open_docs(docs)
    for paid in [p for p in rest if p.tax_id]:
        mine = [d for d in opened if paid.tax_id == plain(d.row["customer_tax_id"]) and d.balance > 0]
        assert len(mine) < 30, "small enough to try every set"
        sets = [s for n in range(2, 6) for s in combinations(mine, n) if sum(d.balance for d in s) == paid.amount]
        if not sets:
            continue
        if len(sets) > 1:
            answers[paid.id] = ("ambiguous", (), "AMBIGUOUS")
            continue
        answers[paid.id] = ("set", tuple(d.key for d in sets[0]), None)
        for doc in sets[0]:
            doc.balance = 0


def by_amount(rest: list[Paid], docs: dict[str, Doc], answers: dict[str, Answer]) -> None:
    opened = open_docs(docs)
    for paid in rest:
        found = [d for d in opened if d.balance == paid.amount and in_window(paid, d)]
        rivals = [p for p in rest if p.amount == paid.amount]
        if not paid.tax_id and len(found) == 1 and len(rivals) == 1:
            answers[paid.id] = ("suggested", (), "PAYMENT_NO_INVOICE")


SIZES = [
    ("busy-month", 1, 1.0),
    ("busy-month", 2, 1.0),
    ("busy-month", 3, 1.0),
    ("busy-month", 4, 2.0),
    ("mexico", 1, 1.0),
    ("mexico", 2, 1.0),
    ("stress", 1, 1.0),
    ("stress", 2, 2.0),
    ("quiet-month", 1, 1.0),
    ("month-end", 1, 0.5),
    ("chaos", 1, 0.3),
    ("stream/cl/base", 1, 1.0),
    ("stream/cl/stress", 2, 0.3),
    ("stream/mx/base", 1, 1.0),
]


@pytest.mark.parametrize("at", MOMENTS)
@pytest.mark.parametrize(("name", "seed", "scale"), SIZES)
def test_every_verdict_is_the_one_the_rules_give(
    scenario: Callable[[str, int, float], WholeScenario], name: str, seed: int, scale: float, at: datetime
) -> None:
    """Outcome, documents and exception of each payment are what the table of the rules says about visible facts."""
    assert_judged_as_planned(scenario(name, seed, scale), at)


@pytest.mark.parametrize("damage", SWITCHABLE)
def test_each_damage_alone_is_judged_as_it_was_planned(
    scenario: Callable[[str, int, float], WholeScenario], damage: str
) -> None:
    """At its stress rate, with nothing else wrong, the rules find what the plan says."""
    assert_judged_as_planned(scenario(f"quiet-month+{damage}", 3, 0.3), MOMENTS[-1])


def assert_judged_as_planned(built: WholeScenario, at: datetime) -> None:
    judged = judge_all(built, at)
    payout_codes = {"ITEM_IN_NO_PAYOUT", "ITEM_IN_TWO_PAYOUTS", "SPLIT_MISMATCH", "FEE_OUT_OF_BAND"}
    planned = {}
    for row in built.truth(at):
        if row.kind in {"payment", "charge"}:
            code = next((code for code in row.exceptions if code not in payout_codes), None)
            keys = tuple(link for link in row.links if ":" in link) if row.outcome in APPLYING else ()
            planned[row.id] = (row.outcome, tuple(sorted(keys)), code)
    assert {key: (o, tuple(sorted(d)), c) for key, (o, d, c) in judged.items()} == planned


APPLYING = {"matched", "matched_with_difference", "partial", "set", "interchangeable"}
