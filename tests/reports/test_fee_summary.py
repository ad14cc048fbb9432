"""The report of fees: what each means of payment cost in a month, equal to the sums of payouts to the peso."""

import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from consumer.facts.installation import Installation
from consumer.facts.tables.provider import PayoutItem, TaxInvoice
from cuadre import Commands
from reconcile.tables.books import ProviderFee
from tests.merchant import settings_of
from tests.reconcile.conftest import World
from tests.reports.conftest import drop_extracts

OCTOBER = datetime(2026, 10, 9, 15, 0, tzinfo=UTC)
CHILE = {
    "vat_bps": 1900, "refund": {"flat": 514}, "bank_transfer": {"bps": 135}, "credit_card": {"bps": 250},
}  # fmt: skip
MEXICO = {"vat_bps": 1600, "credit_card": {"bps": 290}}
SHOWN = "period resource_subtype count gross fee_net fee_vat fee_total rate_pct fee_source difference"


def call(installation: Installation, *words: str) -> Result:
    result = CliRunner().invoke(Commands(), list(words), obj=lambda: installation)
    assert result.exit_code == 0, result.output
    return result


def cells(result: Result, names: str) -> list[str]:
    return [",".join(row[name] for name in names.split()) for row in csv.DictReader(io.StringIO(result.stdout))]


@pytest.fixture
def merchant_of(installation: Installation, tmp_path: Path) -> Callable[..., Installation]:
    """An installation in a country with a tariff."""

    def make(country: str, tariff: dict[str, Any]) -> Installation:
        url = "http://provider.test"
        settings = settings_of(url, tmp_path, country=country, overrides={"tariff": tariff})
        return replace(installation, settings=settings)

    return make


@pytest.fixture
def chile(merchant_of: Callable[..., Installation]) -> Installation:
    """Two months: a payout by tariff, one with the provider's own fees, one without either, and one canceled."""
    installation = merchant_of("cl", CHILE)
    world = World(installation.store)
    card, october = {"subtype": "credit_card"}, {"succeeded_at": OCTOBER, "created_at": OCTOBER}
    world.payment("pi_1", 100_000)
    world.payment("pi_2", 200_000, **card)
    world.refund("re_1", 10_000, "pi_1", succeeded_at=datetime(2026, 9, 10, 16, 0, tzinfo=UTC))
    items = (("payment_intent", "pi_1", 100_000), ("payment_intent", "pi_2", 200_000), ("refund", "re_1", 10_000))
    world.payout("po_1", 281_831, *items)
    world.payment("pi_3", 50_000, **card, **october)
    world.payout("po_2", 48_400, ("payment_intent", "pi_3", 50_000), **october)
    world.keep(ProviderFee(connection="main", payout_id="po_2", resource_id="pi_3", fee_total=1_600))
    world.payment("pi_4", 10_000, subtype="pac", **october)
    world.payout("po_3", 9_900, ("payment_intent", "pi_4", 10_000), **october)
    world.payment("pi_5", 5_000, **october)
    canceled = {**october, "status": "canceled", "succeeded_at": None, "ended_at": OCTOBER}
    world.payout("po_4", 4_920, ("payment_intent", "pi_5", 5_000), **canceled)
    world.complete(datetime(2026, 10, 10, 3, tzinfo=UTC))
    call(installation, "reconcile", "--as-of", "2026-10-09")
    return installation


def test_a_month_is_divided_by_means_of_payment(chile: Installation) -> None:
    """Each means has its count, gross, fee, VAT and rate, and what the provider took beyond the tariff."""
    report = call(chile, "report", "fee-summary", "--out", "-")
    assert cells(report, SHOWN) == [
        "2026-09,bank_transfer,1,100000,1350,257,1607,1.61,tariff,0",
        "2026-09,credit_card,1,200000,5000,950,5950,2.98,tariff,0",
        "2026-09,refund,1,-10000,514,98,612,6.12,tariff,0",
        "2026-10,credit_card,1,50000,1345,255,1600,3.20,provider_csv,112",
        "2026-10,pac,1,10000,,,,,residual,",
        "2026-10,,0,0,84,16,100,,residual,",
    ]
    assert cells(report, "invoice_key invoice_net invoice_vat") == [",,"] * 6


