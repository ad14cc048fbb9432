"""Kill -9 under load: what was acknowledged is stored, and what is stored is applied once."""

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from sqlmodel import select

from consumer.config import Settings
from consumer.facts.clock import utc_now
from consumer.facts.store import Store
from consumer.facts.tables.inbox import Event
from consumer.facts.tables.provider import Refund
from consumer.inbox.apply import drain

KILLS = int(os.environ.get("CUADRE_TEST_KILLS", "4"))
SENDERS = 8
SCRIPT = Path(__file__).parent / "receiver_process.py"
ROOT = Path(__file__).parents[3]

Sign = Callable[..., str]


@contextmanager
def receiver(database_url: str, folder: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    process = subprocess.Popen(
        [sys.executable, SCRIPT, database_url, folder],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None
    try:
        yield process, int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def send_until_dead(port: int, sign: Sign, first: int, acknowledged: set[str]) -> None:
    """Send one new event after another over one connection, and note each that was answered with 200."""
    connection = HTTPConnection("127.0.0.1", port, timeout=5)
    number = first
    while True:
        number += 1
        event = {
            "id": f"evt_{number}",
            "type": "refund.succeeded",
            "mode": "test",
            "created_at": "2026-10-05T11:00:00Z",
            "data": {"id": f"re_{number}", "amount": 5, "currency": "CLP", "status": "succeeded"},
        }
        body = json.dumps(event).encode()
        try:
            header = {"Fintoc-Signature": sign(body, at=int(time.time()))}
            connection.request("POST", "/webhooks", body, header)
            answer = connection.getresponse()
            answer.read()
        except (OSError, HTTPException):
            connection.close()
            return
        # A busy machine may answer 503; only a 200 is a promise.
        assert answer.status in {200, 503}
        if answer.status == 200:
            acknowledged.add(f"evt_{number}")


def test_a_killed_process_loses_nothing_it_acknowledged(
    migrated_url: str, store: Store, settings: Settings, sign: Sign, tmp_path: Path
) -> None:
    """Receiver and worker die at random points under load; acknowledged ids are stored, effects happen once."""
    acknowledged: set[str] = set()
    chance = random.Random(717)  # noqa: S311 - repeatable
    for kill in range(KILLS):
        with receiver(migrated_url, tmp_path) as (process, port):
            starts = [kill * 10_000_000 + sender * 1_000_000 for sender in range(SENDERS)]
            threads = [
                threading.Thread(target=send_until_dead, args=(port, sign, start, acknowledged)) for start in starts
            ]
            for thread in threads:
                thread.start()
            time.sleep(chance.uniform(0.1, 0.6))
            process.kill()
            for thread in threads:
                thread.join()

    drain(store, settings, worker="after", now=lambda: utc_now() + timedelta(hours=2))
    with store.reading() as session:
        stored = {event.id: event.state for event in session.exec(select(Event))}
        refunds = [row.id for row in session.exec(select(Refund))]
    assert len(acknowledged) > SENDERS
    assert acknowledged <= set(stored)
    assert set(stored.values()) == {"applied"}
    assert sorted(refunds) == sorted(event_id.replace("evt_", "re_") for event_id in stored)
