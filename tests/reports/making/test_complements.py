"""The report of payment complements: made from a run, the books and the XML that is here."""

import csv
import io
import json
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner

from consumer.facts.installation import Installation
from consumer.facts.store import Store
from cuadre import Commands
from reconcile.tables.fiscal import FiscalDocument, FiscalPayment, RegisterFile
from tests.merchant import settings_of
from tests.reconcile.conftest import NOON, World

OTHER, COMPLEMENT = "7c1e5b7e-0000-4000-8000-000000000001", "7c1e5b7e-0000-4000-8000-00000000000c"


@pytest.fixture
def mexican(store: Store, tmp_path: Path) -> Installation:
    return Installation(settings=settings_of("http://provider.test", tmp_path, country="mx"), store=store)


def invoice(world: World, number: int, total: int) -> str:
    uuid = f"7c1e5b7e-0000-4000-8000-00000000000{number}"
    world.invoice(str(number), total, doc_key=f"mx:uuid:{uuid}", country="mx", doc_type="I", series="A", uuid=uuid,
                  currency="MXN", vat=total * 16 // 116, payment_method="PPD", payment_form="99",
                  customer_tax_id="XAX010101AAA")  # fmt: skip
    return uuid


def complement(world: World, paid: int) -> None:
    """Keep a complement of October over the first invoice."""
    key, at = f"mx:uuid:{COMPLEMENT}", datetime(2026, 9, 10, 15, tzinfo=UTC)
    world.keep(
        FiscalDocument(
            connection="main", doc_key=key, country="mx", direction="issued", kind="P", issuer_tax_id="ATP190301KX8",
            uuid=COMPLEMENT, issued_at=at, issue_date=date(2026, 10, 8), period="2026-10", currency="XXX", net=0,
            exempt=0, vat=0, withheld=0, total=0, payable=0, third_party=0, status="valid", content_sha256="0" * 64,
            file_sha256="0" * 64, updated_at=NOON,
        ),
        FiscalPayment(
            connection="main", doc_key=key, payment_number=1, line=1, paid_at=at, payment_form="31", currency="MXN",
            amount=paid, operation="MX9", paid_uuid=OTHER, paid_key=f"mx:uuid:{OTHER}", instalment=1,
            paid_currency="MXN", balance_before=116_00, paid=paid, balance_after=116_00 - paid, vat=16_00,
        ),
    )  # fmt: skip


def test_each_payment_of_a_deferred_invoice_is_a_row(mexican: Installation) -> None:
    """What was issued is compared, what was not is missing once the lists prove it; Spanish files say so in words."""
    world = World(mexican.store)
    for number, total, reference in ((1, 116_00, "MX9"), (2, 232_00, None)):
        uuid = invoice(world, number, total)
        body = {"metadata": {"uuid": uuid}, "reference_id": reference}
        world.payment(f"pi_{number}", total, currency="MXN", body=body)
    complement(world, 116_00)
    world.keep(
        RegisterFile(
            connection="main", sha256="1" * 64, name="1_01.txt", side="sales", section="metadata",
            period="2026-09 2026-10", as_of=datetime(2026, 10, 8, 15, tzinfo=UTC), imported_at=NOON, rows=0,
        )
    )  # fmt: skip
    world.complete(datetime(2026, 10, 10, 6, tzinfo=UTC))
    asked = (["reconcile", "--as-of", "2026-10-09"], ["report", "payment-complements", "--out", "-"])
    for words in asked:
        result = CliRunner().invoke(Commands(), words, obj=lambda: mexican)
        assert result.exit_code == 0, result.output

    shown = "payment_id paid_at_local payment_form operation_number paid balance_after due_on state difference note"
    rows = [",".join(row[name] for name in shown.split()) for row in csv.DictReader(io.StringIO(result.stdout))]
    assert rows == [
        "pi_1,2026-09-10T09:00:00,03,MX9,116.00,0.00,2026-10-05,differs,0.00,payment_form",
        "pi_2,2026-09-10T09:00:00,03,,232.00,0.00,2026-10-05,missing,,",
    ]
    ties = CliRunner().invoke(Commands(), ["tie-out", "--period", "2026-09", "--json"], obj=lambda: mexican)
    assert ties.exit_code == 0, ties.output
    (collected,) = [row for row in map(json.loads, ties.stdout.splitlines()) if row["figure"] == "collected"]
    assert (collected["witness_a"], collected["amount_a"]) == ("collected", "348.00")
    words = ["report", "payment-complements", "--out", "-", "--profile", "mx", "--language", "es-MX"]
    spanish = CliRunner().invoke(Commands(), words, obj=lambda: mexican).stdout
    assert "Emitido con diferencias" in spanish
    assert "Forma de pago" in spanish
    assert "Falta" in spanish
