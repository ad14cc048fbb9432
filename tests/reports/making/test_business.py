"""Transfers, statements and fiscal objects as report rows, from the provider's own JSON."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from consumer.config import load
from consumer.facts.settings import Connection, Settings
from reports.making import business
from reports.shapes.spans import Span

TRANSFER: dict[str, Any] = {
    "connection": "main",
    "id": "tr_1",
    "direction": "outbound",
    "status": "returned",
    "amount": 410617,
    "currency": "CLP",
    "counterparty": {
        "account_number": "62710631458",
        "holder_id": "111111111",
        "holder_name": "Viña de Prueba",
        "institution": {"id": "cl_prueba", "name": None},
    },
    "tracking_key": None,
    "transfer_batch_id": "trbatch_1",
    "post_date": "2026-10-16T00:00:00Z",
    "transaction_date": "2026-10-16T01:30:00Z",
    "return_reason_code": "01",
    "return_reason": "non_existing_account",
    "reversed_at": None,
    "rejected_at": None,
}
MOVEMENT: dict[str, Any] = {
    "connection": "main",
    "id": "mov_1",
    "account_id": "acc_1",
    "direction": "outbound",
    "amount": 410617,
    "resource_id": "tr_1",
    "return_pair_id": None,
    "transaction_date": "2026-10-16T01:30:00Z",
}
BACK = MOVEMENT | {
    "id": "mov_2",
    "direction": "inbound",
    "return_pair_id": "mov_1",
    "transaction_date": "2026-10-17T12:00:00Z",
}
STATEMENT: dict[str, Any] = {
    "connection": "main",
    "account_id": "acc_1",
    "start_date": "2026-10-01",
    "end_date": "2026-10-31",
    "currency": None,
    "initial_balance_cents": 1000000,
    "total_credited_cents": 410617,
    "total_debited_cents": 410617,
    "final_balance_cents": 1000000,
}
F29: dict[str, Any] = {
    "connection": "main",
    "fiscal_year": 2026,
    "period": "9",
    "status": "Vigente",
    "document_number": "7001234567",
    "taxpayer": {"id": "765432103"},
    "institution_tax_statement": {
        "monthly_provisional_payments": None,
        "retention_fee": 6497,
        "salary_tax": 1870153,
        "total_credit": 403497,
        "total_debit": 1173692,
        "total_payment": 2646845,
    },
}
INVOICE: dict[str, Any] = {
    "connection": "main",
    "issuer": {"id": "765432103"},
    "receiver": None,
    "issue_type": "issued",
    "number": 1201,
    "date": "2026-10-01T03:00:00.000Z",
    "currency": "CLP",
    "tax_period": "10/2026",
    "net_amount": 100000,
    "total_amount": 119000,
    "institution_invoice": {
        "document_type": 33,
        "vat_amount": 19000,
        "exempt_amount": 0,
        "invoice_status": "registered",
        "has_note": False,
    },
}


@pytest.fixture
def connections(settings: Settings) -> dict[str, Connection]:
    return {"main": settings.connection("main")}


def test_a_transfer_is_tied_to_movement_statement_and_payout(connections: dict[str, Connection]) -> None:
    """One row holds both dates, our word for the code beside the provider's, and a masked account."""
    bank = business.to_bank([MOVEMENT, BACK], [STATEMENT], [{"bank_movement_id": "mov_1", "payout_id": "po_1"}])
    (row,) = business.transfers([TRANSFER], bank, connections, span=Span())
    assert row == {
        "transfer_id": "tr_1",
        "direction": "outbound",
        "status": "returned",
        "amount": 410617,
        "currency": "CLP",
        "counterparty_tax_id": "11111111-1",
        "counterparty_name": "Viña de Prueba",
        "institution": "cl_prueba",
        "account_masked": "****1458",
        "tracking_key": None,
        "operating_date": "2026-10-16",
        "calendar_ts": "2026-10-16T01:30:00Z",
        "return_code": "01",
        "return_label": "account does not exist",
        "return_raw": "non_existing_account",
        "returned_at": "2026-10-17T12:00:00Z",
        "movement_id": "mov_1",
        "statement_period": "2026-10",
        "matched_to": "po_1",
        "transfer_batch_id": "trbatch_1",
        "connection": "main",
    }


def test_transfers_are_chosen_by_local_date(connections: dict[str, Connection]) -> None:
    """Half past one in UTC is still the day before in Santiago."""
    bank = business.Bank()
    of_day = [
        list(business.transfers([TRANSFER], bank, connections, span=Span(date(2026, 10, day), date(2026, 10, day))))
        for day in (15, 16)
    ]
    assert [len(rows) for rows in of_day] == [1, 0]


