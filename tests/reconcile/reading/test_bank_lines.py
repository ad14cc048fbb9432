"""What arrived at the bank: only money in, on the day the bank says."""

import json
from datetime import UTC, date, datetime
from typing import Any

import pytest

from consumer.facts.bankdays import calendar_of
from reconcile.reading.bank import FileLine, Imported, Movement, account_name, bank_lines
from reconcile.tables.books import BankFile

CHILE = calendar_of("cl")
LATE = datetime(2026, 10, 2, 1, 30, tzinfo=UTC)


def _movement(identity: str, amount: int, *, created_at: datetime | None = None, **body: Any) -> Movement:
    """A row of either table of movements."""
    word = body.get("direction") or body.get("status") or ""
    return Movement(identity, "acc_1", amount, "CLP", created_at, json.dumps(body), word)


def _lines(*, own: Any = (), linked: Any = ()) -> list[tuple[Any, ...]]:
    found = bank_lines(own=own, linked=linked, numbers={"acc_1": "00012345678"}, calendar=CHILE)
    found = found[found["amount"] > 0]
    days = found["booked_on"].dt.strftime("%Y-%m-%d")
    return list(zip(found["movement_id"], found["account_last4"], found["amount"], days, strict=True))


def test_only_money_that_came_in_for_good_is_listed() -> None:
    """An own account says the direction in a word, a linked one in the sign, and only confirmed ones count."""
    own = [
        _movement("mov_1", 900, direction="inbound", transaction_date="2026-10-01T15:00:00Z"),
        _movement("mov_2", 900, direction="outbound", transaction_date="2026-10-01T15:00:00Z"),
    ]
    linked = [
        _movement("mov_3", 500, status="confirmed", transaction_date="2026-10-01T15:00:00.000Z"),
        _movement("mov_4", -500, status="confirmed", transaction_date="2026-10-01T15:00:00.000Z"),
        _movement("mov_5", 500, status="pending", transaction_date="2026-10-01T15:00:00.000Z"),
    ]
    assert _lines(own=own, linked=linked) == [
        ("mov_1", "5678", 900, "2026-10-01"),
        ("mov_3", "5678", 500, "2026-10-01"),
    ]


@pytest.mark.parametrize(
    ("dates", "booked_on"),
    [
        ({"transaction_date": "2026-10-02T01:30:00.000Z", "post_date": "2026-10-02T00:00:00.000Z"}, "2026-10-01"),
        ({"transaction_date": None, "post_date": "2026-10-02T00:00:00.000Z"}, "2026-10-02"),
        ({"post_date": "2026-10-02"}, "2026-10-02"),
        ({}, "2026-10-01"),
    ],
)
def test_a_posting_day_is_never_moved_by_a_time_zone(dates: dict[str, Any], booked_on: str) -> None:
    """An instant is read on the local clock, while midnight UTC of a posting only names its day."""
    row = _movement("mov_1", 500, created_at=LATE, status="confirmed", **dates)
    assert _lines(linked=[row]) == [("mov_1", "5678", 500, booked_on)]


def test_a_movement_without_any_date_is_no_line() -> None:
    """Nothing is invented for it."""
    assert _lines(linked=[_movement("mov_1", 500, status="confirmed")]) == []


def _file_line(identity: str, day: int, amount: int = 500, *, file: int = 0) -> FileLine:
    return FileLine(
        id=identity, account="12345678", booked_on=date(2026, 10, day), amount=amount, currency="CLP", text="PAGO po_1",
        reference="17", file_sha256=f"sha{file}",
    )  # fmt: skip


def _file(number: int, since: int, until: int, *balances: int) -> BankFile:
    """A file of some days; balances are opening, closing and what the account held as the last day began."""
    stated: dict[str, Any] = dict(zip(("opening", "closing", "last_opening"), balances, strict=False))
    return BankFile(
        connection="main", sha256=f"sha{number}", name="x", account="12345678", file_format="MT940", currency="CLP",
        since=date(2026, 10, since), until=date(2026, 10, until), imported_at=LATE, rows=1, added=1, **stated,
    )  # fmt: skip


def _files(*edges: tuple[int, ...], lines: list[FileLine], own: Any = ()) -> list[tuple[Any, ...]]:
    files = [_file(number, *edge) for number, edge in enumerate(edges)]
    found = bank_lines(
        own=own, linked=(), numbers={"acc_1": "00012345678"}, calendar=CHILE, imported=Imported(lines, files)
    )
    found = found[found["amount"] > 0]
    days = [found[name].dt.strftime("%d") for name in ("booked_on", "known_since", "known_until")]
    return list(zip(found["movement_id"], found["text"], *days, strict=True))


def test_files_of_one_account_are_joined_where_no_bank_day_lies_between() -> None:
    """Friday to Monday is no hole; a missing Tuesday is."""
    lines = [
        _file_line("bank_1", 2),
        _file_line("bank_2", 5, file=1),
        _file_line("bank_3", 7, file=2),
        _file_line("bank_4", 5, -1, file=1),
    ]
    assert _files((1, 2), (5, 5), (7, 8), lines=lines) == [
        ("bank_1", "PAGO po_1\n17", "02", "01", "05"),
        ("bank_2", "PAGO po_1\n17", "05", "01", "05"),
        ("bank_3", "PAGO po_1\n17", "07", "07", "08"),
    ]