@pytest.mark.parametrize(("month", "fees"), [("2026-09", 8_169), ("2026-10", 1_700)])
def test_a_month_equals_its_payouts_to_the_peso(chile: Installation, month: str, fees: int) -> None:
    """The fees, nets and VAT of a month are the sums of its living payouts, and so is the gross less the fees."""
    days = ("--from", f"{month}-01", "--to", f"{month}-30")
    rows = list(csv.DictReader(io.StringIO(call(chile, "report", "fee-summary", *days, "--out", "-").stdout)))
    paid = list(csv.DictReader(io.StringIO(call(chile, "report", "payout-summary", *days, "--out", "-").stdout)))
    living = [row for row in paid if row["status"] != "canceled"]

    def add(found: list[dict[str, str]], name: str) -> int:
        return sum(int(row[name] or 0) for row in found)

    assert {row["period"] for row in rows} == {month}
    assert add(rows, "fee_total") == add(living, "fee_total") == fees
    assert add(rows, "fee_net") == add(living, "fee_net")
    assert add(rows, "fee_vat") == add(living, "fee_vat")
    assert add(rows, "gross") - fees == add(living, "payout_amount")


def test_a_run_without_the_sums_gives_the_same(chile: Installation) -> None:
    """A run that was published before they were kept adds them up from its lines."""
    before = call(chile, "report", "fee-summary", "--out", "-").stdout
    with chile.store.transaction() as session:
        drop_extracts(session)
    assert call(chile, "report", "fee-summary", "--out", "-").stdout == before


def test_the_provider_document_stands_on_the_first_row_of_its_month(chile: Installation, tmp_path: Path) -> None:
    """The invoice over September's fees is registered in October; its columns are there once, so that they add up."""
    body = {
        "id": "fi_1", "issue_type": "received", "issuer": {"id": "771234569"}, "date": "2026-10-05", "currency": "CLP",
        "tax_period": "10/2026", "number": "901", "net_amount": 6864, "total_amount": 8169,
        "institution_invoice": {"document_type": 33, "vat_amount": 1305, "invoice_status": "registered"},
    }  # fmt: skip
    World(chile.store).keep(
        TaxInvoice(connection="main", id="fi_1", mode="test", version_at=OCTOBER, body=json.dumps(body))
    )
    overrides = {"tariff": CHILE, "provider_tax_id": "77123456-9"}
    known = replace(chile, settings=settings_of("http://provider.test", tmp_path, country="cl", overrides=overrides))
    report = call(known, "report", "fee-summary", "--out", "-")
    assert cells(report, "period invoice_key invoice_net invoice_vat")[:2] == ["2026-09,fi_1,6864,1305", "2026-09,,,"]


def test_mexico_has_centavos_and_its_own_vat(merchant_of: Callable[..., Installation]) -> None:
    """1,000.00 by card at 2.90 % and 16 % VAT costs 33.64."""
    installation = merchant_of("mx", MEXICO)
    world = World(installation.store)
    world.payment("pi_1", 100_000, subtype="credit_card", currency="MXN")
    world.payout("po_1", 96_636, currency="MXN")
    world.keep(
        PayoutItem(
            connection="main", payout_id="po_1", resource_type="payment_intent", resource_id="pi_1", mode="test",
            amount=100_000, currency="MXN", body="{}",
        )
    )  # fmt: skip
    world.complete(datetime(2026, 9, 11, 7, tzinfo=UTC))
    call(installation, "reconcile", "--as-of", "2026-09-10")
    report = call(installation, "report", "fee-summary", "--out", "-")
    assert cells(report, SHOWN) == ["2026-09,credit_card,1,1000.00,29.00,4.64,33.64,3.36,tariff,0.00"]
