"""Payments of one customer on one day that together are exactly one open document."""

from datetime import date
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.reconcile.rules.conftest import Case

ANA, BRUNO = "11111111-1", "22222222-2"
SHOWN = ("outcome", "match_stage", "match_rule", "doc_key", "applied_amount", "doc_balance_after")
LATER = "2026-10-05T16:00:00Z"


def pay(case: "Case", *amounts: int, **given: object) -> list[str]:
    """Payments of Ana's on one day, an hour apart."""
    return [
        case.payment(
            f"pi_{place}", amount, occurred_at=f"2026-10-05T{14 + place}:00:00Z", **{"sender_tax_id": ANA} | given
        )
        for place, amount in enumerate(amounts)
    ]


def test_payments_of_one_day_that_sum_to_one_document(case: "Case") -> None:
    """All but the last are parts, the last one closes the document, and no part is reported as short."""
    case.invoice("1", 98_765)
    pay(case, 90_000, 8_765)
    run = case.run()
    assert run.line("pi_0", *SHOWN) == ("partial", "set", "parts:2:only_one", "cl:33::1", 90_000, 8_765)
    assert run.line("pi_1", *SHOWN) == ("matched", "set", "parts:2:only_one", "cl:33::1", 8_765, 0)
    assert run.document("cl:33::1", "outcome", "payments") == ("paid", 2)
    assert run.found() == set()


def test_five_payments_are_the_most(case: "Case") -> None:
    """Five parts are searched for, six are left to a person."""
    case.invoice("1", 10_111 + 20_222 + 30_333 + 40_444 + 50_577)
    pay(case, 10_111, 20_222, 30_333, 40_444, 50_577)
    matched = case.match()
    assert [matched.line(f"pi_{place}", "outcome") for place in range(5)] == [("partial",)] * 4 + [("matched",)]
    case.invoice("2", 61_001 + 1_003 + 2_007 + 3_013 + 4_021 + 5_037, customer_tax_id=BRUNO)
    for place, amount in enumerate((61_001, 1_003, 2_007, 3_013, 4_021, 5_037)):
        case.payment(f"pi_b{place}", amount, sender_tax_id=BRUNO)
    matched = case.match()
    assert {matched.line(f"pi_b{place}", "outcome") for place in range(6)} == {("no_document",)}


@pytest.mark.parametrize(
    "given",
    [
        {"occurred_at": "2026-10-06T15:00:00Z"},  # another day
        {"sender_tax_id": BRUNO},
        {"sender_tax_id": None},
        {"currency": "USD"},
        {"metadata": '{"order_ref": "PED-2077"}'},  # a sale that is not in the books
    ],
)
def test_all_of_them_are_of_one_customer_currency_and_day(case: "Case", given: dict[str, str]) -> None:
    """A part of another day, payer or currency, or that names another sale, is none."""
    case.as_of = date(2026, 10, 7)
    case.invoice("1", 98_765)
    pay(case, 90_000)
    case.payment("pi_1", 8_765, **{"sender_tax_id": ANA, "occurred_at": LATER} | given)
    matched = case.match()
    assert matched.line("pi_0", "outcome", "doc_key") == ("no_document", None)
    assert matched.document("cl:33::1", "balance") == (98_765,)


def test_local_days_count(case: "Case") -> None:
    """Two payments of one evening in Santiago are of one day, though the second is of the next day in UTC."""
    case.invoice("1", 98_765)
    case.payment("pi_0", 90_000, sender_tax_id=ANA, occurred_at="2026-10-05T22:00:00Z")
    case.payment("pi_1", 8_765, sender_tax_id=ANA, occurred_at="2026-10-06T01:30:00Z")
    assert case.match().line("pi_1", "outcome", "doc_key") == ("matched", "cl:33::1")


def test_two_documents_of_that_sum_are_ambiguous(case: "Case") -> None:
    """Where another document asks for the same, it is unknown which one the parts are of."""
    case.invoice("1", 98_765)
    case.invoice("2", 98_765)
    pay(case, 90_000, 8_765)
    run = case.run()
    assert run.line("pi_0", "outcome", "match_rule", "doc_key") == ("ambiguous", "parts:several", None)
    assert run.line("pi_1", "outcome", "match_rule", "doc_key") == ("ambiguous", "parts:several", None)
    assert {code for code, _, _ in run.found()} == {"AMBIGUOUS"}


