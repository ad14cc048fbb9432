"""Names in texts and in metadata that is no key: in whatever writing, unless two documents would bear one name."""

import json
from typing import TYPE_CHECKING

import pytest

from reconcile.rules.names import split_words

if TYPE_CHECKING:
    from tests.reconcile.rules.conftest import Case

ANA, BRUNO = "11111111-1", "22222222-2"
ORDER = "ORD-2026-005596"
SHOWN = ("outcome", "match_stage", "doc_key")


@pytest.mark.parametrize(
    "text",
    [
        "Pago ORD 2026 005596 gracias",
        "ord/2026/005596",
        "ref #ORD2026005596.",
        "ＯＲＤ－２０２６－００５５９６",
    ],
)
def test_a_name_written_apart_in_a_text_is_read(case: "Case", text: str) -> None:
    """Of two equal documents of a customer the one is meant whose name stands in the text, over several words too."""
    case.invoice("1", 50_000, order_ref=ORDER)
    case.invoice("2", 50_000, order_ref="ORD-2026-005600")
    case.payment("pi_1", 50_000, texts=text, sender_tax_id=ANA)
    assert case.match().line("pi_1", *SHOWN) == ("matched", "reference", "cl:33::1")


@pytest.mark.parametrize(
    "said",
    [
        {"pedido": "ORD-2026-005596"},
        {"nota": "pago ORD 2026 005596"},
        {"cart": {"lines": [1, {"ref": "ord 2026-005596"}]}},
        {"refs": ["x", "ORD2026005596"]},
        {"order_id": "cart_9", "sale": ORDER},
    ],
)
def test_metadata_under_any_other_name_is_a_text(case: "Case", said: dict[str, object]) -> None:
    """At whatever depth it stands, a name is a reference; it is no key."""
    case.invoice("1", 50_000, order_ref=ORDER)
    case.invoice("2", 50_000, order_ref="ORD-2026-005600")
    case.payment("pi_1", 50_000, metadata=json.dumps(said), sender_tax_id=ANA)
    run = case.run()
    assert run.line("pi_1", *SHOWN) == ("matched", "reference", "cl:33::1")
    assert run.found() == set()


def test_a_whole_number_in_metadata_is_a_text_and_a_fraction_is_not(case: "Case") -> None:
    """A folio may be kept as a number; `1042.5` and `true` name nothing."""
    case.invoice("1041", 50_000)
    case.invoice("1042", 50_000)
    case.payment("pi_1", 50_000, metadata='{"boleta": 1042, "ok": true, "rate": 1041.5}', sender_tax_id=ANA)
    assert case.match().line("pi_1", *SHOWN) == ("matched", "reference", "cl:33::1042")


def test_metadata_that_is_no_key_is_automatic_only_as_a_text_is(case: "Case") -> None:
    """Another amount, or another document of that amount where no tax id is known, leaves it to a person."""
    case.invoice("1", 50_000, order_ref=ORDER)
    case.invoice("2", 50_000, customer_tax_id=BRUNO)
    case.payment("pi_1", 50_000, metadata=json.dumps({"pedido": ORDER}))
    case.payment("pi_2", 45_000, metadata=json.dumps({"pedido": ORDER}), sender_tax_id=ANA)
    matched = case.match()
    assert matched.line("pi_1", "outcome", "doc_key") == ("no_document", None)
    assert matched.line("pi_2", "outcome", "doc_key") == ("no_document", None)


@pytest.mark.parametrize(("text", "doc"), [("ORD-1/23", "cl:33::1"), ("ORD 123", None), ("ORD-12/3", None)])
def test_a_text_that_could_be_two_documents_names_only_what_it_writes(case: "Case", text: str, doc: str | None) -> None:
    """Where two names would become one only the exact writing is a reference, whatever the other document costs."""
    case.invoice("1", 50_000, order_ref="ORD-1/23")
    case.invoice("2", 70_000, order_ref="ORD-12/3", customer_tax_id=BRUNO)
    case.payment("pi_1", 50_000, texts=text)
    matched = case.match()
    assert matched.line("pi_1", "match_stage") == (("reference" if doc else "suggestion"),)


def test_digits_grouped_in_another_way_are_another_name_in_texts(case: "Case") -> None:
    """`ORD-12/3` in a text is not `ORD-1/23`, though no other document bears the name."""
    case.invoice("1", 50_000, order_ref="ORD-1/23")
    case.payment("pi_1", 50_000, texts="ORD-12/3")
    case.payment("pi_2", 50_000, texts="ORD 1 23", occurred_at="2026-10-05T16:00:00Z")
    matched = case.match()
    assert matched.line("pi_1", "match_stage") != ("reference",)
    assert matched.line("pi_2", *SHOWN) == ("matched", "reference", "cl:33::1")


def test_an_order_missing_from_the_books_speaks_against_in_metadata_too(case: "Case") -> None:
    """Between orders that follow one another the missing one was given: its payment is not another's."""
    for number in (*range(5590, 5596), *range(5597, 5603)):
        case.invoice(str(number), 50_000 if number == 5590 else 70_000 + number, order_ref=f"ORD-2026-00{number}")
    case.payment("pi_1", 50_000, metadata='{"pedido": "ord 2026 005596"}', sender_tax_id=ANA)
    assert case.match().line("pi_1", "outcome", "match_stage") == ("no_document", "none")


def test_a_carts_number_in_metadata_does_not_speak_against(case: "Case") -> None:
    """A bare number there may be anything, also a folio that the books leave out."""
    for number in (*range(5590, 5596), *range(5597, 5603)):
        case.invoice(str(number), 50_000 if number == 5590 else 70_000 + number)
    case.payment("pi_1", 50_000, metadata='{"cart": "5596"}', sender_tax_id=ANA)
    assert case.match().line("pi_1", *SHOWN) == ("matched", "customer", "cl:33::5590")


def test_a_text_of_any_length_is_read_at_its_beginning() -> None:
    """Four hundred thousand characters give no more words than a page does."""
    words = split_words("PED 1042 " + "ab 12 " * 66_000)
    assert "PED1042" in words
    assert len(words) < 5_000
