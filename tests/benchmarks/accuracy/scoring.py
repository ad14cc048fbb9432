"""What a reconciliation got right, wrong and left open, held against the sandbox's truth and nothing of ours."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from reconcile.rules.inputs import Inputs, Result
from sandbox.state.happening import Truth

AUTOMATIC = ("matched", "matched_with_difference", "partial", "set", "interchangeable")
PAYMENTS = {"payment", "charge"}
SUBJECTS = {"payment": "resource", "charge": "resource", "refund": "resource", "document": "document",
            "payout": "payout", "transfer": "transfer", "dispute": "dispute", "bank_day": "bank"}  # fmt: skip
# The truth knows the last digits of an account, not our digest of its number.
DIGEST = re.compile(r"^(bank:\d{4})-[0-9a-f]{4}:")
NONE = "none"
Row = dict[str, Any]
WRONG_COSTS = 20
Z = 1.959964


def wilson(right: int, of: int) -> tuple[float, float]:
    """Give the 95 % interval of a share by Wilson's formula."""
    if of == 0:
        return (0.0, 1.0)
    share, square = right / of, Z * Z
    middle = (share + square / (2 * of)) / (1 + square / of)
    spread = Z * math.sqrt(share * (1 - share) / of + square / (4 * of * of)) / (1 + square / of)
    return (max(0.0, middle - spread), min(1.0, middle + spread))


@dataclass
class Shape:
    """Payments of one true outcome: how many, called so, and linked with exactly the right documents."""

    n: int = 0
    outcome: int = 0
    links: int = 0


@dataclass
class Score:
    """Counts that add up over seeds."""

    payments: int = 0
    automatic_pairs: int = 0
    right_pairs: int = 0
    true_pairs: int = 0
    all_pairs: int = 0
    undecidable: int = 0
    undecidable_matched: int = 0
    suggested: int = 0
    suggested_right: int = 0
    automatic_amount: int = 0
    right_amount: int = 0
    true_amount: int = 0
    utility: int = 0
    by_hand: int = 0
    payouts: int = 0
    residual_explained: int = 0
    explanations: int = 0
    explanations_true: int = 0
    documents: int = 0
    documents_right: int = 0
    subjects: int = 0
    at_risk_right: int = 0
    shapes: dict[str, Shape] = field(default_factory=dict)
    codes: Counter[tuple[str, str]] = field(default_factory=Counter)
    misses: list[str] = field(default_factory=list)

    def add(self, other: "Score") -> None:
        for name, value in vars(other).items():
            if isinstance(value, int):
                setattr(self, name, getattr(self, name) + value)
        for word, shape in other.shapes.items():
            mine = self.shapes.setdefault(word, Shape())
            mine.n, mine.outcome, mine.links = mine.n + shape.n, mine.outcome + shape.outcome, mine.links + shape.links
        self.codes += other.codes
        self.misses += other.misses

    @property
    def precision(self) -> float:
        return self.right_pairs / self.automatic_pairs if self.automatic_pairs else 1.0

    @property
    def recall(self) -> float:
        return self.right_pairs / self.true_pairs if self.true_pairs else 1.0

    def of_code(self, code: str) -> tuple[int, int, int]:
        """Give right, found and true of one code."""
        right = self.codes[code, code]
        found = sum(count for (_, said), count in self.codes.items() if said == code)
        true = sum(count for (was, _), count in self.codes.items() if was == code)
        return right, found, true

    def named_codes(self) -> list[str]:
        return sorted({code for pair in self.codes for code in pair if code != NONE})


