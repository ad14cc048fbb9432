"""Rivals for one file, each a process of its own: ROLE FILE [ACKNOWLEDGED NAME COMMITS|0 SECONDS].

`write` records events as the receiver does and notes each id outside the database once its commit returned;
`checkpoint` moves the log into the file again and again; `boast` notes an id before its commit and dies, as a receiver
must not.
"""

import json
import os
import random
import sys
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from consumer.config import load
from consumer.facts.settings import Connection
from consumer.facts.store import Store
from consumer.inbox.record import read_arrival, record_all

RECEIVED = datetime(2026, 10, 5, 12, tzinfo=UTC)
ENVIRON = {
    "CUADRE_PROVIDER_URL": "http://provider.test",
    "CUADRE_API_KEY": "sk_test_sandbox",
    "CUADRE_COUNTRY": "cl",
}
# Far fewer pages than usual, so that every few commits begin the log anew.
PAGES = 25


def eager(file: str) -> Store:
    store = Store(f"sqlite:///{file}")

    @sa.event.listens_for(store.engine, "connect")
    def _often(raw: Any, _record: object) -> None:
        raw.execute(f"PRAGMA wal_autocheckpoint={PAGES}")

    return store


def record(store: Store, main: Connection, identity: str, *, before_commit: Callable[[], None] = lambda: None) -> None:
    data = {"id": f"re_{identity}", "amount": 5, "note": identity * 20}
    at = RECEIVED.isoformat()
    body = {"id": identity, "type": "refund.succeeded", "mode": "test", "created_at": at, "data": data}
    arrival = read_arrival(json.dumps(body).encode(), connection=main, source="webhook", received_at=RECEIVED)
    with store.connection() as writing:
        record_all(writing, [arrival])
        before_commit()


def write(file: str, acknowledged: str, name: str, commits: int, seconds: float) -> None:
    store, main = eager(file), load(ENVIRON, folder=Path(file).parent).connection("main")
    until = time.monotonic() + seconds

    def work(thread: int) -> None:
        notes = os.open(acknowledged, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        number = 0
        while number < commits or (not commits and time.monotonic() < until):
            identity = f"evt_{name}_{thread}_{number}"
            record(store, main, identity)
            os.write(notes, f"{identity}\n".encode())
            number += 1

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def checkpoint(file: str) -> None:
    raw, chance = eager(file).engine.raw_connection(), random.Random(717)  # noqa: S311 - repeatable
    # One right behind the other, which is what the fault needs; those that wait for writers are rare.
    pairs = [("PASSIVE", "PASSIVE")] * 30 + [("RESTART", "PASSIVE"), ("TRUNCATE", "PASSIVE")]
    while True:
        for way in chance.choice(pairs):
            raw.cursor().execute(f"PRAGMA wal_checkpoint({way})").fetchall()
        time.sleep(chance.uniform(0, 0.004))


def boast(file: str, acknowledged: str) -> None:
    main = load(ENVIRON, folder=Path(file).parent).connection("main")

    def die() -> None:
        Path(acknowledged).write_text("evt_boasted\n", encoding="ascii")
        os._exit(9)

    record(eager(file), main, "evt_boasted", before_commit=die)


if __name__ == "__main__":
    role, *rest = sys.argv[1:]
    if role == "write":
        write(rest[0], rest[1], rest[2], int(rest[3]), float(rest[4]))
    elif role == "boast":
        boast(rest[0], rest[1])
    else:
        checkpoint(rest[0])
