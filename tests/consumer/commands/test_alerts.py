"""The commands of alarms: each channel answers for itself, what stands is listed, and a person takes it in hand."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from click.testing import CliRunner, Result

from consumer.alarms import states
from consumer.commands.alerts import alerts_command
from consumer.commands.refusals import to_refusal
from consumer.facts.alarms import Severity, Signal
from consumer.facts.installation import Installation
from consumer.facts.store import Store
from tests.consumer.alarms.conftest import SECRET, MakeSettings, Receiver
from tests.consumer.alarms.conftest import alarmed as alarmed  # noqa: PLC0414 - a fixture of that folder
from tests.consumer.alarms.conftest import receiver as receiver  # noqa: PLC0414 - the same
from tests.merchant import row_of

NOW = datetime(2026, 11, 23, 13, 0, tzinfo=UTC)

Run = Callable[..., Result]


@pytest.fixture
def noted() -> list[tuple[str, ...]]:
    return []


@pytest.fixture
def alerts(store: Store, alarmed: MakeSettings, noted: list[tuple[str, ...]]) -> Run:
    def note(_store: Store, *what: str, **_at: Any) -> None:
        noted.append(what)

    def run(*words: str, urls: tuple[str, ...] = ()) -> Result:
        installation = Installation(alarmed(*urls), store)
        return CliRunner().invoke(alerts_command(note), list(words), obj=lambda: installation)

    return run


@pytest.fixture
def standing(store: Store) -> None:
    signal = Signal("main", "exception:PAYOUT_LATE", Severity.HIGH, 2, {"CLP": 1500}, found="2 open")
    with store.transaction() as session:
        states.update(session, [signal], now=NOW, is_quiet=False)


def test_a_test_message_goes_to_each_channel(alerts: Run, receiver: Receiver) -> None:
    """Each channel is named with what it answered; some that failed are 3, all of them 1."""
    good, bad = f"{receiver.url}/#{SECRET}", f"http://127.0.0.1:9/#{SECRET}"

    both = alerts("test", urls=(good, bad))
    assert both.exit_code == 3
    assert [line.rpartition(" ")[0][:18] for line in both.stdout.splitlines()] == ["webhook 127.0.0.1 "] * 2
    assert [line.partition(": ")[2] for line in both.stdout.splitlines()] == [
        "sent",
        "failed: no answer from 127.0.0.1 (ConnectError)",
    ]
    assert alerts("test", urls=(bad,)).exit_code == 1
    assert alerts("test", urls=(good,)).exit_code == 0
    assert len(receiver.got) == 2
    without = alerts("test")
    assert (without.exit_code, "CUADRE_ALERT_URLS names no channel" in without.output) == (1, True)


@pytest.mark.usefixtures("standing")
def test_what_stands_is_listed_and_taken_in_hand(alerts: Run, noted: list[tuple[str, ...]]) -> None:
    """The list says what stands, since when and who has it in hand; the trail says who took it."""
    listed = row_of(alerts("list", "--json"))
    assert (listed["cause"], listed["severity"], listed["count"]) == ("exception:PAYOUT_LATE", "high", 2)
    assert (listed["amounts"], listed["since"]) == ('{"CLP": 1500}', "2026-11-23T13:00:00Z")
    taken = alerts("acknowledge", "exception:PAYOUT_LATE", "--connection", "main", "--author", "ana@tienda.test")
    assert taken.exit_code == 0
    assert noted == [("ana@tienda.test", "acknowledge", "alarm main exception:PAYOUT_LATE")]
    assert row_of(alerts("list", "--json"))["acknowledged_by"] == "ana@tienda.test"
    shown = " ".join(alerts("list").stdout.split())
    assert "Payout late, open: 2, 1,500 CLP at risk" in shown
    assert "Since 2026-11-23T13:00:00Z (2 open). ana@tienda.test has it in hand." in shown
    assert "→ The page of exceptions says of each what to do." in shown


def test_a_cause_that_does_not_stand_is_refused(alerts: Run) -> None:
    """One sentence says where to look."""
    refused = alerts("acknowledge", "gaps", "--connection", "main", "--author", "ana")
    assert isinstance(refused.exception, Exception)
    said = to_refusal(refused.exception)
    assert said is not None
    assert (said.message, said.exit_code) == ("no alarm 'gaps' stands; cuadre alerts list shows those that do", 1)
