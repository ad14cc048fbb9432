"""What other rules would have altered of a run that is kept."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import Result

from tests.merchant import rows_of

if TYPE_CHECKING:
    from tests.reconcile.conftest import Prepare, World

Call = Callable[..., Result]


@pytest.fixture
def run(world: "World", call: Call, prepare: "Prepare") -> None:
    """A payment five units above its document, in a payout that took 1.3 % of it."""
    prepare("five units", lambda: _run(world, call))


def _run(world: "World", call: Call) -> str:
    world.payment("pi_1", 1195, body={"metadata": {"order_ref": "PED-1"}})
    world.payout("po_1", 1180, ("payment_intent", "pi_1", 1195))
    world.invoice("7", 1190, order_ref="PED-1")
    world.complete(datetime(2026, 9, 12, 6, tzinfo=UTC))
    reconciled = call("reconcile", "--as-of", "2026-09-11")
    assert reconciled.exit_code == 0
    return reconciled.output


def _rules(folder: Path, text: str) -> Path:
    path = folder / "other.toml"
    path.write_text(text, encoding="utf-8")
    return path


def _json(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 0, result.output
    return rows_of(result)


@pytest.mark.usefixtures("run")
def test_a_wider_tolerance_shows_what_it_would_swallow(call: Call, tmp_path: Path) -> None:
    """The document would count as paid and its exception would go; nothing is written."""
    path = _rules(tmp_path, "[rules]\namount_tolerance = 5\n")
    changes = _json(call("rules", "preview", path, "--json"))
    assert [(row["kind"], row["subject"], row["before"], row["after"], row["closed"]) for row in changes] == [
        ("item", "pi_1", "amount 1195, matched_with_difference cl:33::7 1195",
         "amount 1195, matched_with_difference cl:33::7 1190", False),
        ("document", "cl:33::7", "overpaid, balance -5", "paid, balance 0", False),
        ("exception", "AMOUNT_DIFF resource:pi_1", "medium 5", "", False),
    ]  # fmt: skip
    assert len(_json(call("runs", "list", "--json"))) == 1


@pytest.mark.usefixtures("run")
def test_changes_of_closed_days_are_marked(call: Call, tmp_path: Path) -> None:
    """Whoever turns a number sees first what it would alter in books that are closed."""
    closing = ("periods", "close", "--to", "2026-09-10", "--as-of", "2026-09-11", "--reason", "x", "--author", "ana")
    assert call(*closing).exit_code == 0
    path = _rules(tmp_path, "[rules]\nfee_band_bps = 100\n")
    assert [(row["subject"], row["closed"]) for row in _json(call("rules", "preview", path, "--closed", "--json"))] == [
        ("po_1", True),
        ("FEE_OUT_OF_BAND payout:po_1", True),
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[rules]\nnothing = 1\n", "[rules] nothing is not a rule"),
        ("[tariff]\ncard = 3\n", "[tariff] vat_bps is missing"),
        ("= 3", "other.toml: "),
        ("x = 3", "other.toml holds neither [rules] nor [tariff]"),
    ],
)
@pytest.mark.usefixtures("run")
def test_a_file_that_cannot_be_used_is_wrong_usage(call: Call, tmp_path: Path, text: str, reason: str) -> None:
    """The sentence names the file and the key."""
    result = call("rules", "preview", _rules(tmp_path, text))
    assert result.exit_code == 2
    assert reason in result.stderr


def test_the_rules_that_hold_are_listed(call: Call) -> None:
    """Every number beside its default."""
    rows = {row["rule"]: (row["value"], row["default"]) for row in _json(call("rules", "list", "--json"))}
    assert rows["due_days"] == (30, 30)
    assert rows["payout_schedule"] == ("14:00", "14:00")
    assert call("rules", "preview", __file__).exit_code == 2
