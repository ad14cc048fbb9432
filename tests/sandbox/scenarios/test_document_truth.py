"""Documents and refunds of the scenarios: balances added up again from payments, notes and refunds."""

from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from sandbox.scenarios.damages import SWITCHABLE
from sandbox.state.happening import Truth, WholeScenario

Builder = Callable[[str, int, float], WholeScenario]
ZONES = {"cl": ZoneInfo("America/Santiago"), "mx": ZoneInfo("America/Mexico_City")}
NOTES = {"61", "E"}
APPLYING = {"matched", "matched_with_difference", "partial", "set", "interchangeable"}
NAMED = [("busy-month", 1), ("busy-month", 2), ("mexico", 1), ("stress", 1), ("month-end", 1),
         ("stream/cl/stress", 1), ("stream/mx/base", 1)]  # fmt: skip
MOMENTS = [datetime(2026, 10, 1, 3, tzinfo=UTC) + timedelta(days=n) for n in (0, 9, 16, 31, 34)]


def doc_key(row: dict[str, str]) -> str:
    return f"mx:uuid:{row['uuid']}" if row["uuid"] else f"cl:{row['doc_type']}:{row['series']}:{row['folio']}"


def minor(row: dict[str, str]) -> int:
    return int(row["total"].replace(".", ""))


def amounts_of(scenario: WholeScenario) -> dict[str, int]:
    kinds = {"payment_intents", "refunds", "charges"}
    return {h.object["id"]: h.object["amount"] for h in scenario.happenings if h.collection in kinds}


def paid_by_document(scenario: WholeScenario, truth: list[Truth], totals: dict[str, int]) -> dict[str, int]:
    amounts = amounts_of(scenario)
    paid: dict[str, int] = defaultdict(int)
    for row in truth:
        keys = [link for link in row.links if ":" in link] if row.outcome in APPLYING else []
        for key in keys if row.kind in {"payment", "charge"} else []:
            amount = totals[key] if len(keys) > 1 else amounts[row.id]
            paid[key] += totals[key] if abs(amount - totals[key]) == 1 else amount
    return paid


def standing(row: dict[str, str], *, paid: int, credited: int, today: date) -> tuple[str, int]:
    """Outcome and balance of a document that is not a note."""
    balance = minor(row) - credited - paid
    if row["status"] == "void":
        return "void", 0
    if credited >= minor(row):
        return "credited", 0
    if balance <= 0:
        return ("overpaid" if balance < 0 else "paid"), 0
    issued = date.fromisoformat(row["issue_date"])
    due = date.fromisoformat(row["due_date"]) if row["due_date"] else issued + timedelta(days=30)
    if today > due:
        return "overdue", balance
    return ("partly_paid" if paid > 0 else "open_not_due"), 0


@pytest.mark.parametrize(("name", "seed"), NAMED)
@pytest.mark.parametrize("at", MOMENTS)
def test_every_document_stands_where_its_payments_notes_and_refunds_put_it(
    scenario: Builder, name: str, seed: int, at: datetime
) -> None:
    """Outcome and the balance at risk, added up a second time."""
    assert_documents_stand(scenario(name, seed, 1.0), at)


@pytest.mark.parametrize("damage", SWITCHABLE)
def test_each_damage_alone_leaves_every_document_where_its_payments_put_it(scenario: Builder, damage: str) -> None:
    """Added up a second time in the middle of the trade and at its end."""
    for at in (MOMENTS[2], MOMENTS[4]):
        assert_documents_stand(scenario(f"quiet-month+{damage}", 3, 0.3), at)


def assert_documents_stand(built: WholeScenario, at: datetime) -> None:
    truth = built.truth(at)
    rows = {doc_key(d.row): d.row for d in built.documents if d.known_at <= at}
    paid = paid_by_document(built, truth, {key: minor(row) for key, row in rows.items()})
    done = {h.object["id"] for h in built.happenings if h.event == "refund.succeeded" and h.at <= at}
    amounts = amounts_of(built)
    for refund in (row for row in truth if row.kind == "refund" and row.id in done):
        paid[refund.links[0]] -= amounts[refund.id]
    lost = [h.object for h in built.happenings if h.event in {"dispute.lost", "dispute.expired"} and h.at <= at]
    paid_by = {row.id: row.links[0] for row in truth if row.kind == "payment" and row.outcome in APPLYING}
    for case in lost:
        paid[paid_by[case["resource_id"]]] -= case["amount"]
    credited: dict[str, int] = defaultdict(int)
    for row in rows.values():
        if row["doc_type"] in NOTES:
            sale = f"mx:uuid:{row['ref_number']}" if row["uuid"] else f"cl:{row['ref_type']}::{row['ref_number']}"
            credited[sale] += minor(row)
    today = at.astimezone(ZONES[built.country]).date()
    expected = {
        key: standing(row, paid=paid[key], credited=credited[key], today=today)
        for key, row in rows.items()
        if row["doc_type"] not in NOTES
    }
    found = {row.id: (row.outcome, row.amount_at_risk) for row in truth if row.kind == "document"}
    assert {key: found[key] for key in expected} == expected
    assert found.keys() == rows.keys()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_refunds_and_notes_that_lack_each_other_are_the_named_ones(scenario: Builder, seed: int) -> None:
    """A succeeded refund of a sale without a note, and a note on a paid sale without a refund."""
    built, at = scenario("busy-month", seed, 1.0), datetime(2026, 11, 4, 3, tzinfo=UTC)
    truth, known = built.truth(at), [d for d in built.documents if d.known_at <= at]
    notes = {(f"cl:33::{d.row['ref_number']}", doc_key(d.row)) for d in known if d.row["doc_type"] == "61"}
    done = {h.object["id"] for h in built.happenings if h.event == "refund.succeeded" and h.at <= at}
    given_back = {row.links[0]: row.id for row in truth if row.kind == "refund" and row.id in done}
    settled = {link for row in truth if row.kind == "payment" and row.outcome in APPLYING for link in row.links}
    noted = {sale for sale, _ in notes}
    lonely_refunds = {refund for sale, refund in given_back.items() if sale not in noted}
    full = {doc_key(d.row): d.row["total"] for d in known}
    lonely_notes = {
        note for sale, note in notes if sale in settled and sale not in given_back and full[sale] == full[note]
    }
    assert {row.id for row in truth if "REFUND_NO_CREDIT_NOTE" in row.exceptions} == lonely_refunds
    assert {row.id for row in truth if "CREDIT_NOTE_NO_REFUND" in row.exceptions} == lonely_notes
