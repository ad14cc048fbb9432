"""What payments say about themselves in odd ways, and which candidate is called the nearest."""

import json
from datetime import date
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from reconcile.rules.keys import read_metadata
from tests.reconcile.rules.conftest import ANA

if TYPE_CHECKING:
    from tests.reconcile.rules.conftest import Case


def test_metadata_with_lists_under_a_key_names_nothing_and_stops_nothing(case: "Case") -> None:
    """A list under a known name is shown to the person who looks, and no document is looked up by it."""
    case.invoice("7", 5_000)
    case.payment("pi_1", 9_000, metadata='{"invoice": ["PED-7"], "order_id": ""}')
    run = case.run()
    assert run.line("pi_1", "outcome", "order_ref") == ("no_document", None)
    assert run.finding("PAYMENT_NO_INVOICE").evidence["keys_in_the_payment"] == {"invoice": "['PED-7']"}


@pytest.mark.parametrize("metadata", ['["PED-7"]', '"PED-7"', "7", "null"])
def test_metadata_that_is_no_object_says_nothing(case: "Case", metadata: str) -> None:
    """A list, a text, a number or nothing where an object belongs names no document."""
    case.invoice("7", 5_000)
    case.payment("pi_1", 9_000, metadata=metadata)
    assert case.match().line("pi_1", "outcome", "match_rule") == ("no_document", "none:nothing")


def test_a_number_names_a_document_as_its_digits_do(case: "Case") -> None:
    """An order given as a number is the order of that text, spaces around it left out."""
    case.invoice("7", 5_000, order_ref=" 7001 ")
    case.payment("pi_1", 5_000, metadata='{"order_id": 7001}')
    assert case.match().line("pi_1", "outcome", "match_rule", "order_ref") == ("matched", "key:order_id", "7001")


def test_the_order_reference_shown_is_the_strongest_said(case: "Case") -> None:
    """Of several names the order reference is shown before the order id, and that before the invoice."""
    case.payment("pi_1", 9_000, metadata='{"invoice": "F-1", "order_id": "O-2", "order_ref": "R-3"}')
    case.payment("pi_2", 9_000, metadata='{"invoice": "F-1", "order_id": "O-2"}')
    matched = case.match()
    assert matched.line("pi_1", "order_ref") == ("R-3",)
    assert matched.line("pi_2", "order_ref") == ("O-2",)


def test_of_two_equally_close_documents_the_one_due_first_is_the_nearest(case: "Case") -> None:
    """Two documents are as far off, one above and one below: the one that is due first is named."""
    case.invoice("1", 9_000, due_date=date(2026, 10, 31))
    case.invoice("2", 11_000, due_date=date(2026, 10, 30))
    case.payment("pi_1", 10_000, customer_tax_id=ANA)
    nearest = case.run().finding("PAYMENT_NO_INVOICE").evidence["nearest"]
    assert nearest == {
        "document": "cl:33::2",
        "open_balance": 11_000,
        "failed": "note.amount",
        "amount_difference": -1_000,
    }


def test_the_nearest_of_equal_amounts_is_the_one_due_first(case: "Case") -> None:
    """Several documents of the closest amount: the first of them is named, whatever else is larger."""
    case.invoice("1", 9_000, due_date=date(2026, 10, 29))
    case.invoice("2", 9_000, due_date=date(2026, 10, 28))
    case.invoice("3", 50_000, due_date=date(2026, 10, 27))
    case.payment("pi_1", 10_000, customer_tax_id=ANA)
    nearest = case.run().finding("PAYMENT_NO_INVOICE").evidence["nearest"]
    assert nearest == {
        "document": "cl:33::2",
        "open_balance": 9_000,
        "failed": "note.amount",
        "amount_difference": 1_000,
    }


def test_without_a_customer_only_an_equal_amount_is_near(case: "Case") -> None:
    """A payment without a known tax id is near a document of its amount and currency, or near none."""
    case.invoice("1", 9_000, issue_date=date(2026, 6, 1), due_date=date(2026, 6, 2))
    case.payment("pi_1", 9_000)
    case.payment("pi_2", 9_001)
    found = {finding.resource_id: finding.evidence["nearest"] for finding in case.run().result.findings
             if finding.code == "PAYMENT_NO_INVOICE"}  # fmt: skip
    assert found == {
        "pi_1": {"document": "cl:33::1", "open_balance": 9_000, "failed": "note.no_tax_id", "amount_difference": 0},
        "pi_2": None,
    }


@pytest.mark.parametrize(
    ("said", "parts"),
    [("2", True), ("007", True), ("9" * 5_000, True), ("1", False), ("0", False), ("000", False), ("²", False),
     ("١٢", False), ("2.0", False), ("-2", False)],
)  # fmt: skip
def test_only_plain_digits_declare_instalments(said: str, parts: bool) -> None:  # noqa: FBT001 - a table
    """What a merchant wrote there never stops a run, however odd or long the number."""
    column = pd.Series([json.dumps({"installments": said})])
    assert read_metadata(column).in_parts().tolist() == [parts]


@pytest.mark.parametrize(
    ("metadata", "named"),
    [
        ('{"order_id": 5596.0}', "cl:33::1"),
        ('{"folio": 1.0}', "cl:33::1"),
        ('{"order_id": 5.596}', None),
        ('{"order_id": 1e22}', None),
    ],
)
def test_a_number_with_a_point_is_never_ten_times_itself(case: "Case", metadata: str, named: str | None) -> None:
    """5596.0 is order 5596 and not 55960; a number with a fraction, or too large for its digits, names nothing."""
    case.invoice("1", 5_000, order_ref="5596")
    case.invoice("10", 5_000, order_ref="55960")
    case.invoice("3", 5_000, order_ref="1e+22")
    case.payment("pi_1", 5_000, metadata=metadata)
    expected = ("matched", named) if named else ("no_document", None)
    assert case.match().line("pi_1", "outcome", "doc_key") == expected