def test_a_file_counts_beside_movements_of_its_account() -> None:
    """Both are shown, and the account is shown also where none of its movements is money in."""
    shown = [_movement("mov_1", 900, direction="outbound", transaction_date="2026-10-01T15:00:00Z")]
    assert [row[0] for row in _files((1, 8), lines=[_file_line("bank_1", 2)], own=shown)] == ["bank_1"]
    numbers = {"acc_1": "00012345678"}
    of_own = bank_lines(own=shown, linked=(), numbers=numbers, calendar=CHILE)
    of_linked = bank_lines(own=(), linked=shown, numbers=numbers, calendar=CHILE)
    assert [list(found["amount"]) for found in (of_own, of_linked)] == [[0], [0]]
    assert of_own["known_since"].isna().all()
    assert list(of_linked["known_since"].dt.strftime("%Y-%m-%d")) == ["2026-10-01"]


def test_every_line_of_a_linked_account_says_when_its_history_begins() -> None:
    """A line that said nothing would claim all days before, and payouts of then would not be in the bank."""
    moves = [
        _movement("mov_1", 500, status="confirmed", transaction_date="2026-10-09T15:00:00Z"),
        _movement("mov_2", -70, status="confirmed", transaction_date="2026-10-07T15:00:00Z"),
    ]
    numbers = {"acc_1": "00012345678"}
    found = bank_lines(own=(), linked=moves, numbers=numbers, calendar=CHILE)
    since = found["known_since"].dt.strftime("%Y-%m-%d")
    assert list(zip(found["movement_id"], since, strict=True)) == [
        ("mov_1", "2026-10-07"),
        ("shown_acc_1_CLP", "2026-10-07"),
    ]


@pytest.mark.parametrize(
    ("moment", "booked_on", "bank_day"),
    [
        ("2026-10-01T16:59:00Z", "2026-10-01", "2026-10-01"),
        ("2026-10-01T17:00:00Z", "2026-10-01", "2026-10-02"),
        ("2026-10-02T18:00:00Z", "2026-10-02", "2026-10-05"),
        ("2026-10-03T12:00:00Z", "2026-10-03", "2026-10-05"),
    ],
)
def test_a_movement_after_the_cut_belongs_to_the_next_bank_day(moment: str, booked_on: str, bank_day: str) -> None:
    """The bank's own statement may book it then; Santiago's 14:00 is the cut."""
    row = _movement("mov_1", 500, direction="inbound", transaction_date=moment, reference_id="991")
    found = bank_lines(own=[row], linked=(), numbers={"acc_1": "00012345678"}, calendar=CHILE)
    (line,) = found[found["amount"] > 0].to_dict("records")
    days = [line[name].date().isoformat() for name in ("booked_on", "bank_day")]
    assert (*days, line["reference"]) == (booked_on, bank_day, "991")


@pytest.mark.parametrize(
    ("edges", "until"),
    [
        (((1, 2, 0, 70), (5, 6, 70, 80)), "06"),
        (((1, 2, 0, 70), (5, 6, 71, 80)), "02"),
        (((1, 2, 0, 70), (5, 6)), "06"),
        (((1, 2, 0, 70, 50), (2, 6, 50, 80)), "06"),
        (((1, 2, 0, 70, 50), (2, 6, 70, 80)), "06"),
        (((1, 2, 0, 70, 50), (2, 6, 60, 80)), "02"),
        (((1, 5, 0, 70, 50), (2, 6, 60, 80)), "06"),
        (((2, 2, 70, 80, 70), (2, 2, 0, 70, 0), (5, 5, 80, 90)), "05"),
        (((1, 2, 0, 70, 50), (2, 5, 60, 80), (2, 6, 50, 80)), "06"),
    ],
)
def test_files_that_state_balances_are_joined_where_these_meet(edges: tuple[tuple[int, ...], ...], until: str) -> None:
    """A day listed twice or split between two files is no hole; a balance in between that no file states is one."""
    rows = _files(*edges, lines=[_file_line("bank_1", 2)])
    assert [row[4] for row in rows] == [until]


def test_each_stretch_is_told_without_any_line() -> None:
    """A file of charges only, or of nothing, still says that no money came on its days."""
    found = bank_lines(
        own=(), linked=(), numbers={}, calendar=CHILE,
        imported=Imported([_file_line("bank_1", 2, -500)], [_file(0, 1, 2), _file(1, 7, 8)]),
    )  # fmt: skip
    days = [found[name].dt.strftime("%d") for name in ("known_since", "known_until")]
    assert list(zip(found["amount"], found["account_last4"], *days, strict=True)) == [
        (0, "5678", "01", "02"),
        (0, "5678", "07", "08"),
    ]


def test_a_line_dated_outside_its_file_keeps_the_days_of_its_file() -> None:
    """Some banks write the value date; the money is there, and no day more is known."""
    assert _files((5, 6, 0, 500), lines=[_file_line("bank_1", 2)]) == [("bank_1", "PAGO po_1\n17", "02", "05", "06")]


@pytest.mark.parametrize("number", ["00012345678", "0-001-234.567 8", "12345678"])
def test_an_account_has_one_name_however_it_is_written(number: str) -> None:
    """Zeros in front, points, hyphens and spaces are each bank's own; the name shows no digit."""
    assert account_name(number) == account_name("12345678")
    assert "5678" not in str(account_name(number))


@pytest.mark.parametrize("number", [None, "", "5678", "****5678", "0000*****5678"])
def test_part_of_a_number_names_no_account(number: str | None) -> None:
    """Two accounts may end alike."""
    assert account_name(number) is None