def score(result: Result, inputs: Inputs, truth: Iterable[Truth], label: str) -> Score:
    """Hold one result against the truth of its moment."""
    rows, total = list(truth), Score()
    linked, said = linked_documents(result), _said(result)
    amounts = dict(zip(inputs.items["resource_id"], inputs.items["amount"].astype(int), strict=True))
    for row in rows:
        if row.kind in PAYMENTS:
            _score_payment(total, row, linked, said, amounts[row.id], label)
        elif row.kind == "document":
            found = said["document", row.id]
            total.documents += 1
            total.documents_right += found == row.outcome
            if found != row.outcome:
                total.misses.append(f"{label} document {row.id}: {row.outcome} but called {found}")
    _score_codes(total, rows, result, label)
    _score_payouts(total, rows, result)
    _score_explanations(total, result, inputs)
    return total


def linked_documents(result: Result) -> dict[str, set[str]]:
    lines = result.lines
    shown = lines[lines["applied_amount"].notna() & (lines["match_rule"] != "second_payout")]
    shown = shown[shown["outcome"].isin(AUTOMATIC)]
    linked: dict[str, set[str]] = {}
    for resource, doc in zip(shown["resource_id"], shown["doc_key"], strict=True):
        linked.setdefault(resource, set()).add(doc)
    return linked


def _said(result: Result) -> dict[tuple[str, str], str]:
    lines = result.lines
    own = lines[(lines["match_rule"].fillna("") != "second_payout") & (lines["line"] == 1)]
    kinds = own["resource_type"].isin(["payment_intent", "charge"])
    said = {("payment", key): word for key, word in zip(own[kinds]["resource_id"], own[kinds]["outcome"], strict=True)}
    documents = result.documents
    said |= {("document", key): word for key, word in zip(documents["doc_key"], documents["outcome"], strict=True)}
    offered = own[own["outcome"] == "suggested"]
    return said | {("suggested", key): doc for key, doc in zip(offered["resource_id"], offered["doc_key"], strict=True)}


def _score_payment(
    total: Score, row: Truth, linked: dict[str, set[str]], said: dict[tuple[str, str], str], amount: int, label: str
) -> None:
    documents = {link for link in row.links if ":" in link}
    true = documents if row.outcome in AUTOMATIC and row.decidable else set()
    found, word = linked.get(row.id, set()), said["payment", row.id]
    right = len(found & true)
    total.payments += 1
    total.automatic_pairs, total.right_pairs = total.automatic_pairs + len(found), total.right_pairs + right
    total.true_pairs, total.all_pairs = total.true_pairs + len(true), total.all_pairs + len(documents)
    total.automatic_amount += amount if found else 0
    total.right_amount += amount if found and found <= true else 0
    total.true_amount += amount if true else 0
    if not row.decidable:
        total.undecidable += 1
        total.undecidable_matched += bool(found)
    if word == "suggested":
        total.suggested += 1
        total.suggested_right += said["suggested", row.id] in documents
    is_right = bool(found) and found == true
    total.utility += 1 if is_right else (-WRONG_COSTS if found - true else 0)
    total.by_hand += word in {"ambiguous", "suggested", "no_document"}
    shape = total.shapes.setdefault(row.outcome if row.decidable else f"{row.outcome} (undecidable)", Shape())
    shape.n, shape.outcome, shape.links = (
        shape.n + 1,
        shape.outcome + (word == row.outcome),
        shape.links + (found == true),
    )
    if word != row.outcome or found != true:
        total.misses.append(f"{label} {row.id}: {row.outcome} {sorted(true)} but called {word} {sorted(found)}")


def _score_codes(total: Score, rows: list[Truth], result: Result, label: str) -> None:
    found: dict[str, dict[str, int]] = {}
    for finding in result.findings:
        codes = found.setdefault(DIGEST.sub(r"\1:", finding.subject.split("@", maxsplit=1)[0]), {})
        codes[finding.code] = codes.get(finding.code, 0) + finding.amount_at_risk
    for row in rows:
        if row.kind not in SUBJECTS:
            continue
        codes = found.pop(f"{SUBJECTS[row.kind]}:{row.id}", {})
        true = set(row.exceptions)
        total.codes.update((code, code) for code in true & set(codes))
        missed, extra = sorted(true - set(codes)), sorted(set(codes) - true)
        for place in range(max(len(missed), len(extra))):
            was = missed[place] if place < len(missed) else NONE
            said = extra[place] if place < len(extra) else NONE
            total.codes[was, said] += 1
            total.misses.append(f"{label} {row.kind} {row.id}: {was} but called {said}")
        if true:
            total.subjects += 1
            total.at_risk_right += sum(codes.values()) == row.amount_at_risk
    for subject, codes in found.items():
        for code in codes:
            total.codes[NONE, code] += 1
            total.misses.append(f"{label} {subject}: none but called {code}")


