"""The archive of a month says how things stood on its last day, whatever the later run knows of the days after."""

import csv
import io
import re
import zipfile
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from flask import Flask
from flask.testing import FlaskClient

from consumer.facts.installation import Installation
from cuadre import Commands
from reports.access.people import Role, add_user, to_user
from reports.packs.verifying import verify
from tests.merchant import row_of
from tests.reconcile.conftest import Prepare, World
from tests.reports.conftest import EMAIL, PASSWORD

# 30 September ends in Chile at 03:00 UTC.
SEPTEMBER, EVENING = datetime(2026, 9, 28, 15, tzinfo=UTC), datetime(2026, 10, 1, 2, 30, tzinfo=UTC)
AFTER_MIDNIGHT, OCTOBER = datetime(2026, 10, 1, 3, 30, tzinfo=UTC), datetime(2026, 10, 4, 15, tzinfo=UTC)
PAID_OUT, PAID_OUT_LATER = datetime(2026, 9, 30, 18, tzinfo=UTC), datetime(2026, 10, 2, 18, tzinfo=UTC)
PERIOD = ("--to", "2026-09-30", "--as-of", "2026-10-08", "--reason", "septiembre", "--author", "ana")


def call(installation: Installation, *words: object) -> Result:
    return CliRunner().invoke(Commands(), [str(word) for word in words], obj=lambda: installation)


def live_through_two_months(installation: Installation) -> str:
    """September as it was closed on 8 October, of which the run knows too."""
    world = World(installation.store)

    def sell(number: int, amount: int, at: datetime, issued: date) -> None:
        world.payment(f"pi_{number}", amount, succeeded_at=at, body={"metadata": {"order_ref": f"PED-{number}"}})
        world.invoice(str(number), amount, order_ref=f"PED-{number}", issue_date=issued, due_date=date(2026, 12, 1))

    sell(1, 10_000, SEPTEMBER, date(2026, 9, 10))
    sell(2, 20_000, EVENING, date(2026, 9, 20))
    sell(3, 30_000, AFTER_MIDNIGHT, date(2026, 9, 25))
    sell(4, 6_000, SEPTEMBER, date(2026, 9, 10))
    sell(5, 50_000, OCTOBER, date(2026, 10, 3))
    world.payment("pi_6", 900, succeeded_at=SEPTEMBER)
    world.payment("pi_7", 5_000, succeeded_at=OCTOBER)
    world.refund("re_1", 6_000, "pi_4", succeeded_at=OCTOBER, created_at=OCTOBER)
    world.invoice("8", 7_000, issue_date=date(2026, 9, 3), due_date=date(2026, 9, 20))
    world.invoice("9", 8_000, issue_date=date(2026, 9, 12), due_date=date(2026, 12, 1))
    world.invoice("10", 40_000, issue_date=date(2026, 10, 2), due_date=date(2026, 12, 1))
    world.invoice(
        "1", 3_000, doc_type="61", doc_key="cl:61::1", issue_date=date(2026, 9, 29), ref_type="33", ref_number="9"
    )
    world.invoice(
        "2", 5_000, doc_type="61", doc_key="cl:61::2", issue_date=date(2026, 10, 3), ref_type="33", ref_number="9"
    )
    own = [("pi_1", 10_000), ("pi_4", 6_000), ("pi_6", 900)]
    world.payout(
        "po_1", 16_800, *(("payment_intent", name, amount) for name, amount in own), created_at=PAID_OUT,
        succeeded_at=PAID_OUT,
    )  # fmt: skip
    world.payout(
        "po_2", 49_700, ("payment_intent", "pi_2", 20_000), ("payment_intent", "pi_3", 30_000),
        created_at=PAID_OUT_LATER, succeeded_at=PAID_OUT_LATER,
    )  # fmt: skip
    world.complete(datetime(2026, 10, 9, 6, tzinfo=UTC))
    installation.settings.config_dir.joinpath("accounts.toml").write_text('chart = "cl"\n', encoding="utf-8")
    closed = call(installation, "periods", "close", *PERIOD)
    assert closed.exit_code == 0, closed.output
    return ""


@pytest.fixture
def closed(installation: Installation, prepare: Prepare) -> Installation:
    prepare("a month closed eight days later", lambda: live_through_two_months(installation))
    return installation


def pack(installation: Installation, folder: Path) -> Path:
    made = call(installation, "periods", "pack", "1", "--out", folder, "--json", "--author", "ana", "--journal", "none")
    return Path(row_of(made)["file"])


