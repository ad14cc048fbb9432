"""The provider's payout report: its rows name the payout, its fees reach the run, it goes in whole or not at all."""

import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import openpyxl
import pytest
from sqlmodel import select

from consumer.facts.installation import Installation
from consumer.facts.settings import Connection
from consumer.facts.work import Completion
from reconcile.books.payout_reports import ReportOutcome, import_payout_report
from reconcile.reading.frames import read_inputs
from reconcile.tables.books import ProviderFee

if TYPE_CHECKING:
    from tests.reconcile.conftest import World

HEADER = "id;created_at;amount;fee;resource_type;resource_subtype;extra"


@pytest.fixture
def paid(world: "World") -> "World":
    items = (("payment_intent", "pi_1", 1000), ("refund", "re_1", 300), ("refund_adjustment", "re_2", 50))
    world.payout("po_1", 1000, *items)
    world.payout("po_2", 1000, ("payment_intent", "pi_1", 1000))
    return world


def _import(
    installation: Installation, main: Connection, folder: Path, *rows: str, payout: str | None = None
) -> ReportOutcome:
    path = folder / "report.csv"
    path.write_text("\n".join([HEADER, *rows, ""]), encoding="utf-8")
    return import_payout_report(installation, main, path, payout_id=payout)


WHOLE = (
    "pi_1;2026-09-10T15:00:00Z;1000;16;payment_intent;bank_transfer;x",
    "re_1;2026-09-10T15:00:00Z;-300;612;refund;;",
    "re_2;2026-09-10T15:00:00Z;50;0;refund;;",
)


def _fees(installation: Installation, main: Connection) -> list[tuple[str, str, int]]:
    with installation.store.reading() as session:
        frame = read_inputs(
            session, main, installation.settings, as_of=date(2026, 9, 11), now=datetime(2026, 9, 11, 15, tzinfo=UTC)
        ).fees
    return list(zip(frame["payout_id"], frame["resource_id"], frame["fee_total"], strict=True))


@pytest.mark.usefixtures("paid")
def test_a_report_is_known_by_its_rows(installation: Installation, main: Connection, tmp_path: Path) -> None:
    """The payout with exactly these items gets the fees; a refund that came back carries none."""
    outcome = _import(installation, main, tmp_path, *WHOLE)
    assert (outcome.status, outcome.payout_id, outcome.rows, outcome.fee_total) == (Completion.DONE, "po_1", 3, 628)
    assert _fees(installation, main) == [("po_1", "pi_1", 16), ("po_1", "re_1", 612)]


@pytest.mark.usefixtures("paid")
def test_columns_are_read_by_name_and_unknown_ones_kept(
    installation: Installation, main: Connection, tmp_path: Path
) -> None:
    """Another order of columns changes nothing, and what is not read yet is kept with the fee as it was written."""
    path = tmp_path / "report.csv"
    lines = ["extra;fee;resource_type;id;amount", "007;16;payment_intent;pi_1;1000", ";612;refund;re_1;-300"]
    path.write_text("\n".join([*lines, "x;0;refund;re_2;50", ""]), encoding="utf-8")
    assert import_payout_report(installation, main, path).kept
    with installation.store.reading() as session:
        kept = {row.resource_id: json.loads(row.cells) for row in session.exec(select(ProviderFee))}
    assert kept == {
        "pi_1": {"amount": "1000", "extra": "007", "fee": "16", "id": "pi_1", "resource_type": "payment_intent"},
        "re_1": {"amount": "-300", "extra": "", "fee": "612", "id": "re_1", "resource_type": "refund"},
    }


@pytest.mark.usefixtures("paid")
def test_the_same_report_comes_in_once_and_a_new_one_replaces(
    installation: Installation, main: Connection, tmp_path: Path
) -> None:
    """A corrected report takes the place of the earlier one."""
    _import(installation, main, tmp_path, *WHOLE)
    again = _import(installation, main, tmp_path, *WHOLE)
    assert (again.status, again.kept) == (Completion.DONE, False)
    assert str(again.earlier).endswith("for po_1, nothing changed")
    assert _import(installation, main, tmp_path, WHOLE[0].replace(";16;", ";17;"), *WHOLE[1:]).kept
    assert _fees(installation, main)[0] == ("po_1", "pi_1", 17)


