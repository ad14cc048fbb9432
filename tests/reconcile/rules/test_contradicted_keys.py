"""Keys that found no document: a slip of the hand, a name of another make, or a sale that is missing from the books."""

from datetime import date
from typing import TYPE_CHECKING

import pytest

from reconcile.rules.candidates import is_slip

if TYPE_CHECKING:
    from tests.reconcile.rules.conftest import Case

ANA = "11111111-1"
FIRST, SECOND = "a1b2c3d4-0000-4000-8000-000000000001", "f9e8d7c6-1111-4111-9111-222222222222"
UNFOUND = ("no_document", "none")


@pytest.mark.parametrize(
    "said",
    [
        '{"order_ref": "PED-2077"}',
        '{"order_id": "ped-2077"}',
        '{"invoice": "PED-2077"}',
        '{"invoice": "cl:33::2077"}',
        '{"doc_type": "33", "folio": "2077"}',
        '{"doc_type": 33, "folio": 2077}',
        '{"folio": "2077"}',
        '{"folio": "1043"}',
    ],
)
def test_a_month_missing_from_the_books_is_not_paid_with_another_one(case: "Case", said: str) -> None:
    """Who names a sale that was not imported did not pay the equal document of another number."""
    case.invoice("1042", 50_000)
    case.payment("pi_1", 50_000, metadata=said, sender_tax_id=ANA)
    run = case.run()
    assert run.line("pi_1", "outcome", "match_stage") == UNFOUND
    assert run.found() == {("PAYMENT_NO_INVOICE", "resource:pi_1", 50_000)}
    nearest = {"document": "cl:33::1042", "open_balance": 50_000, "failed": "note.another_sale"}
    assert run.finding("PAYMENT_NO_INVOICE").evidence["nearest"] == nearest


@pytest.mark.parametrize("said", ["PED-1024", "PED-2401", "PED-104", "PED-10742", "PED-1142", "ped 1O42", "042"])
def test_a_slip_of_the_hand_still_finds_the_customers_document(case: "Case", said: str) -> None:
    """Turned round, cut short, one sign wrong or too many: tax id and amount decide as without a key."""
    case.invoice("1042", 50_000)
    case.payment("pi_1", 50_000, metadata=f'{{"order_ref": "{said}"}}', sender_tax_id=ANA)
    assert case.match().line("pi_1", "outcome", "match_stage", "doc_key") == ("matched", "customer", "cl:33::1042")


@pytest.mark.parametrize(
    "said",
    [
        '{"order_id": "cart_88213"}',
        '{"order_ref": "88213"}',
        '{"invoice": "inv_2Zk9"}',
        '{"uuid": "a1b2c3d4-0000-4000-8000-000000000001"}',
        '{"doc_type": "39", "folio": "2077"}',
        '{"doc_type": "33"}',
        '{"shop": "PED-2077"}',
    ],
)
def test_a_name_of_another_make_says_nothing(case: "Case", said: str) -> None:
    """The shop's own numbers, which no document bears, do not speak against one."""
    case.invoice("1042", 50_000)
    case.payment("pi_1", 50_000, metadata=said, sender_tax_id=ANA)
    assert case.match().line("pi_1", "outcome", "match_stage") == ("matched", "customer")


def test_another_uuid_is_another_invoice(mexican_case: "Case") -> None:
    """A UUID the books do not hold is no slip for one they hold."""
    mexican_case.invoice("1042", 50_000, doc_key=f"mx:uuid:{FIRST}", uuid=FIRST)
    mexican_case.payment("pi_1", 50_000, metadata=f'{{"uuid": "{SECOND}"}}', sender_tax_id=ANA)
    mexican_case.payment("pi_2", 50_000, metadata=f'{{"invoice": "mx:uuid:{SECOND}"}}', sender_tax_id=ANA)
    matched = mexican_case.match()
    assert matched.line("pi_1", "outcome", "match_stage") == UNFOUND
    assert matched.line("pi_2", "outcome", "match_stage") == UNFOUND


def test_equal_months_are_left_to_those_who_name_no_other(case: "Case") -> None:
    """Of three equal payments the one for a month that is missing leaves both documents to the others."""
    case.invoice("1042", 50_000, issue_date=date(2026, 9, 1), due_date=date(2026, 9, 30))
    case.invoice("1043", 50_000)
    case.payment("pi_1", 50_000, metadata='{"order_ref": "PED-2077"}', sender_tax_id=ANA)
    case.payment("pi_2", 50_000, sender_tax_id=ANA, occurred_at="2026-10-05T16:00:00Z")
    case.payment("pi_3", 50_000, sender_tax_id=ANA, occurred_at="2026-10-05T17:00:00Z")
    matched = case.match()
    assert matched.line("pi_1", "outcome", "match_stage") == UNFOUND
    assert matched.line("pi_2", "outcome", "doc_key") == ("interchangeable", "cl:33::1042")
    assert matched.line("pi_3", "outcome", "doc_key") == ("interchangeable", "cl:33::1043")


