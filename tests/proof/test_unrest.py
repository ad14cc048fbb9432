"""Days that are merely restless: a database that restarts, two servers on one file, a secret renewed under load."""

import hashlib
import hmac
import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask

from consumer.config import load
from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from consumer.inbox.apply import drain
from consumer.webhooks.blueprint import webhooks
from consumer.webhooks.keyring import NewSecret, end_secret, keep_secret
from tests.proof.senders import SECRET
from tests.thoroughness import for_run

pytestmark = pytest.mark.both_databases

GONE_SECONDS = for_run(short=1.5, full=20.0)
LOAD_SECONDS = for_run(short=2.0, full=20.0)
ON_SQLITE = pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
ON_POSTGRESQL = pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)


def refund(number: int) -> dict[str, Any]:
    at = "2026-10-05T11:00:00Z"
    data = {"id": f"re_{number}", "object": "refund", "mode": "test", "amount": 5, "currency": "CLP"}
    data |= {"status": "succeeded", "updated_at": at}
    return {"id": f"evt_{number}", "type": "refund.succeeded", "mode": "test", "created_at": at, "data": data}


def states(installation: Any) -> Counter[str]:
    with installation.store.reading() as session:
        shown = session.connection().execute(sa.text("SELECT state, count(*) FROM event GROUP BY state"))
        return Counter(dict(shown.all()))


@ON_POSTGRESQL
def test_a_database_that_restarts_under_load(
    own_url: str, install: Callable[[str], Any], send: Callable[..., Any], request: pytest.FixtureRequest
) -> None:
    """Shut down in order and gone for a while, it costs senders a 503 and a repetition, and nothing else."""
    cluster, installation = request.getfixturevalue("cluster"), install(own_url)
    installation.serve(processes=2)
    installation.start("work")
    senders = send(installation.port, refund)
    for _ in range(2):
        time.sleep(0.5)
        cluster.stop()
        acknowledged = set(senders.acknowledged)
        time.sleep(GONE_SECONDS)
        cluster.start()
        installation.until(lambda before=acknowledged: senders.acknowledged > before, "it goes on")
    senders.stop()
    installation.until(senders.deliver_the_rest, "everything is answered")

    assert senders.statuses <= {200, 503}
    assert senders.acknowledged == installation.ids()
    count = len(senders.acknowledged)
    # What the worker had in hands when the database went is its own again when its lease ends.
    installation.kill("work")
    drain(installation.store, load(installation.environment(), folder=Path.cwd()), worker="after", now=in_two_hours)
    assert states(installation) == {"applied": count}


def in_two_hours() -> datetime:
    return utc_now() + timedelta(hours=2)


@ON_SQLITE
def test_two_servers_on_one_file(own_url: str, install: Callable[[str], Any], send: Callable[..., Any]) -> None:
    """It is not advised, and no event is lost: both store, both apply, each event is one row and one effect."""
    one, other = install(own_url), install(own_url)
    for each in (one, other):
        each.serve()
        each.start("work")
    senders = [send(each.port, refund, count=4) for each in (one, other)]
    time.sleep(LOAD_SECONDS)
    for each, some in zip((one, other), senders, strict=True):
        each.until(lambda some=some: len(some.acknowledged) > 10, "enough is answered")
    for some in senders:
        some.stop()
    for each, some in zip((one, other), senders, strict=True):
        each.until(some.deliver_the_rest, "everything is answered")
    acknowledged = senders[0].acknowledged | senders[1].acknowledged
    one.until(lambda: states(one) == {"applied": len(acknowledged)}, "everything is applied")

    assert senders[0].statuses | senders[1].statuses <= {200, 503}
    assert acknowledged == one.ids()


@ON_SQLITE
def test_a_secret_renewed_under_load(own_url: str, install: Callable[[str], Any]) -> None:
    """While each event comes twice, signed with the old and the new secret, one answer at least is 200, for one row."""
    installation = install(own_url)
    installation.serve()
    settings = load(installation.environment(), folder=Path.cwd())
    shown: list[tuple[int, str, int]] = []
    stopped = threading.Event()

    def keep_sending(name: str, secret: bytes) -> None:
        number = 0
        while not stopped.is_set():
            status = installation.post(json.dumps(refund(number)).encode(), secret=secret)[0]
            shown.append((number, name, status))
            number += 1

    new = b"whsec_renewed"
    threads = [threading.Thread(target=keep_sending, args=("old", SECRET))]
    threads[0].start()
    time.sleep(0.5)
    with installation.store.transaction() as session:
        keep_secret(session, settings, NewSecret("main", "renewed", "we_2", new.decode()), now=utc_now())
    kept_at = time.monotonic()
    threads.append(threading.Thread(target=keep_sending, args=("new", new)))
    threads[1].start()
    installation.until(
        lambda: any(name == "new" and status == 200 for _, name, status in shown), "the new one is known"
    )
    known_after = time.monotonic() - kept_at
    time.sleep(0.5)
    with installation.store.transaction() as session:
        end_secret(session, connection="main", endpoint_id="we_2", ends_at=utc_now())
    installation.until(
        lambda: shown[-1][1:] == ("new", 401) or shown[-2][1:] == ("new", 401), "the ended one is refused"
    )
    stopped.set()
    for thread in threads:
        thread.join()

    assert known_after < for_run(short=60, full=8)
    assert {status for _, name, status in shown if name == "old"} == {200}
    assert {status for _, name, status in shown if name == "new"} == {200, 401}
    assert installation.ids() == {f"evt_{number}" for number, _, status in shown if status == 200}


def test_a_clock_that_is_set_back(installation: Installation, settings: Any) -> None:
    """An hour back, what is signed by the true time is refused aloud; the rest is stored, applied and never twice."""
    clock = [utc_now()]
    app = Flask("receiver")
    app.register_blueprint(webhooks(installation, now=lambda: clock[0]))

    def post(number: int, *, signed_at: datetime) -> int:
        body = json.dumps(refund(number)).encode()
        at = str(int(signed_at.timestamp()))
        digest = hmac.new(SECRET, at.encode() + b"." + body, hashlib.sha256).hexdigest()
        return (
            app.test_client()
            .post("/webhooks", data=body, headers={"Fintoc-Signature": f"t={at},v1={digest}"})
            .status_code
        )

    true = clock[0]
    assert post(1, signed_at=true) == 200
    clock[0] = true - timedelta(hours=1)
    assert post(2, signed_at=true) == 400
    assert post(2, signed_at=clock[0]) == 200
    assert post(1, signed_at=clock[0]) == 200
    drain(installation.store, settings, worker="w", now=lambda: clock[0])
    clock[0] = true
    assert post(2, signed_at=true) == 200
    drain(installation.store, settings, worker="w", now=lambda: clock[0])

    with installation.store.reading() as session:
        shown = (
            session.connection().execute(sa.text("SELECT id, state, attempts, arrivals FROM event ORDER BY id")).all()
        )
    assert [tuple(row) for row in shown] == [("evt_1", "applied", 1, 2), ("evt_2", "applied", 1, 2)]
