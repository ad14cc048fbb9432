"""Many files are read side by side: in their order, a bounded number at a time, whole after a process was killed."""

import multiprocessing
import os
import signal
from collections.abc import Iterator
from contextlib import suppress

import pytest
from structlog.testing import capture_logs

from reconcile.books import tax_judging
from reconcile.books.tax_files import Member
from reconcile.books.tax_judging import judge_members
from tests.reconcile.books.tax_texts import MERCHANT, cfdi

OWN = frozenset({MERCHANT})


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let two processes read portions of two files after the first three, four portions at a time."""
    for name, value in {"FEW": 3, "_FILES": 2, "_PORTIONS": 4, "_MOST_PROCESSES": 2}.items():
        monkeypatch.setattr(tax_judging, name, value)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _of: {0, 1})


def members(count: int) -> Iterator[Member]:
    for number in range(count):
        yield Member(f"{number}.xml", cfdi("a", folio=str(number)).encode())


def test_files_come_back_in_their_order() -> None:
    """A broken file among many has its own verdict and moves no other."""
    files = [*members(20), Member("broken.xml", b"<cfdi:Comprobante"), *members(3)]
    found = [(one.file, one.verdict.value, one.document.folio if one.document else "") for one in
             judge_members(files, OWN)]  # fmt: skip
    good = [(f"{number}.xml", "taken", str(number)) for number in range(20)]
    assert found == [*good, ("broken.xml", "unreadable", ""), *good[:3]]
    assert not multiprocessing.active_children()


def test_few_files_start_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """So many files as are read before it pays to start processes are read here."""
    monkeypatch.setattr(tax_judging, "ProcessPoolExecutor", None)
    assert [one.file for one in judge_members(members(3), OWN)] == ["0.xml", "1.xml", "2.xml"]


def test_a_killed_process_costs_no_file() -> None:
    """What a killed process was reading, and all that follows, is read here; the log says so once."""

    def kill_at(at: int) -> Iterator[Member]:
        for number, member in enumerate(members(40)):
            if number == at:
                for child in multiprocessing.active_children():
                    # Where one process was killed, the pool ends the other.
                    with suppress(ProcessLookupError):
                        os.kill(child.pid or 0, signal.SIGKILL)
                    child.join()
            yield member

    with capture_logs() as logged:
        found = [one.file for one in judge_members(kill_at(30), OWN)]
    assert found == [f"{number}.xml" for number in range(40)]
    assert [one["event"] for one in logged] == ["tax_reader_killed"]


def test_so_many_portions_are_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are taken from the disk as answers come back, not all at once."""
    monkeypatch.setattr(tax_judging, "_BYTES", 1)
    taken = 0

    def count() -> Iterator[Member]:
        nonlocal taken
        for taken, member in enumerate(members(60), start=1):  # noqa: B007 - read below
            yield member

    most = max(taken - number for number, _ in enumerate(judge_members(count(), OWN), start=1))
    assert most <= 4
