"""What a worker writes into the log while the database is away: that it is, and that it is back."""

import threading

import pytest
import structlog
from structlog.testing import LogCapture

from consumer.jobs import worker


@pytest.fixture
def lines() -> LogCapture:
    capture = LogCapture()
    structlog.configure(processors=[capture])
    return capture


def test_a_state_is_logged_once_and_not_with_each_attempt(lines: LogCapture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five attempts fail for one reason and one for another; then the work goes on."""
    monkeypatch.setattr(worker, "FAILED_SECONDS", 0.0)
    monkeypatch.setattr(worker, "log", structlog.get_logger("test"))
    faults = [*[OSError] * 5, ValueError, None]
    until = threading.Event()

    def work() -> float:
        fault = faults.pop(0)
        if not faults:
            until.set()
        if fault is not None:
            raise fault
        return 0.0

    worker.keep_at(work, until=until)

    assert [entry["event"] for entry in lines.entries] == [
        "the worker could not work",
        "the worker could not work",
        "the worker works again",
    ]
    structlog.reset_defaults()
