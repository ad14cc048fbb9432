"""Columns that the database joined to one value are cut into the cells they were, whatever stands in a text."""

from datetime import UTC, date, datetime
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from consumer.facts.installation import Installation
from consumer.facts.tables.provider import Customer, PayoutItem
from consumer.facts.tables.types import UtcDateTime, core_of
from reconcile.reading import queries
from reconcile.reading.queries import NOWHERE, SELDOM, Piece, parse, read_table
from reconcile.rules.inputs import DAY, MOMENT, MONEY, TEXT

pytestmark = pytest.mark.both_databases

BOTH = {"name": TEXT, "total": MONEY}
TABLE = core_of(Customer)
ITEMS = core_of(PayoutItem)
NOON = datetime(2026, 9, 1, 12, tzinfo=UTC)
READ = {"id": TEXT, "name": TEXT, "amount": MONEY}
TEXTS = st.text(st.one_of(st.sampled_from("\x1e\x1f',\\\n\x7f"), st.characters(codec="utf-8", exclude_characters="\0")))
ROWS = st.lists(st.tuples(st.none() | TEXTS, st.none() | st.integers(-(2**63), 2**63 - 1)), max_size=9)


def write(installation: Installation, rows: list[tuple[str | None, int | None]]) -> None:
    """Replace what is there."""
    same = {"connection": "main", "mode": "test", "body": "{}", "version_at": NOON}
    made = [same | {"id": f"{number:02}", "name": name, "amount": amount} for number, (name, amount) in enumerate(rows)]
    with installation.store.connection() as database:
        database.execute(sa.delete(TABLE))
        if made:
            database.execute(sa.insert(TABLE), made)


def read(installation: Installation, *, whole: bool = False) -> list[tuple[Any, ...]]:
    with installation.store.reading() as session:
        wanted = sa.select(*(TABLE.c[name] for name in READ))
        found = read_table(session.connection(), wanted, READ, along=None if whole else TABLE)
    return sorted(tuple(row.values()) for row in found.to_pylist())


@given(rows=ROWS)
def test_any_text_and_number_arrives_as_it_is(
    installation: Installation, rows: list[tuple[str | None, int | None]]
) -> None:
    """What a payer wrote, marks and all, is what is read, missing apart from empty, in stretches or at once."""
    write(installation, rows)
    wanted = [(f"{number:02}", *row) for number, row in enumerate(rows)]
    assert read(installation) == wanted
    assert read(installation, whole=True) == wanted


@pytest.mark.parametrize("text", ["\x1f", "\x1e", "\x1f\x1e", "a\x1fb", "a\x1e", "\x1e\x1f\x1e"])
def test_a_text_with_a_mark_has_everything_read_with_other_marks(installation: Installation, text: str) -> None:
    """A text that is a mark, or holds one, is neither two cells nor a missing one."""
    write(installation, [("", 1), (text, 2), (None, None), ("x", 3)])
    assert read(installation) == [("00", "", 1), ("01", text, 2), ("02", None, None), ("03", "x", 3)]


@pytest.mark.parametrize("text", ["\x1e", "\x1f", "\x1e\x1f", ""])
def test_a_mark_in_a_column_that_misses_nothing_is_a_text(installation: Installation, text: str) -> None:
    """There is no count of the known cells of such a column: they are all of them."""
    same = {"connection": "main", "payout_id": "po_1", "resource_type": "charge", "mode": "test", "body": "{}",
            "currency": "CLP"}  # fmt: skip
    rows = [same | {"resource_id": one, "amount": amount} for amount, one in enumerate(["a", text])]
    with installation.store.connection() as database:
        database.execute(sa.insert(ITEMS), rows)
        wanted = sa.select(ITEMS.c.resource_id, ITEMS.c.amount)
        found = read_table(database, wanted, {"resource_id": TEXT, "amount": MONEY}, along=ITEMS)
    assert sorted(map(tuple, zip(*found.to_pydict().values(), strict=True))) == sorted([("a", 0), (text, 1)])


