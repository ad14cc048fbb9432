"""Characters that no text holds, on their way from an object through a run into the files of people."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import Result as Answer

pytestmark = pytest.mark.both_databases

if TYPE_CHECKING:
    from tests.reconcile.conftest import World

Call = Callable[..., Answer]


def test_a_run_and_its_files_take_a_null_character_in_a_name_and_a_key(
    world: "World", call: Call, tmp_path: Path
) -> None:
    """The body has it as sent, so that an order's number with one reaches lines, evidence and every format."""
    body = {"customer": {"name": "Ana\0"}, "metadata": {"order_ref": "PED\0-1"}, "comment": "a\0b"}
    world.payment("pi_1", 1_000, customer_name="Ana\ufffd", body=body)
    world.payout("po_1", 990, ("payment_intent", "pi_1", 1_000))
    world.complete(datetime(2026, 9, 12, 4, tzinfo=UTC))
    found = call("reconcile", "--as-of", "2026-09-11", "--json")
    assert (found.exit_code, json.loads(found.stdout)["exceptions"]) == (0, {"PAYMENT_NO_INVOICE": 1})
    for name in ("payout-detail", "exceptions"):
        written = call(
            "report",
            name,
            "--as-of",
            "2026-09-11",
            "--format",
            "csv,xlsx,parquet",
            "--out",
            tmp_path,
            "--profile",
            "cl",
        )
        assert written.exit_code == 0, written.output
    assert call("explain", "pi_1").exit_code == 0
