"""How people write folios, amounts and days, and what is read from it."""

from datetime import date

import pytest

from reports.search.words import Term, fold, index_key, index_text, read_terms, to_codes, to_expression

TODAY = date(2026, 11, 23)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("1.234.567", "m1234567"),
        ("$1.234.567", "m1234567"),
        ("1,234,567", "m1234567"),
        ("1234567", "m1234567"),
        ("15,000.50", "m15000p5"),
        ("15.000,50", "m15000p5"),
        ("15000.5", "m15000p5"),
        ("-5.000", "m5000"),
        ("02-11-2026", "d20261102"),
        ("2/11/26", "d20261102"),
        ("2026-11-02", "d20261102"),
        ("2 nov", "d20261102"),
        ("2 de noviembre de 2025", "d20251102"),
        ("31 dic", "d20251231"),
    ],
)
def test_amounts_and_days_are_read_as_each_country_writes_them(text: str, word: str) -> None:
    """Marks of thousands and decimals, the order of a day, and a year that is left out."""
    assert word in [whole for term in read_terms(text, TODAY) for whole in term.whole]


def test_a_day_that_does_not_exist_is_only_text() -> None:
    """No month has 45 days: what looks like a day may still be a folio."""
    assert read_terms("45-11-2026", TODAY) == [Term(groups=(("45112026",),))]


def test_dots_dashes_accents_and_capitals_hide_nothing() -> None:
    """A RUT, an order and a name are found as they are written or without their signs."""
    assert read_terms("78.918.343-0", TODAY) == [Term(groups=(("789183430",),))]
    assert "789183430" in index_key("78918343-0")
    assert set(index_key("ORD-000123")) == {"ord000123", "ord", "000123", "123"}
    assert fold("PANADERÍA Ñandú") == "panaderia nandu"
    assert list(index_text("Coca-Cola")) == ["cocacola", "coca", "cola"]


@pytest.mark.parametrize("text", ["", " ", "%", '"*():^', "😀", "\x00", "\ud83d", "-", "$"])
def test_text_without_a_letter_or_digit_asks_for_nothing(text: str) -> None:
    """Signs of query languages, half a character and pictures leave no term."""
    assert read_terms(text, TODAY) == []


def test_operators_are_only_words() -> None:
    """What a query language means by them is lost: each is a quoted word of letters and digits."""
    terms = read_terms('a OR "b" NEAR( * | & !', TODAY)
    assert to_expression(terms, is_sqlite=True, beginnings=1) == '(("a")) AND (("or")) AND (("b")) AND (("near"*))'
    assert to_expression(terms, is_sqlite=False, beginnings=1) == "(('a')) & (('or')) & (('b')) & (('near':*))"


def test_a_long_text_is_cut() -> None:
    """Ten thousand letters cost no more than some words."""
    assert len(read_terms("x" * 10_000, TODAY)) == 1
    assert len(read_terms("ab " * 10_000, TODAY)) == 1
    assert len(read_terms(" ".join(str(n) for n in range(1000)), TODAY)) == 12


def test_a_title_is_found_by_the_beginnings_of_its_words() -> None:
    """Every word asked for begins one of the title."""
    titles = [("PAYMENT_NO_INVOICE", "Pago sin documento"), ("PAYOUT_LATE", "Liquidación atrasada")]
    assert to_codes("sin docu", titles) == ["PAYMENT_NO_INVOICE"]
    assert to_codes("LIQUIDACION", titles) == ["PAYOUT_LATE"]
    assert to_codes("documento x", titles) == []
