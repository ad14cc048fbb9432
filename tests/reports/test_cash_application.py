"""The report of payments applied to documents: what the journal's layouts of payments hold, for any day."""

import csv
import io
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from consumer.facts.installation import Installation
from cuadre import Commands
from tests.reconcile.conftest import World

FRIDAY = datetime(2026, 9, 11, 15, 0, tzinfo=UTC)
NAMES = "date customer_tax_id doc_type doc_folio amount currency method deposit_account operation payout_id"
Call = Callable[..., Result]


@pytest.fixture
def call(installation: Installation) -> Call:
    def run(*words: object) -> Result:
        result = CliRunner().invoke(Commands(), [str(word) for word in words], obj=lambda: installation)
        assert result.exit_code == 0, result.output
        return result

    return run


@pytest.fixture
def _days(installation: Installation, call: Call) -> None:
    """A payment of two documents, one without any, one in a payout that was canceled, a refund; all reconciled."""
    installation.settings.config_dir.joinpath("accounts.toml").unlink()
    world = World(installation.store)
    for folio, total in (("1", 70_300), ("2", 90_100)):
        world.invoice(folio, total, customer_tax_id="11111111-1", order_ref=f"PED-{folio}")
    world.invoice("3", 5_000, customer_tax_id="76543210-3", order_ref="PED-3")
    world.payment("pi_1", 160_400, customer_tax_id="11111111-1")
    world.payment("pi_2", 777)
    world.payment("pi_3", 5_000, succeeded_at=FRIDAY, body={"metadata": {"order_ref": "PED-3"}})
    paid = (("payment_intent", "pi_1", 160_400), ("payment_intent", "pi_2", 777))
    world.payout("po_1", 161_177, *paid)
    world.payout(
        "po_2", 5_000, ("payment_intent", "pi_3", 5_000), status="canceled", created_at=FRIDAY, succeeded_at=None,
        ended_at=FRIDAY,
    )  # fmt: skip
    world.complete(datetime(2026, 9, 12, 3, tzinfo=UTC))
    call("reconcile", "--as-of", "2026-09-11")


def cells(result: Result, names: str = NAMES) -> list[str]:
    """Return some columns of a report as its file has them."""
    return [",".join(row[name] for name in names.split()) for row in csv.DictReader(io.StringIO(result.stdout))]


@pytest.mark.usefixtures("_days")
def test_each_document_stands_with_the_payment_that_paid_it(call: Call, installation: Installation) -> None:
    """Two documents of one payment are two rows, a canceled payout names none, and what paid nothing is not here."""
    asked = ("report", "cash-application", "--out", "-")
    first = [
        "2026-09-10,11111111-1,33,1,70300,CLP,bank_transfer,,pi_1,po_1",
        "2026-09-10,11111111-1,33,2,90100,CLP,bank_transfer,,pi_1,po_1",
    ]
    second = "2026-09-11,76543210-3,33,3,5000,CLP,bank_transfer,,pi_3,"
    assert cells(call(*asked)) == [*first, second]
    assert cells(call(*asked, "--from", "2026-09-11")) == [second]
    assert cells(call(*asked, "--to", "2026-09-10")) == first
    (run_id,) = {row["run_id"] for row in csv.DictReader(io.StringIO(call(*asked).stdout))}
    assert run_id in call("runs", "list", "--json").stdout
    installation.settings.config_dir.joinpath("accounts.toml").write_text('chart = "cl"\n', encoding="utf-8")
    assert cells(call(*asked), "deposit_account payment_id") == ["1.1.03.10,pi_1"] * 2 + ["1.1.03.10,pi_3"]


@pytest.mark.usefixtures("_days")
def test_the_report_and_the_ledgers_layout_hold_the_same(
    call: Call, installation: Installation, tmp_path: Path
) -> None:
    """Days, tax ids, folios, amounts, accounts and payments of closed days are those of the exported file."""
    installation.settings.config_dir.joinpath("accounts.toml").write_text('chart = "cl"\n', encoding="utf-8")
    signed = ("--reason", "month end", "--author", "ana")
    call("periods", "close", "--to", "2026-09-11", "--as-of", "2026-09-11", *signed)
    option = ("--set", "MedioDePago=TE")
    call("journal", "--profile", "nubox,nubox-payments", *option, "--out", tmp_path)
    (path,) = tmp_path.glob("*nubox-payments.csv")
    exported = [line.split(";") for line in path.read_text(encoding="cp1252").splitlines()[1:]]
    names = "date customer_tax_id doc_type doc_folio amount deposit_account operation"
    report = call("report", "cash-application", "--out", "-")
    assert [",".join([*row[:5], row[6], row[9]]) for row in exported] == [
        f"{date.fromisoformat(day):%d/%m/%Y},{rest}"
        for day, _, rest in (row.partition(",") for row in cells(report, names))
    ]
    assert len(exported) == 3