@pytest.mark.usefixtures("paid")
def test_a_report_with_a_row_twice_is_refused(installation: Installation, main: Connection, tmp_path: Path) -> None:
    """A fee that stands there twice is neither added up nor guessed."""
    outcome = _import(installation, main, tmp_path, *WHOLE, WHOLE[0])
    assert [(reject.line, reject.value, str(reject.reason)) for reject in outcome.rejects] == [
        (5, "pi_1", "is there twice")
    ]
    assert _fees(installation, main) == []


@pytest.mark.usefixtures("paid")
def test_a_report_that_differs_from_the_payout_is_refused(
    installation: Installation, main: Connection, tmp_path: Path
) -> None:
    """Another amount, a foreign row or a missing one keeps the whole file out, each named."""
    outcome = _import(installation, main, tmp_path, WHOLE[0].replace(";1000;", ";999;"), WHOLE[1], payout="po_1")
    assert [(reject.line, reject.column, reject.value) for reject in outcome.rejects] == [
        (2, "amount", "999"),
        (0, "id", "re_2"),
    ]
    foreign = _import(installation, main, tmp_path, *WHOLE, payout="po_2")
    assert [reject.value for reject in foreign.rejects] == ["re_1", "re_2"]
    assert _fees(installation, main) == []


@pytest.mark.usefixtures("paid")
@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ((), "the report has no rows"),
        (("pi_9;x;1000;16;payment_intent;;",), "its 1 rows are the items of 0 payouts we know"),
        (("pi_1;x;10.5;16;payment_intent;;",), "is not a whole number of the smallest unit"),
        ((";x;1000;16;payment_intent;;",), "is empty"),
        (("pi_1;x;1_000;16;payment_intent;;",), "is not a whole number of the smallest unit"),
        (("pi_1;x;1000;1000000000000000;payment_intent;;",), "is not a whole number of the smallest unit"),
        (
            (WHOLE[2], "pi_1;a;7;1000;16;payment_intent;;"),
            "the row has 8 columns, the header 7: a separator is missing",
        ),
        (("pi_1;x;1000;16;payment_intent",), "the row has 5 columns, the header 7: a separator is missing or too many"),
    ],
)
def test_a_report_that_cannot_be_used_is_named(
    installation: Installation, main: Connection, tmp_path: Path, rows: tuple[str, ...], words: str
) -> None:
    """Rows of no payout, fractions and empty ids are refused with the reason."""
    assert str(_import(installation, main, tmp_path, *rows).rejects[0].reason).startswith(words)


def test_another_file_is_not_a_report(installation: Installation, main: Connection, tmp_path: Path) -> None:
    """A file without the report's columns, or none at all, is named as such."""
    path = tmp_path / "other.csv"
    assert str(import_payout_report(installation, main, path).rejects[0].reason).startswith("the file cannot be read")
    path.write_text("a;b\n1;2\n")
    assert "not the provider's payout report" in str(import_payout_report(installation, main, path).rejects[0].reason)
    path.write_text("\ufeff", encoding="utf-8")
    assert str(import_payout_report(installation, main, path).rejects[0].reason) == "the file is empty"


@pytest.mark.usefixtures("paid")
@pytest.mark.parametrize("above", ["sep=;", "Reporte de pago"])
def test_a_line_above_the_header_is_passed_over(
    installation: Installation, main: Connection, tmp_path: Path, above: str
) -> None:
    """Spreadsheets name the separator there when they save the file again."""
    path = tmp_path / "report.csv"
    path.write_text("\n".join([above, HEADER, *WHOLE, ""]), encoding="utf-8")
    assert import_payout_report(installation, main, path).fee_total == 628


def test_a_workbook_without_rows_is_not_a_report(installation: Installation, main: Connection, tmp_path: Path) -> None:
    """It is refused like any other file."""
    path = tmp_path / "empty.xlsx"
    openpyxl.Workbook().save(path)
    assert "not the provider's payout report" in str(import_payout_report(installation, main, path).rejects[0].reason)