def test_a_tax_id_that_is_none_is_shown_as_it_came(connections: dict[str, Connection]) -> None:
    """A wrong check digit is not mended, and no counterparty is no row lost."""
    odd = TRANSFER | {"counterparty": {"holder_id": "ND"}}
    none = TRANSFER | {"id": "tr_2", "counterparty": None}
    rows = list(business.transfers([odd, none], business.Bank(), connections, span=Span()))
    assert [row["counterparty_tax_id"] for row in rows] == ["ND", None]


def test_a_statement_that_adds_up_misses_nothing(connections: dict[str, Connection]) -> None:
    """Opening, inbound and outbound make the closing, and our movements of the month make the same totals."""
    (row,) = business.statement_check([STATEMENT], [MOVEMENT, BACK], connections, span=Span())
    assert (row["computed_closing"], row["difference"]) == (1000000, 0)
    assert (row["movements_missing_here"], row["movements_missing_there"], row["currency"]) == (0, 0, "CLP")


def test_what_is_missing_is_not_guessed(connections: dict[str, Connection]) -> None:
    """Totals that differ say that something is missing, not how many rows: the count stays empty."""
    wrong = STATEMENT | {"final_balance_cents": 999999}
    (row,) = business.statement_check([wrong], [MOVEMENT], connections, span=Span())
    assert (row["difference"], row["movements_missing_here"]) == (-1, None)


@pytest.mark.parametrize(
    ("changes", "computed", "difference"),
    [({}, 2646845, 0), ({"total_credit": 2000000}, 1876650, 770195), ({"total_payment": None}, 2646845, None)],
)
def test_an_f29_obeys_its_identity(
    connections: dict[str, Connection], changes: dict[str, Any], computed: int, difference: int | None
) -> None:
    """The published sample adds up; credit beyond debit is carried over, not paid back."""
    form = F29 | {"institution_tax_statement": F29["institution_tax_statement"] | changes}
    (row,) = business.tax_statements([form], connections, span=Span())
    assert (row["period"], row["taxpayer_id"]) == ("2026-09", "76543210-3")
    assert (row["computed_payment"], row["identity_difference"]) == (computed, difference)


@pytest.mark.parametrize(
    ("since", "until", "rows"),
    [
        (date(2026, 9, 30), None, 1),
        (date(2026, 10, 1), None, 0),
        (None, date(2026, 9, 1), 1),
        (None, date(2026, 8, 31), 0),
    ],
)
def test_a_month_is_in_a_range_that_touches_it(
    connections: dict[str, Connection], since: date | None, until: date | None, rows: int
) -> None:
    """Any day of the month inside the range is enough."""
    assert len(list(business.tax_statements([F29], connections, span=Span(since, until)))) == rows


def test_a_fiscal_document_has_its_local_day_and_period(connections: dict[str, Connection]) -> None:
    """Midnight of Santiago is that day, and the register's month/year sorts."""
    (row,) = business.tax_invoices([INVOICE], connections, span=Span())
    assert (row["date"], row["tax_period"], row["issuer_id"], row["receiver_id"]) == (
        date(2026, 10, 1),
        "2026-10",
        "76543210-3",
        None,
    )
    assert (row["net_amount"], row["vat_amount"], row["total_amount"], row["has_note"]) == (
        100000,
        19000,
        119000,
        False,
    )


def test_a_return_of_the_year(connections: dict[str, Connection]) -> None:
    """The year comes as text and is a number in the report."""
    form = {
        "connection": "main",
        "fiscal_year": "2025",
        "document_number": "123456789",
        "taxpayer": {"id": "765432103"},
        "institution_tax_return": {
            "due_amount": 0,
            "refund_amount": 1204330,
            "income": {"fees": 1, "salary": 2, "withheld_fees": 3},
        },
    }
    (row,) = business.tax_returns([form], connections, span=Span(date(2025, 6, 1), None))
    assert (row["fiscal_year"], row["refund_amount"], row["withheld_fees"]) == (2025, 1204330, 3)
    assert list(business.tax_returns([form], connections, span=Span(date(2026, 1, 1), None))) == []


def test_a_mexican_reader_finds_an_rfc(tmp_path: Path) -> None:
    """The country of the connection decides how a tax id is written."""
    settings = load(
        {
            "CUADRE_PROVIDER_URL": "http://provider.test",
            "CUADRE_API_KEY": "sk_test_sandbox",
            "CUADRE_COUNTRY": "mx",
            "CUADRE_DATA_DIR": str(tmp_path / "instance"),
        },
        folder=tmp_path,
    )
    mexican = TRANSFER | {"counterparty": {"holder_id": "aaa010101aaa"}}
    (row,) = business.transfers([mexican], business.Bank(), {"main": settings.connection("main")}, span=Span())
    assert row["counterparty_tax_id"] == "AAA010101AAA"
