"""Accounts, links, fiscal objects and payment methods as rows, where the provider reuses words and places."""

from datetime import UTC, datetime
from typing import Any

import pytest

from consumer.provider.fields import UnusableObjectError
from consumer.provider.rows import Observation
from tests.observing import columns, to_row

SEEN = Observation("main", "test", datetime(2026, 10, 5, 12, 0, tzinfo=UTC), "evt_1")
READ = Observation("main", "test", datetime(2026, 10, 6, 12, 0, tzinfo=UTC))


def test_an_amount_with_a_direction_is_unsigned() -> None:
    """A negative amount beside a direction would count the wrong way, so it is refused."""
    movement = {"id": "mov_1", "account_id": "acc_1", "amount": -5, "currency": "MXN", "direction": "outbound"}

    with pytest.raises(UnusableObjectError, match="amount is negative although direction tells the sign"):
        to_row("account_movement", movement, READ)
    assert to_row("link_movement", {"id": "mov_1", "amount": -5, "currency": "CLP"}, READ).amount == -5


def test_an_account_known_from_the_path_is_kept() -> None:
    """Statements and link movements do not name their account; the stream that reads them does."""
    seen = Observation("main", "test", READ.seen_at, account_id="acc_9")

    assert columns(to_row("account_statement", {"id": "acst_1"}, seen))["account_id"] == "acc_9"
    assert columns(to_row("account_statement", {"id": "acst_1", "account_id": "acc_1"}, seen))["account_id"] == "acc_1"


def test_the_same_word_means_two_things() -> None:
    """A billing and a fiscal invoice share prefix and object name, and only the caller tells them apart."""
    billing = {"id": "inv_1", "object": "invoice", "status": "paid", "total": 900, "currency": "CLP"}
    fiscal = {
        "id": "inv_1",
        "object": "invoice",
        "total_amount": 119,
        "currency": "CLP",
        "institution_invoice": {"invoice_status": "registered"},
    }

    assert [(row.__tablename__, row.amount, row.status) for row in (to_row("billing_invoice", billing, SEEN),)] == [
        ("billing_invoice", 900, "paid")
    ]
    assert [(row.__tablename__, row.amount, row.status) for row in (to_row("tax_invoice", fiscal, READ),)] == [
        ("tax_invoice", 119, "registered")
    ]


def test_a_document_of_the_register_has_its_month_and_number() -> None:
    """A month without its zero, a UUID in any case; without a month there is none."""
    for stated, said in (
        (
            {"tax_period": "9/2026", "number": "ABCDEF01-0000", "issue_type": "issued"},
            ("2026-09", "abcdef01-0000", "issued"),
        ),
        ({}, (None, None, None)),
    ):
        row = to_row("tax_invoice", {"id": "inv_1", "object": "invoice", **stated}, READ).model_dump()
        assert (row["period"], row["number"], row["direction"]) == said


@pytest.mark.parametrize(
    ("data", "period"),
    [
        ({"fiscal_year": 2026, "period": "10"}, "2026-10"),
        ({"fiscal_year": 2026, "period": "4"}, "2026-04"),
        ({"period": "2026-10"}, "2026-10"),
        ({"period": None}, None),
    ],
)
def test_the_period_of_a_monthly_statement(data: dict[str, Any], period: str | None) -> None:
    """The F29 writes its year as a number and its month as text; a period is both."""
    assert columns(to_row("tax_statement", {"id": "taxstmt_1"} | data, READ))["period"] == period


def test_a_payment_methods_status_sits_under_its_type() -> None:
    """The details of a payment method lie under a field named after the type."""
    method = {"id": "pm_1", "type": "mx_direct_debit", "mx_direct_debit": {"status": "pending"}}

    row = to_row("payment_method", method, SEEN)

    assert (row.status, row.version_rank) == ("pending", 1)