def _score_payouts(total: Score, rows: list[Truth], result: Result) -> None:
    short = {f.payout_id: f.amount_at_risk for f in result.findings if f.code == "PAYOUT_IDENTITY"}
    differences = dict(zip(result.payouts["payout_id"], result.payouts["difference"].astype(int), strict=True))
    for row in rows:
        if row.kind == "payout":
            total.payouts += 1
            total.residual_explained += abs(differences[row.id]) == short.get(row.id, 0)


def _score_explanations(total: Score, result: Result, inputs: Inputs) -> None:
    """Check the stated reason of every automatic match again, on the raw inputs and with rules written anew."""
    items = {row["resource_id"]: row for row in plain_rows(inputs.items)}
    documents = {row["doc_key"]: row for row in plain_rows(inputs.documents)}
    lines = result.lines[result.lines["applied_amount"].notna() & result.lines["outcome"].isin(AUTOMATIC)]
    lines = lines[lines["match_rule"] != "second_payout"]
    groups: dict[str, list[Row]] = {}
    for line in plain_rows(lines[["resource_id", "match_rule", "doc_key", "applied_amount"]]):
        groups.setdefault(line["resource_id"], []).append(line)
    for resource, group in groups.items():
        rule, applied = str(group[0]["match_rule"]), sum(int(line["applied_amount"]) for line in group)
        holds = is_reason_true(rule, items[resource], [documents[line["doc_key"]] for line in group], applied)
        total.explanations += 1
        total.explanations_true += holds
        if not holds:
            total.misses.append(f"{resource}: the reason {rule} does not hold")


def plain_rows(frame: pd.DataFrame) -> list[Row]:
    rows: Any = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return list(rows)


def is_reason_true(rule: str, payment: Row, documents: list[Row], applied: int) -> bool:
    """Tell whether a rule's words hold of the rows it names."""
    stage, _, rest = rule.partition(":")
    amount = int(payment["amount"])
    payer = payment["customer_tax_id"] or payment["sender_tax_id"]
    if stage == "key":
        return all(_bears_key(rest.split(":")[0], payment, row) for row in documents)
    if stage == "reference":
        words = _squeezed(payment["texts"])
        keys = ("folio", "order_ref", "uuid")
        named = all(any(_squeezed(row[key]) and _squeezed(row[key]) in words for key in keys) for row in documents)
        return named and applied == amount
    if stage == "customer":
        return applied == amount and all(row["customer_tax_id"] == payer for row in documents)
    if stage == "set":
        owners = {row["customer_tax_id"] for row in documents}
        return applied == amount and owners == {payer} and len(documents) == int(rest.split(":")[0])
    return False


def _bears_key(names: str, payment: Row, document: Row) -> bool:
    metadata = json.loads(payment["metadata"])
    borne = {str(document[name]).upper() for name in ("order_ref", "uuid", "folio") if document[name] is not None}
    borne |= {str(document["doc_key"]).upper()} | {value.lstrip("0") for value in borne}
    said = {str(metadata[name]).strip().upper() for name in names.split("+") if name in metadata}
    # A void or credited document is followed to the one that refers to it, which bears another name.
    return bool(said) and (bool(said & borne | {value.lstrip("0") for value in said} & borne)
                           or document["ref_number"] is not None)  # fmt: skip


def _squeezed(text: Any) -> str:
    return "".join(sign for sign in str(text).upper() if sign.isalnum()).replace("O", "0") if text is not None else ""
