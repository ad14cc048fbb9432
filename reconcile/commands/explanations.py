"""Why a row is what it is: what the run published of it, and a payment compared with documents it could have meant."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from textwrap import wrap

from pandas import DataFrame
from sqlmodel import Session

from consumer.facts.bankdays import BankCalendar
from consumer.facts.names import KEY, name_key
from reconcile.commands.printed import to_words
from reconcile.fiscal.families import facts_of_family
from reconcile.kept import chunks, records, snapshots, whole
from reconcile.kept.records import Fact
from reconcile.rules.cross_checks import Check, check_pair, choose_candidates, name_first_failed
from reconcile.rules.inputs import PAYMENT_TYPES, Inputs, rows_of
from reconcile.rules.outcomes import Failure, Stage
from reconcile.tables.runs import Run

_WIDTH, _INDENT, _NAME = 100, 2, 26
# In the place of a document's key: decisions about the payment as such.
_ANY_DOCUMENT = ""
_DECIDED = {
    ("decline", True): Failure.DECLINED.value,
    ("unmatch", True): "kept apart by a person",
    ("unmatch", False): "kept unmatched by a person",
    ("adjust", False): "accepted without a document by a person",
}


def explain(session: Session, data_dir: Path, run: Run, identity: str, calendar: BankCalendar) -> Iterator[Fact]:
    """Everything known about a payout, a resource or a document, fact by fact; payments also test by test."""
    facts = [*records.explanation(session, run, identity), *facts_of_family(session, run.connection, identity)]
    yield from facts
    if not any(fact.about == f"item {identity}" for fact in facts):
        return
    try:
        yield from _compare(session, whole.read(session, data_dir, run).inputs, run, identity, calendar)
    except snapshots.SnapshotError as problem:
        yield Fact(f"item {identity}", "compared", f"not again: {problem}")


def _compare(session: Session, inputs: Inputs, run: Run, identity: str, calendar: BankCalendar) -> Iterator[Fact]:
    items, rules, documents = inputs.items, inputs.rules, inputs.documents
    mine = items[(items["resource_id"] == identity) & items["resource_type"].isin(PAYMENT_TYPES)]
    if mine.empty:
        return
    item = rows_of(mine)[0]
    applied: dict[str, int] = {}
    borrowed: dict[str, str] = {}
    for line in chunks.find_lines(session, run, "resource_id", identity):
        if line["doc_key"] and line["applied_amount"]:
            applied[line["doc_key"]] = applied.get(line["doc_key"], 0) + int(line["applied_amount"])
            if line["match_stage"] == Stage.PAYER:
                borrowed[line["doc_key"]] = line["match_rule"].split(":")[1]
    decided = _read_decisions(inputs.decisions, identity)
    chosen = choose_candidates(item, documents, rules)
    missing = [key for key in applied if key not in set(chosen["doc_key"])]
    for document in [*rows_of(documents[documents["doc_key"].isin(missing)]), *rows_of(chosen)]:
        result = chunks.find_document(session, run, document.doc_key)
        own = applied.get(document.doc_key, 0)
        balance = int(result["balance"]) + own if result is not None else int(document.total)
        asked = check_pair(item, document, balance=balance, rules=rules, calendar=calendar)
        checks = [_name_payer(check, borrowed.get(document.doc_key)) for check in asked]
        about = f"compared with {document.doc_key}" + (" (applied)" if own else "")
        word = None if own else decided.get(document.doc_key, decided.get(_ANY_DOCUMENT))
        yield Fact(about, "first_failed", word or name_first_failed(checks))
        yield from (Fact(about, check.name, str(check)) for check in checks)


def _name_payer(check: Check, number: str | None) -> Check:
    """Let the customer agree where an accepted rule counts the payer as that customer, and name the rule."""
    if number is None or check.name != "customer":
        return check
    named = f"{check.payment} (counts as {check.document} by payers' rule {number})"
    return replace(check, payment=named, holds=True)


def _read_decisions(decisions: DataFrame, identity: str) -> dict[str, str]:
    """Say in words what people decided against documents of a payment, the last word about each of them."""
    mine = decisions[decisions["resource_id"] == identity].sort_values("decision_id")
    said = {row.doc_key if isinstance(row.doc_key, str) else _ANY_DOCUMENT: row.kind for row in rows_of(mine)}
    return {key: _DECIDED[kind, bool(key)] for key, kind in said.items() if (kind, bool(key)) in _DECIDED}


def lines_for_people(facts: Iterable[Fact]) -> Iterator[str]:
    """Set facts under what they are about, no line wider than a terminal."""
    for place, (about, own) in enumerate(groupby(facts, key=attrgetter("about"))):
        yield from ["", _name_about(about)] if place else [_name_about(about)]
        for fact in own:
            first, *rest = wrap(to_words(fact), _WIDTH - _INDENT - _NAME, break_on_hyphens=False) or [""]
            yield f"{'':{_INDENT}}{fact.name:<{_NAME - 1}} {first}"
            yield from (f"{'':{_INDENT + _NAME}}{line}" for line in rest)


def _name_about(about: str) -> str:
    """Add to what facts are about the name of the document in it."""
    found = KEY.search(about)
    return f"{about}: {name_key(found.group(), 'en')}" if found else about
