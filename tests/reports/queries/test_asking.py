"""The language of lists: names, values and sentences for what cannot be read."""

from datetime import date
from decimal import Decimal

import pytest

from consumer.facts.columns import to_columns
from reports.queries.asking import Asked, AskedError, Range, learn, read_asked, to_moments, to_number

COLUMNS = to_columns("doc_key customer_tax_id customer_name due_date balance days_overdue outcome closed_at")
KNOWN = learn("documents", COLUMNS, date(2026, 11, 23))


def asked(box: str, sort: str = "", columns: str = "") -> Asked:
    return read_asked(KNOWN, (), box, sort=sort, columns=columns)


@pytest.mark.parametrize(
    ("typed", "column"),
    [("customer", "customer_name"), ("due", "due_date"), ("saldo", "balance"), ("BALANCE", "balance"),
     ("customer_tax_id", "customer_tax_id"), ("days-overdue", "days_overdue")],
)  # fmt: skip
def test_a_column_goes_by_several_names(typed: str, column: str) -> None:
    """Its name, its heading in any language, and the beginning of its name."""
    assert KNOWN.find(typed).name == column


@pytest.mark.parametrize(
    ("typed", "ranges"),
    [
        ("balance=100.000", [Range(Decimal(100_000), Decimal(100_000))]),
        ("balance>100,000", [Range(Decimal(100_000), None, is_strict=True)]),
        ("balance=<=1234,50", [Range(None, Decimal("1234.50"))]),
        ("balance=5..1.234.567,8", [Range(Decimal(5), Decimal("1234567.8"))]),
        ("balance=1|2", [Range(Decimal(1), Decimal(1)), Range(Decimal(2), Decimal(2))]),
        ("due=2026-02", [Range(date(2026, 2, 1), date(2026, 2, 28))]),
        ("due=05-10-2026", [Range(date(2026, 10, 5), date(2026, 10, 5))]),
        ("due=10/2026", [Range(date(2026, 10, 1), date(2026, 10, 31))]),
        ("due>2025", [Range(date(2025, 12, 31), None, is_strict=True)]),
        ("due<today", [Range(None, date(2026, 11, 23), is_strict=True)]),
        ("due=2026-01..", [Range(date(2026, 1, 1), None)]),
    ],
)
def test_numbers_and_days_are_read_as_people_write_them(typed: str, ranges: list[Range]) -> None:
    """Marks of thousands of either country, months and years, both ends or one."""
    assert list(asked(typed).conditions[0].ranges) == ranges


def test_a_box_holds_terms_and_words() -> None:
    """What has no column before it is searched; quotation marks hold a text with spaces together."""
    found = asked('33::110 customer="La Espiga" outcome=!paid|overdue "uno dos"')
    assert found.words == "33::110 uno dos"
    assert [(one.column.name, one.texts, one.is_negated) for one in found.conditions] == [
        ("customer_name", ("La Espiga",), False),
        ("outcome", ("paid", "overdue"), True),
    ]
    assert asked("customer==Ana").conditions[0].is_whole
    assert asked("customer=-").conditions[0].is_empty


@pytest.mark.parametrize("value", [" ", "\n", "!", "|", "! | "])
def test_a_filter_without_a_value_asks_nothing(value: str) -> None:
    """A field that was emptied to a blank, or holds only the sign before a value, leaves all rows."""
    assert read_asked(KNOWN, [("balance", value), ("customer", value)], "", sort="", columns="").conditions == ()


def test_order_and_columns_are_read() -> None:
    """A minus begins a descending order."""
    found = asked("", sort="-due", columns="balance,customer,balance")
    assert (found.sort, found.is_descending) == (COLUMNS[3], True)
    assert [one.name for one in found.columns] == ["balance", "customer_name"]


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ("price=3", "price: there is no such column or parameter here; the columns are doc_key, customer_tax_id"),
        ("due=2026-13", "due_date: '2026-13' is not a day, a month or a year such as"),
        ("due=31-02-2026", "due_date: '31-02-2026' is not a day"),
        ("balance=cien", "balance: 'cien' is not a number such as 100000"),
        ("balance=1..dos", "balance: 'dos' is not a number"),
        ("balance=" + "1" * 5000, "is not a number"),
        ("balance=9.999.999.999.999.999.999", "is not a number"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(typed: str, sentence: str) -> None:
    """It names the column, the value and what it may be."""
    with pytest.raises(AskedError) as refused:
        asked(typed)
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("text", "number"),
    [("1.234", "1234"), ("1,234.5", "1234.5"), ("$ 12", "12"), ("-0,5", "-0.5"), ("1.2345", "1.2345"), ("1.2.3", None),
     ("1,23,456", None), ("", None), ("١٢", None)],
)  # fmt: skip
def test_a_number_in_any_local_writing(text: str, number: str | None) -> None:
    """Three digits after a mark are thousands."""
    assert to_number(text) == (None if number is None else Decimal(number))


def test_days_of_a_moment_are_those_of_the_zone() -> None:
    """A day in Santiago ends at 3 in the morning of UTC."""
    found = to_moments(Range(date(2026, 10, 1), date(2026, 10, 1)), "America/Santiago")
    assert [str(one) for one in (found.low, found.high)] == [
        "2026-10-01 00:00:00-03:00",
        "2026-10-01 23:59:59.999999-03:00",
    ]


def test_the_last_day_there_is_has_an_end() -> None:
    """A range that ledgers write for without an end is one, and no failure."""
    last = date(9999, 12, 31)
    for asked_for in (Range(last, last), Range(last, None, is_strict=True), Range(None, last)):
        found = to_moments(asked_for, "America/Santiago")
        assert {one.year for one in (found.low, found.high) if isinstance(one, date)} == {9999}