def table(content: bytes, name: str, *columns: str) -> list[tuple[str, ...]]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        rows = csv.DictReader(io.StringIO(archive.read(f"{name}.csv").decode()))
        return [tuple(row[column] for column in columns) for row in rows]


def test_states_are_those_of_the_last_day(closed: Installation, tmp_path: Path) -> None:
    """A payment of half past eleven is of September, one of half past midnight is not; nor are October's documents."""
    path = pack(closed, tmp_path)
    content = path.read_bytes()

    assert table(content, "receivables", "doc_key", "paid", "credited", "balance", "days_overdue", "state") == [
        ("cl:33::8", "0", "0", "7000", "10", "overdue"),
        ("cl:33::3", "0", "0", "30000", "0", "open_not_due"),
        ("cl:33::9", "0", "3000", "5000", "0", "open_not_due"),
    ]
    assert table(content, "in-transit", "resource_id", "amount_signed", "age_business_days") == [("pi_2", "20000", "0")]
    assert table(content, "exceptions", "code", "resource_id", "doc_key", "amount_at_risk") == [
        ("INVOICE_NO_PAYMENT", "", "cl:33::8", "7000"), ("PAYMENT_NO_INVOICE", "pi_6", "", "900"),
    ]  # fmt: skip
    assert table(content, "clearing-rollforward", "date", "closing")[-1] == ("2026-09-30", "20000")
    tied = {row[0]: row[1:] for row in table(content, "control", "figure", "amount", "other_amount", "verdict")}
    assert tied["receivables"] == ("42000", "42000", "ties")
    assert tied["funds in transit"] == ("20000", "20000", "ties")
    assert {row[-1] for row in tied.values()} == {"ties"}
    verify(path)


def test_the_page_to_sign_names_the_day_of_each_figure(closed: Installation, tmp_path: Path) -> None:
    """Balances stand below the last day of the period; what only the day of the run can tell stands by that day."""
    with zipfile.ZipFile(pack(closed, tmp_path)) as archive:
        page = archive.read("summary.pdf").decode("latin-1")
    words = re.sub(r"\s+", " ", " ".join(re.findall(r"\((.*?)\) Tj", page)))
    assert [
        wanted
        for wanted in (
            "Saldo final 20.000", "En tránsito 20.000", "Cuentas por cobrar al 30-09-2026", "42.000",
            "pendientes al 08-10-2026, de hechos hasta el 30-09-2026", "7.900 CLP",
        )
        if wanted not in words
    ] == [], words  # fmt: skip


def test_the_page_to_sign_tells_apart_what_came_back(installation: Installation, tmp_path: Path) -> None:
    """A returned payout is paid again by another: below its own heading stand the sums without it."""
    world = World(installation.store)
    world.payment("pi_1", 10_000, succeeded_at=SEPTEMBER)
    item = ("payment_intent", "pi_1", 10_000)
    world.payout("po_1", 9_900, item, created_at=SEPTEMBER, status="returned")
    world.payout("po_2", 9_900, item, created_at=PAID_OUT, succeeded_at=PAID_OUT)
    world.complete(datetime(2026, 10, 9, 6, tzinfo=UTC))
    closed = call(installation, "periods", "close", *PERIOD)
    assert closed.exit_code == 0, closed.output
    with zipfile.ZipFile(pack(installation, tmp_path)) as archive:
        page = archive.read("summary.pdf").decode("latin-1")
    words = re.sub(r"\s+", " ", " ".join(re.findall(r"\((.*?)\) Tj", page)))
    for wanted in (
        "CLP Sin las devueltas o canceladas CLP Pagos brutos 20.000 10.000",
        "Monto liquidado 19.800 9.900",
    ):
        assert wanted in words, words


@pytest.fixture
def app(closed: Installation, make_app: Callable[..., Flask]) -> Flask:
    with closed.store.transaction() as session:
        add_user(session, to_user(EMAIL, PASSWORD, Role.ADMIN, now=OCTOBER))
    return make_app(closed)


def test_the_button_sends_the_same_figures(client: FlaskClient, csrf: Callable[..., str]) -> None:
    """What the page of the closed period sends holds the states of the last day too."""
    form = {"csrf_token": csrf(client, "/books/periods/main/1"), "profile": "machine"}
    with client.post("/books/periods/main/1/pack", data=form) as sent:
        assert table(sent.data, "in-transit", "resource_id") == [("pi_2",)]
        assert [row[0] for row in table(sent.data, "receivables", "balance")] == ["7000", "30000", "5000"]
