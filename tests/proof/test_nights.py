"""Whole nights against a provider that misbehaves: all events are kept, or the night says what is missing and heals."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import httpx
import pytest
from flask import Flask
from sqlmodel import select
from werkzeug.serving import make_server

import app
from consumer.facts.installation import Installation
from consumer.facts.store import Store
from consumer.facts.tables.inbox import Event
from consumer.facts.tables.jobs import Tick
from consumer.facts.work import Completion
from consumer.sync.pull import STREAMS, pull
from consumer.sync.windows import unclosed_windows
from consumer.webhooks.blueprint import webhooks
from reconcile.runs.nightly import NightlyOutcome
from sandbox.remote import TEST_KEY, Steer
from sandbox.serve import RunningSandbox
from sandbox.state.events import TYPES
from tests.merchant import settings_of
from tests.ports import free_port
from tests.thoroughness import for_run

DAY = date(2026, 10, 2)
TWO_DAYS = 2 * 24 * 3600 + 20 * 60
HOUR = 3600.0

# Faults of the deliveries act while the days pass, those of the answers while the night reads.
LIVED: dict[str, dict[str, Any]] = {
    "duplicate": {"probability": 0.5},
    "drop": {"probability": 0.5},
    "reorder": {"probability": 0.5},
    "delay": {"probability": 0.5, "seconds": 900},
    "tie": {"probability": 0.5},
    "late-visible": {"probability": 0.5, "seconds": 1800},
}
READ: dict[str, dict[str, Any]] = {
    "key-refused": {"probability": 0.1, "times": 1},
    "wrong-type": {"probability": 0.1, "times": 3},
    "rate-limit": {"probability": 0.1, "times": 3, "retry_after": "seconds", "seconds": 1},
    "version-switch": {"probability": 0.1, "times": 1},
}


@dataclass
class Merchant:
    """An installation whose receiver listens beside a provider of its own."""

    installation: Installation
    steer: Steer
    url: str

    def night(self) -> NightlyOutcome:
        return app.run_night_by_hand(self.installation, self.installation.settings.connection("main"), DAY)

    def sent(self) -> set[str]:
        """Every event of the provider's log, read without any care."""
        with httpx.Client(base_url=self.url, headers={"Authorization": TEST_KEY}, timeout=120) as client:
            events = client.get("/v2/events", params={"limit": 300})
        found = {event["id"] for event in events.raise_for_status().json()}
        assert 0 < len(found) < 300
        return found

    def stored(self) -> set[str]:
        with self.installation.store.reading() as session:
            return set(session.exec(select(Event.id)))


Live = Callable[..., Merchant]


@pytest.fixture
def live(migrated_url: str, tmp_path: Path) -> Iterator[Live]:
    """Live through two quiet days with the receiver on a real port."""
    opened: list[Any] = []

    @contextmanager
    def merchant() -> Iterator[Merchant]:
        with RunningSandbox("quiet") as running, Steer(running.url) as steer:
            port = free_port()
            secret = steer.create_endpoint(f"http://127.0.0.1:{port}/webhooks", list(TYPES))["secret"]
            settings = settings_of(
                running.url,
                tmp_path,
                webhook_secrets=secret,
                link_tokens=",".join(steer.credentials()["link_tokens"]),
                database_url=migrated_url,
                secret_key="a key that only tests know",
            )
            installation = Installation(settings, Store(migrated_url))
            with _receiving(installation, port):
                yield Merchant(installation, steer, running.url)
            installation.store.close()

    def begin(**faults: dict[str, Any]) -> Merchant:
        opened.append(merchant())
        one: Merchant = opened[-1].__enter__()
        for name, options in faults.items():
            one.steer.switch_on(name.replace("_", "-"), **options)
        one.steer.advance(TWO_DAYS)
        return one

    yield begin
    for one in opened:
        one.__exit__(None, None, None)


@contextmanager
def _receiving(installation: Installation, port: int) -> Iterator[None]:
    receiver = Flask("receiver")
    receiver.register_blueprint(webhooks(installation))
    server = make_server("127.0.0.1", port, receiver, threaded=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield
    server.shutdown()
    server.server_close()
    thread.join()


sqlite_only = pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)


@sqlite_only
@pytest.mark.parametrize("fault", for_run(short=["drop", "wrong-type"], full=[*LIVED, *READ]))
def test_a_night_is_whole_or_says_why_not_and_the_next_one_heals(live: Live, fault: str) -> None:
    """Every event is stored, or the night is incomplete with a reason; with the fault over, one more night is whole."""
    merchant = live(**({fault: LIVED[fault]} if fault in LIVED else {}))
    if fault in READ:
        merchant.steer.switch_on(fault, **READ[fault])
    first = merchant.night()
    merchant.steer.switch_off()
    if first.status is Completion.DONE:
        assert merchant.stored() >= merchant.sent()
    else:
        assert first.status is Completion.PARTLY_DONE
        assert first.lines[-1].startswith("main: the night of 2026-10-02 is incomplete: ")
    merchant.steer.advance(HOUR)
    healed = merchant.night()
    assert healed.status is Completion.DONE, healed.lines
    assert merchant.stored() == merchant.sent()


@pytest.mark.both_databases
def test_two_nights_at_once_end_as_one(live: Live) -> None:
    """Two people who ask for the same night at the same moment both get it whole, and the rows are those of one."""
    merchant = live()
    with ThreadPoolExecutor(2) as pool:
        both = [future.result() for future in [pool.submit(merchant.night) for _ in range(2)]]
    assert [one.status for one in both] == [Completion.DONE, Completion.DONE], [one.lines for one in both]
    assert merchant.stored() == merchant.sent()
    with merchant.installation.store.reading() as session:
        ticks = [tick.state for tick in session.exec(select(Tick))]
    assert ticks == ["complete", "complete"]


@pytest.mark.both_databases
def test_two_pulls_at_once_leave_no_gap(live: Live) -> None:
    """Two pulls of every stream side by side are both complete, and close every window they opened."""
    merchant = live()
    connection = merchant.installation.settings.connection("main")
    with ThreadPoolExecutor(2) as pool:
        both = [
            future.result()
            for future in [pool.submit(pull, merchant.installation, connection, list(STREAMS)) for _ in "ab"]
        ]
    assert [one.status for one in both] == [Completion.DONE, Completion.DONE]
    with merchant.installation.store.reading() as session:
        assert unclosed_windows(session) == []
