"""The lines of the bank in the archive of a month: each deposit once, whoever tells it."""

import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from consumer.facts.installation import Installation
from consumer.facts.tables.provider import AccountMovement, AccountNumber
from tests.reconcile.conftest import NOON, World
from tests.reports.packs.test_last_day import PERIOD, call, pack, table

PAID_OUT = datetime(2026, 9, 8, 15, tzinfo=UTC)


def test_a_deposit_that_two_sources_tell_is_one_line(installation: Installation, tmp_path: Path) -> None:
    """The line of the provider names that of the file, so that the amounts add up to what came in."""
    world = World(installation.store)
    world.payment("pi_1", 1200, succeeded_at=datetime(2026, 9, 7, 15, tzinfo=UTC))
    world.payout(
        "po_1", 1174, ("payment_intent", "pi_1", 1200), created_at=PAID_OUT, succeeded_at=PAID_OUT,
        recipient_number="00012345678",
    )  # fmt: skip
    own: dict[str, Any] = {"connection": "main", "mode": "test", "version_at": NOON}
    moved = {"transaction_date": "2026-09-10T15:00:00Z", "resource_id": "po_1"}
    world.keep(
        AccountNumber(id="acno_1", account_id="acc_1", number="00012345678", body="{}", **own),
        AccountMovement(
            id="mov_1", account_id="acc_1", amount=1174, currency="CLP", direction="inbound", body=json.dumps(moved),
            **own,
        ),
    )  # fmt: skip
    world.bank_file("00012345678", (date(2026, 9, 10), 1174), (date(2026, 9, 15), 500))
    world.complete(datetime(2026, 10, 9, 6, tzinfo=UTC))
    closed = call(installation, "periods", "close", *PERIOD)
    assert closed.exit_code == 0, closed.output

    lines = table(pack(installation, tmp_path).read_bytes(), "bank", "movement_id", "file_line_id", "amount_signed")
    assert lines == [("mov_1", "line_0", "1174"), ("line_1", "line_1", "500")]
