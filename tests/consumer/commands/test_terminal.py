"""How commands read dates and times, and how they print."""

import sys
from datetime import UTC, date, datetime, timedelta

import click
import pytest

from consumer.commands.terminal import CommandError, LocalDate, Moment, check_range, print_findings, print_rows
from consumer.facts.clock import to_utc


@pytest.mark.parametrize(
    ("written", "instant"),
    [
        ("2026-10-31", datetime(2026, 10, 31, 3, tzinfo=UTC)),
        ("2026-10-31T14:00", datetime(2026, 10, 31, 17, tzinfo=UTC)),
        ("2026-10-31T14:00:00Z", datetime(2026, 10, 31, 14, tzinfo=UTC)),
        # The clock skips the first hour of this day, and two in the afternoon is two in the afternoon.
        ("2026-09-06", datetime(2026, 9, 6, 4, tzinfo=UTC)),
        ("2026-09-06T14:00", datetime(2026, 9, 6, 17, tzinfo=UTC)),
    ],
)
def test_a_time_without_a_zone_is_the_connections_wall_clock(written: str, instant: datetime) -> None:
    """A date is local midnight, a time without a zone is local, and one with a zone is what it says."""
    assert to_utc(Moment().convert(written, None, None), "America/Santiago") == instant


def test_a_range_that_ends_before_it_begins_is_wrong_usage() -> None:
    """The refusal names the options and exits 2; a range of nothing is no mistake."""
    check_range(date(2026, 10, 1), date(2026, 10, 1), "--from/--to")
    with pytest.raises(CommandError, match="--from/--to: the range ends before it begins") as refused:
        check_range(date(2026, 10, 2), date(2026, 10, 1), "--from/--to")
    assert refused.value.exit_code == 2


@pytest.mark.parametrize("kind", [Moment(), LocalDate()])
@pytest.mark.parametrize("written", ["0001-01-01", "9999-12-31", "1969-12-31", "3000-01-01", "2026-02-30", "today"])
def test_a_day_no_calendar_reckons_with_is_wrong_usage(kind: click.ParamType[date], written: str) -> None:
    """Days at the ends of the calendar would leave it one step later."""
    with pytest.raises(click.BadParameter, match="is not a date such as 2026-10-31"):
        kind.convert(written, None, None)


def test_what_adds_up_stands_on_the_right(capsys: pytest.CaptureFixture[str]) -> None:
    """Counts and amounts stand digit under digit; a folio is no amount, and no line ends in blanks."""
    rows = [
        {"folio": "7", "total": "1190", "days": 3, "at risk": "5 CLP", "is_open": True, "owner": None},
        {"folio": "881096", "total": "-99.50", "days": 12, "at risk": "1190 CLP", "is_open": False, "owner": None},
    ]
    print_rows(rows, ("folio", "total", "days", "at risk", "is_open", "owner"), as_json=False)
    assert capsys.readouterr().out.splitlines() == [
        "folio    total  days   at risk  is_open  owner",
        "7         1190     3     5 CLP  yes",
        "881096  -99.50    12  1190 CLP  no",
    ]


@pytest.mark.parametrize(
    ("columns", "lines"),
    [
        (
            "66",
            [
                "id        made_at               count  about",
                "ex_00001  2026-11-01T03:15:00Z      2  a payment that no document",
                "                                       explains",
                "ex_00002  2026-11-02T03:15:00Z     14  a document",
            ],
        ),
        (
            "48",
            [
                "id: ex_00001  made_at: 2026-11-01T03:15:00Z",
                "    count: 2",
                "    about: a payment that no document explains",
                "id: ex_00002  made_at: 2026-11-02T03:15:00Z",
                "    count: 14  about: a document",
            ],
        ),
    ],
    ids=["one column folds", "too wide for a table"],
)
def test_a_table_fits_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], columns: str, lines: list[str]
) -> None:
    """Empty columns go, then the widest is folded between words, and rows that still do not fit are paragraphs."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("TERM", "dumb")
    day = datetime(2026, 11, 1, 3, 15, 0, 123456, tzinfo=UTC)
    rows = [
        {"id": "ex_00001", "made_at": day, "owner": None, "count": 2, "about": "a payment that no document explains"},
        {"id": "ex_00002", "made_at": day + timedelta(days=1), "owner": "", "count": 14, "about": "a document"},
    ]
    print_rows(rows, ("id", "made_at", "owner", "count", "about"), as_json=False)
    assert capsys.readouterr().out.splitlines() == lines


def test_findings_are_never_wide(capsys: pytest.CaptureFixture[str]) -> None:
    """What was found stands beside its verdict and what to do below it, also in a pipe."""
    shown = "main gaps: none, but 22 streams reach no further than 2026-11-01T03:00:00Z: the provider's clock is behind"
    print_findings([("ok", "settings: read", ""), ("warning", shown, "cuadre gaps says which")])
    assert capsys.readouterr().out.splitlines() == [
        "ok       settings: read",
        "warning  main gaps: none, but 22 streams reach no further than 2026-11-01T03:00:00Z: the provider's",
        "         clock is behind",
        "         → cuadre gaps says which",
    ]


def test_a_long_text_is_cut_for_people_and_whole_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    """A table cuts a cell at 2,000 characters, the last one a mark; JSON keeps every character."""
    rows = [{"id": "pi_1", "name": "x" * 400_000}]
    print_rows(rows, ("id", "name"), as_json=False)
    assert capsys.readouterr().out.splitlines()[1] == "pi_1  " + "x" * 1_999 + "…"
    print_rows(rows, ("id", "name"), as_json=True)
    assert capsys.readouterr().out == '{"id": "pi_1", "name": "' + "x" * 400_000 + '"}\n'
