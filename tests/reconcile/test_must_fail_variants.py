"""A suite that stays green with a rule switched off proves nothing: each variant must make the measurement red."""

import importlib.util
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd
import pytest

from reconcile.rules import candidates, references, sets
from reconcile.rules.inputs import DOCUMENTS, FEES, Inputs, empty_frame, to_types
from reconcile.rules.ledger import Reason
from reconcile.rules.outcomes import Outcome, Stage
from reconcile.rules.pipeline import UnbalancedError, reconcile
from reconcile.rules.references import choose_pairs

ACCURACY = Path(__file__).resolve().parents[1] / "benchmarks" / "accuracy"
Variant = Callable[[Inputs, pytest.MonkeyPatch], Inputs]


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"accuracy_{name}", ACCURACY / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def lived() -> tuple[Inputs, list[Any]]:
    """Trade at stress rates as it arrived, and the sandbox's truth of its last day."""
    merchant = _load("merchant")
    at = merchant.START + timedelta(days=34)
    with merchant.merchant_of("stress", 1) as one:
        one.live_until(at)
        return one.inputs(at), list(one.scenario.truth(at))


def _misses(inputs: Inputs, truth: list[Any]) -> list[str]:
    try:
        result = reconcile(inputs)
    except UnbalancedError as stopped:
        return [str(stopped)]
    found: list[str] = _load("scoring").score(result, inputs, truth, "stress").misses
    return [miss for miss in found if "TRANSFER_RETURNED" not in miss]


def test_the_rules_as_they_are_agree_with_the_truth(lived: tuple[Inputs, list[Any]]) -> None:
    """What the variants below spoil is right before."""
    assert _misses(*lived) == []


def _wider_tolerance(inputs: Inputs, _patch: pytest.MonkeyPatch) -> Inputs:
    rules = inputs.rules
    names = ("amount_tolerance", "fee_tolerance", "short_payment_bps")
    return replace(inputs, rules=replace(rules, **{name: 100 * getattr(rules, name) for name in names}))


def _no_tie_rule(inputs: Inputs, patch: pytest.MonkeyPatch) -> Inputs:
    """The first of several answers is taken for the only one."""

    def take_the_first(ledger: Any, payment: int, found: list[tuple[int, ...]], *_: Any) -> None:
        for doc in found[0]:
            ledger.apply(payment, doc, ledger.balance(doc))
        ledger.decide(payment, Outcome.SET, Reason(Stage.SET, f"set:{len(found[0])}:first"))

    patch.setattr(sets, "_abstain", take_the_first)
    patch.setattr(candidates, "_are_lone", lambda edges: ~edges["payment"].duplicated())
    patch.setattr(references, "keep_forced_pairs", choose_pairs)
    return inputs


def _no_fee_rule(inputs: Inputs, _patch: pytest.MonkeyPatch) -> Inputs:
    return replace(inputs, fees=empty_frame(FEES), tariff=None)


def _with_an_old_invoice(inputs: Inputs, truth: list[Any]) -> tuple[Inputs, str]:
    """Give a payment that has no document one of its customer and amount, which was due seven weeks before.

    The sandbox plants no payment weeks after its window.
    """
    lone = {row.id for row in truth if row.kind == "payment" and tuple(row.exceptions) == ("PAYMENT_NO_INVOICE",)}
    items = inputs.items[inputs.items["resource_id"].isin(lone) & inputs.items["customer_tax_id"].notna()]
    items = items[items["metadata"].fillna("{}") == "{}"]
    payment = items.sort_values("resource_id").iloc[0]
    paid_on = payment["occurred_at"].tz_localize(None).normalize()
    invoice = inputs.documents.head(1).assign(
        doc_key="cl:33::9999999", doc_type="33", series="", folio="9999999", uuid=None, order_ref=None, ref_type=None,
        ref_number=None, customer_tax_id=payment["customer_tax_id"], total=payment["amount"], status="valid",
        currency=payment["currency"], issue_date=paid_on - timedelta(days=60), due_date=paid_on - timedelta(days=49),
    )  # fmt: skip
    books = to_types(pd.concat([inputs.documents, invoice], ignore_index=True), DOCUMENTS)
    return replace(inputs, documents=books), str(payment["resource_id"])


def test_a_window_ten_times_as_wide_must_fail(lived: tuple[Inputs, list[Any]]) -> None:
    """An invoice long overdue is not paid by whatever equals it; with the wide window the measurement says it was."""
    inputs, payment = _with_an_old_invoice(*lived)
    wide = replace(inputs, rules=replace(inputs.rules, days_after_due=10 * inputs.rules.days_after_due))
    missed = f"{payment}: PAYMENT_NO_INVOICE but called none"
    assert [missed in miss for miss in _misses(inputs, lived[1])].count(True) == 0
    assert [missed in miss for miss in _misses(wide, lived[1])].count(True) == 1


@pytest.mark.parametrize(
    ("variant", "sign"),
    [
        (_wider_tolerance, "none but called AMOUNT_DIFF"),
        (_no_tie_rule, "does not balance"),
        (_no_fee_rule, "PAYOUT_IDENTITY but called none"),
    ],
    ids=["tolerance x 100", "tie rule off", "fee rule off"],
)
def test_a_variant_that_must_fail_fails(
    lived: tuple[Inputs, list[Any]], monkeypatch: pytest.MonkeyPatch, variant: Variant, sign: str
) -> None:
    """The measurement names what the variant got wrong, or the run's own checks stop it."""
    inputs, truth = lived
    misses = _misses(variant(inputs, monkeypatch), truth)
    assert [miss for miss in misses if sign in miss]
