"""Processor seconds of each test, held by a budget: five times what `docs/testing.md` lists for it.

A test that is not listed gets the budget of the last one that is. What shared fixtures take belongs to no test. The
processor's time varies less than the clock's; the room is for slower processors and busy neighbours.
"""

import os
import re
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.thoroughness import IS_FULL

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "testing.md"
IS_WRITTEN = os.environ.get("CUADRE_TEST_WRITE_SLOWEST") == "1"
TIMES, LISTED, LEAST = 5, 20, 30.0
_ROW = re.compile(r"^\| ([\d.]+) \| `([^`]+)` \|$", re.MULTILINE)
_PROPERTY = "processor seconds"


def read_listed() -> dict[str, float]:
    """Return the seconds of the tests that the documentation lists."""
    return {name: float(seconds) for seconds, name in _ROW.findall(DOCUMENT.read_text(encoding="utf-8"))}


def budget_of(nodeid: str, listed: dict[str, float]) -> float:
    """Return how many seconds of processor a test may take."""
    return max(LEAST, TIMES * listed.get(nodeid, min(listed.values(), default=LEAST)))


def write_listed(spent: dict[str, float]) -> None:
    """Write the slowest tests into the documentation."""
    slowest = sorted(spent.items(), key=lambda row: (-row[1], row[0]))[:LISTED]
    rows = "".join(f"| {seconds:.1f} | `{name}` |\n" for name, seconds in slowest)
    before, head, after = DOCUMENT.read_text(encoding="utf-8").partition("| seconds | test |\n|---|---|\n")
    rest = re.sub(r"\A(?:\|.*\n)*", "", after)
    DOCUMENT.write_text(f"{before}{head}{rows}{rest}", encoding="utf-8")


def _processor() -> float:
    return sum(os.times()[:4])


class Budget:
    """Measures every test and fails the one that takes too much."""

    def __init__(self) -> None:
        self._listed = read_listed()
        self._spent: dict[str, float] = {}
        self._began = self._shared = 0.0
        self._depth = 0

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Generator[None, None, None]:
        self._began, self._shared = _processor(), 0.0
        yield

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object]) -> Generator[None, object, object]:
        """Take out what a fixture costs that other tests use too."""
        is_shared = fixturedef.scope != "function"
        began = _processor()
        self._depth += is_shared
        try:
            return (yield)
        finally:
            self._depth -= is_shared
            if is_shared and not self._depth:
                self._shared += _processor() - began

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, None, None]:
        # The last test of a module would pay for the end of what its module and its worker shared.
        is_last = nextitem is None or nextitem.path != item.path
        spent = _processor() - self._began - self._shared
        yield
        if not is_last:
            spent = _processor() - self._began - self._shared
        item.user_properties.append((_PROPERTY, spent))
        allowed = budget_of(item.nodeid, self._listed)
        if spent > allowed and not IS_FULL and not IS_WRITTEN:
            pytest.fail(f"took {spent:.1f} s of processor, more than its {allowed:.1f}: docs/testing.md", pytrace=False)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # A test whose worker ended has no seconds.
        seconds = dict(report.user_properties).get(_PROPERTY)
        if report.when == "teardown" and seconds is not None:
            self._spent[report.nodeid] = float(str(seconds))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.write_line(f"{sum(self._spent.values()):.0f} s of processor in {len(self._spent)} tests")
        if IS_WRITTEN:
            write_listed(self._spent)