def test_a_slip_says_which_of_two_equal_documents_is_meant(case: "Case") -> None:
    """The document whose number was nearly written is meant, not the one due first."""
    case.invoice("1042", 50_000, due_date=date(2026, 10, 10))
    case.invoice("2077", 50_000)
    case.payment("pi_1", 50_000, metadata='{"order_ref": "PED-2707"}', sender_tax_id=ANA)
    assert case.match().line("pi_1", "outcome", "doc_key") == ("matched", "cl:33::2077")


def test_a_set_is_not_made_of_others_than_the_one_named(case: "Case") -> None:
    """A sum that fits by chance is no proof against a key that names a missing sale."""
    case.invoice("1042", 30_000)
    case.invoice("1055", 20_500)
    case.payment("pi_1", 50_500, metadata='{"order_ref": "PED-2077"}', sender_tax_id=ANA)
    assert case.match().line("pi_1", "outcome", "match_stage") == UNFOUND


def test_a_set_may_hold_the_one_that_was_nearly_named(case: "Case") -> None:
    """Who pays two documents and misspells one of them pays both."""
    case.invoice("1042", 30_000)
    case.invoice("2055", 20_500)
    case.payment("pi_1", 50_500, metadata='{"order_ref": "PED-1024"}', sender_tax_id=ANA)
    assert {outcome for (outcome,) in case.match().lines("pi_1", "outcome")} == {"set"}


def test_many_equal_documents_are_not_paid_by_who_names_another(case: "Case") -> None:
    """A hundred and one equal sales on each side: whoever names a missing one is left out."""
    for number in range(101):
        case.invoice(str(3000 + number), 9_990)
        said = '{"order_ref": "PED-8888"}' if number == 0 else None
        case.payment(f"pi_{number:03}", 9_990, metadata=said, sender_tax_id=ANA)
    matched = case.match()
    assert matched.line("pi_000", "outcome", "match_stage") == UNFOUND
    assert matched.line("pi_100", "outcome", "match_stage") == ("interchangeable", "customer")


@pytest.mark.parametrize("said", ['{"order_id": "cart_88213"}', '{"doc_type": "39", "folio": "2077"}'])
def test_among_many_equal_documents_a_name_of_another_make_says_nothing(case: "Case", said: str) -> None:
    """Of a hundred and one equal sales on each side the shop's own number keeps none from its document."""
    for number in range(101):
        case.invoice(str(3000 + number), 9_990)
        case.payment(f"pi_{number:03}", 9_990, metadata=said, sender_tax_id=ANA)
    matched = case.match()
    assert matched.line("pi_000", "outcome", "doc_key") == ("interchangeable", "cl:33::3000")
    assert matched.line("pi_100", "outcome", "doc_key") == ("interchangeable", "cl:33::3100")


@pytest.mark.parametrize(
    "said", ['{"folio": "2077"}', '{"doc_type": "33", "folio": "2077"}', '{"invoice": "PED-2077"}']
)
def test_among_many_equal_documents_a_name_of_their_make_keeps_out(case: "Case", said: str) -> None:
    """A folio of their type or of none said, or an order like theirs, names a sale that is missing."""
    for number in range(101):
        case.invoice(str(3000 + number), 9_990)
        given = {"metadata": said} if number == 0 else {}
        case.payment(f"pi_{number:03}", 9_990, sender_tax_id=ANA, **given)
    assert case.match().line("pi_000", "outcome", "match_stage") == UNFOUND


@pytest.mark.parametrize(
    ("said", "name", "expected"),
    [
        ("PED-1042", "PED-1042", True),
        ("PED 01042", "PED-1042", True),
        ("PED-1O42", "PED-1042", True),
        ("1042", "0001042", True),
        ("1042", "1142", True),
        ("1042", "1043", False),
        ("1042", "1053", False),
        ("1042", "10542", True),
        ("1042", "105421", False),
        ("10", "1042", False),
        ("104", "1042", True),
    ],
)
def test_what_a_hand_could_have_meant(said: str, name: str, expected: bool) -> None:  # noqa: FBT001 - a column of the table
    """One sign wrong, missing or too many, the same signs in another order, or the beginning or end alone."""
    assert is_slip(said, name) is expected