def test_two_sums_for_one_document_are_ambiguous(case: "Case") -> None:
    """Four payments that make the total in two ways pay it in neither."""
    case.invoice("1", 98_765)
    pay(case, 90_000, 8_765, 90_001, 8_764)
    matched = case.match()
    assert {matched.line(f"pi_{place}", "outcome") for place in range(4)} == {("ambiguous",)}


def test_a_payment_placed_otherwise_is_no_part(case: "Case") -> None:
    """What its key or amount explains is not summed again."""
    case.invoice("1", 98_765)
    case.invoice("2", 8_765)
    pay(case, 90_000, 8_765)
    matched = case.match()
    assert matched.line("pi_1", "outcome", "doc_key") == ("matched", "cl:33::2")
    assert matched.line("pi_0", "outcome", "doc_key") == ("no_document", None)


def test_a_sum_that_chance_would_make_is_ambiguous(case: "Case") -> None:
    """Round payments beside many round documents sum to one of them whatever was paid; one in no sum has nothing."""
    for place in range(8):
        case.invoice(str(place), 100_000 + 2_000 * place)
    pay(case, 64_000, 40_000, 37_000)
    run = case.run()
    shown = ("outcome", "match_rule", "doc_key")
    assert run.line("pi_0", *shown) == ("ambiguous", "parts:by_chance", None)
    assert run.line("pi_1", *shown) == ("ambiguous", "parts:by_chance", None)
    assert run.line("pi_2", *shown) == ("no_document", "none:nothing", None)
    rivals = {found.subject: found.evidence.get("rivals") for found in run.result.findings}
    assert rivals == {"resource:pi_0": ["cl:33::2"], "resource:pi_1": ["cl:33::2"], "resource:pi_2": None}


def test_sums_of_two_documents_with_one_payment_in_common_are_ambiguous(case: "Case") -> None:
    """64,000 is a part of 104,000 or of 101,000; so none of the three payments is certain."""
    for place in range(8):
        case.invoice(str(place), 100_000 + 1_000 * place)
    pay(case, 64_000, 40_000, 37_000)
    run = case.run()
    rivals = {found.subject: found.evidence["rivals"] for found in run.result.findings}
    assert {run.line(f"pi_{place}", "outcome", "match_rule", "doc_key") for place in range(3)} == {
        ("ambiguous", "parts:several", None)
    }
    assert rivals == {
        "resource:pi_0": ["cl:33::1", "cl:33::4"], "resource:pi_1": ["cl:33::4"], "resource:pi_2": ["cl:33::1"],
    }  # fmt: skip


def test_more_payments_on_a_day_than_are_searched_are_told(case: "Case") -> None:
    """Above 25 payments of the customer's day the search is left, which the evidence says, as it does of sets."""
    case.invoice("1", 98_765)
    pay(case, 90_000, 8_765)
    for place in range(24):
        case.payment(f"pi_m{place}", 500_000 + place, sender_tax_id=ANA)
    run = case.run()
    assert run.line("pi_0", "outcome") == ("no_document",)
    assert {found.evidence["parts"] for found in run.result.findings if found.code == "PAYMENT_NO_INVOICE"} == {
        'note.too_many_payments {"count":26}'
    }
    case.rows["items"].pop()
    run = case.run()
    assert run.line("pi_1", "outcome", "doc_key") == ("matched", "cl:33::1")
    assert not any("parts" in found.evidence for found in run.result.findings)


def test_a_void_document_of_the_sum_or_of_a_part_is_a_rival(case: "Case") -> None:
    """The parts may be for the void document, or one of them alone may be."""
    case.invoice("1", 98_765)
    case.invoice("2", 98_765, status="void")
    pay(case, 90_000, 8_765)
    matched = case.match()
    assert matched.line("pi_0", "outcome", "match_rule") == ("ambiguous", "parts:void_equal")
    assert matched.line("pi_1", "outcome", "match_rule") == ("ambiguous", "parts:void_equal")
    case.rows["documents"][1]["total"] = 8_765
    assert case.match().line("pi_0", "outcome", "match_rule") == ("ambiguous", "parts:void_equal")


def test_a_person_may_turn_a_part_down(case: "Case") -> None:
    """A pair that was declined is in no sum."""
    case.invoice("1", 98_765)
    pay(case, 90_000, 8_765)
    case.add("decisions", kind="unmatch", resource_id="pi_0", doc_key="cl:33::1", decision_id=1)
    assert case.match().line("pi_1", "outcome") == ("no_document",)