def test_rows_on_many_pages_are_read_once(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every stretch of pages is read once, those without a row and the last one too."""
    monkeypatch.setattr(queries, "PAGES", 1)
    monkeypatch.setattr(queries, "STRETCH", 7)
    write(installation, [("ñ" * 900, number) for number in range(90)])
    with installation.store.connection() as database:
        database.execute(sa.delete(TABLE).where(TABLE.c.amount.between(20, 70)))
    assert [row[2] for row in read(installation)] == [*range(20), *range(71, 90)]


@pytest.mark.parametrize("database_kind", ["sqlite"])
@pytest.mark.parametrize("hexed", ["ff", "fe", "c3", "41ff42", "41fe", "eda080"])
@pytest.mark.parametrize("beside", ["plain", "\x1f"])
def test_bytes_of_no_text_are_refused(installation: Installation, hexed: str, beside: str) -> None:
    """SQLite keeps what another program wrote into it; what is no text is never taken for a mark."""
    write(installation, [("a", 1), (beside, 2), (None, 3)])
    with installation.store.connection() as database:
        database.execute(sa.text(f"UPDATE customer SET name = CAST(x'{hexed}' AS TEXT) WHERE id = '00'"))  # noqa: S608 - made up here
    with pytest.raises(pa.ArrowInvalid, match="UTF"):
        read(installation)


@pytest.mark.parametrize("database_kind", ["postgresql"])
def test_a_day_without_end_is_refused(installation: Installation) -> None:
    """PostgreSQL knows days and moments that no calendar has; a run must not take one for another."""
    with installation.store.reading() as session:
        for written, dtype in (("'infinity'::date", DAY), ("'-infinity'::timestamptz", MOMENT), ("'0044-03-15 BC'::date", DAY)):  # fmt: skip  # noqa: E501
            wanted: sa.Select[Any] = sa.select(sa.literal_column(written).label("at"))
            with pytest.raises(pa.ArrowInvalid):
                read_table(session.connection(), wanted, {"at": dtype})


@pytest.mark.parametrize("database_kind", ["postgresql"])
def test_moments_are_utc_in_any_zone_of_the_server(installation: Installation) -> None:
    """Neither the zone nor the notation of a session changes a moment or a day, with or without a fraction."""
    with installation.store.connection() as database:
        for name, value in (("TIME ZONE", "'America/Santiago'"), ("DateStyle", "'SQL, DMY'")):
            database.exec_driver_sql(f"SET LOCAL {name} TO {value}".replace("TIME ZONE TO", "TIME ZONE"))
        moment: Any = sa.literal_column("'2026-09-10 12:00:00.5-03'::timestamptz", UtcDateTime())
        wanted: sa.Select[Any] = sa.select(moment.label("at"), sa.literal_column("date '2026-02-01'").label("on"))
        found = read_table(database, wanted, {"at": MOMENT, "on": DAY}).to_pylist()
    assert found == [{"at": datetime(2026, 9, 10, 15, 0, 0, 500_000, tzinfo=UTC), "on": datetime(2026, 2, 1)}]  # noqa: DTZ001


@pytest.mark.parametrize("marks", [SELDOM, NOWHERE])
def test_cells_are_cut_where_the_marks_stand(marks: queries.Marks) -> None:
    """An empty cell is empty, a missing one is missing, and the last cell has no mark behind it."""
    end, missing = bytes([marks.end]), bytes([marks.missing])
    piece = Piece(4, [(end.join([b"", missing, "ñ".encode(), b""]), 3), (end.join([b"1", b"-2", missing, b"3"]), None)])
    table = parse(piece, BOTH, marks)
    assert table is not None
    assert table.to_pydict() == {"name": ["", None, "ñ", ""], "total": [1, -2, None, 3]}


def test_numbers_that_do_not_agree_give_no_table() -> None:
    """One cell too many, a mark inside a text, or a missing cell that the database knows: all of it is asked again."""
    for content, known in (
        (b"a\x1fb\x1fc", 2),
        (b"a\x1e\x1fb", 2),
        (b"\x1e\x1e\x1fb", 1),
        (b"\x1e\x1fb", 2),
        (b"ab", 2),
    ):
        assert parse(Piece(2, [(content, known)]), {"name": TEXT}, SELDOM) is None


def test_a_number_beyond_its_type_is_refused() -> None:
    """A number that 64 bits do not hold stops the reading."""
    with pytest.raises(pa.ArrowInvalid):
        parse(Piece(1, [(b"9223372036854775808", None)]), {"total": MONEY}, SELDOM)


def test_days_and_moments_are_typed() -> None:
    """A day is midnight without a zone, a moment is UTC."""
    piece = Piece(1, [(b"2026-09-01", None), (b"2026-09-10 15:00:00.123456", None)])
    table = parse(piece, {"on": DAY, "at": MOMENT}, SELDOM)
    assert table is not None
    row = table.to_pylist()[0]
    assert row["on"].date() == date(2026, 9, 1)
    assert row["at"] == pd.Timestamp("2026-09-10T15:00:00.123456Z")
