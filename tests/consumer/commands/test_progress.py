"""How far a backfill is: drawn on a terminal, never in a pipe."""

import sys

import pytest

from consumer.commands.sync import show_pages
from consumer.facts.tables.sync import Window

CLOSED = Window(connection="main", stream="events", state="closed")


def test_nothing_is_drawn_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    """Where standard error is no terminal, not a byte is written."""
    with show_pages() as on_page:
        on_page(CLOSED, 4, 300)
    assert capsys.readouterr() == ("", "")


def test_a_terminal_shows_windows_events_and_times(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Closed windows of all, events that were new, the time it took and an estimate of the rest; on stderr alone."""
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with show_pages() as on_page:
        for number in range(3):
            on_page(CLOSED, 4, 300 * (number + 1))
    drawn = capsys.readouterr()
    assert drawn.out == ""
    assert "3/4" in drawn.err
    assert "900 new" in drawn.err
    assert "0:00:0" in drawn.err
