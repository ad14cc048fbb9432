"""Webhook, event list and resource list correct each other: whichever knows the truth, in whichever order."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import permutations, product
from typing import Any

import httpx
import pytest
from sqlmodel import select

from consumer.facts.clock import format_instant
from consumer.facts.installation import Installation
from consumer.facts.tables.inbox import Source
from consumer.facts.tables.provider import Refund
from consumer.inbox.apply import drain
from consumer.inbox.record import read_arrival, record_all
from consumer.provider.budget import Budget
from consumer.provider.client import Provider
from consumer.sync.backfill import read_log
from consumer.sync.drift import compare_streams
from consumer.sync.pull import STREAMS, read_streams

NOW = datetime(2026, 10, 1, 3, tzinfo=UTC)
SOURCES = ("webhook", "log", "list")
# What each source knows of a refund: its last state, the one before, or nothing.
KNOWLEDGE = ("fresh", "stale", "silent")
STATES = {"stale": ("in_progress", NOW - timedelta(hours=3)), "fresh": ("succeeded", NOW - timedelta(hours=2))}
CASES = {f"re_{'_'.join(case)}": dict(zip(SOURCES, case, strict=True)) for case in product(KNOWLEDGE, repeat=3)}
REFUNDS = [STREAMS["refunds"]]


def refund(id_: str, knowledge: str) -> dict[str, Any]:
    status, at = STATES[knowledge]
    return {
        "id": id_,
        "object": "refund",
        "mode": "test",
        "status": status,
        "amount": 700,
        "currency": "CLP",
        "resource_id": "pi_1",
        "created_at": format_instant(NOW - timedelta(hours=4)),
        "updated_at": format_instant(at),
    }


def events(id_: str, knowledge: str) -> list[dict[str, Any]]:
    """The events up to what is known: the log keeps what happened before."""
    known = {"fresh": ["stale", "fresh"], "stale": ["stale"], "silent": []}[knowledge]
    return [
        {
            "id": f"evt_{id_}_{one}",
            "object": "event",
            "type": f"refund.{STATES[one][0]}",
            "mode": "test",
            "created_at": format_instant(STATES[one][1]),
            "data": refund(id_, one),
        }
        for one in known
    ]


@pytest.fixture
def provider(installation: Installation, log_server: Any, list_server: Any) -> Iterator[Provider]:
    """A provider whose log and whose list of refunds know of each refund what its case says."""
    log_server.events = [event for id_, case in CASES.items() for event in events(id_, case["log"])]
    log_server.page_size = 300
    shown = [refund(id_, case["list"]) for id_, case in CASES.items() if case["list"] != "silent"]
    list_server.lists["/v1/refunds"] = shown
    by_id = {row["id"]: row for row in shown}

    def answer(request: httpx.Request) -> httpx.Response:
        path = request.url.path
        if path == "/v2/events":
            found: httpx.Response = log_server.answer(request)
            return found
        if path.startswith("/v1/refunds/"):
            one = by_id.get(path.rsplit("/", 1)[1])
            return httpx.Response(200, json=one) if one else httpx.Response(404)
        listed: httpx.Response = list_server.answer(request)
        return listed

    settings = installation.settings
    transport = httpx.MockTransport(answer)
    with Provider(
        settings.connection("main"), settings, Budget(installation.store, 100_000), transport=transport
    ) as made:
        yield made


def bring(source: str, installation: Installation, provider: Provider) -> None:
    if source == "list":
        assert read_streams(installation, provider, REFUNDS).complete
        return
    if source == "log":
        assert read_log(installation, provider).complete
    else:
        connection = installation.settings.connection("main")
        bodies = [json.dumps(event).encode() for id_, case in CASES.items() for event in events(id_, case["webhook"])]
        arrivals = [
            read_arrival(body, connection=connection, source=Source.WEBHOOK, received_at=NOW) for body in bodies
        ]
        with installation.store.transaction() as session:
            record_all(session.connection(), arrivals)
    drain(installation.store, installation.settings, worker="test")


def statuses(installation: Installation) -> dict[str, str | None]:
    with installation.store.reading() as session:
        return dict(session.exec(select(Refund.id, Refund.status)).all())


@pytest.mark.parametrize("order", list(permutations(SOURCES)), ids="-".join)
@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
def test_one_source_that_knows_is_enough(
    installation: Installation, provider: Provider, order: tuple[str, ...]
) -> None:
    """Of 27 refunds, each known fresh, stale or not at all by each source, all end as the best informed one says."""
    for source in order:
        bring(source, installation, provider)
    found = statuses(installation)
    for id_, case in CASES.items():
        known = set(case.values())
        expected = "succeeded" if "fresh" in known else "in_progress" if "stale" in known else None
        assert found.get(id_) == expected, (id_, order)


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
def test_the_comparison_mends_what_two_sources_got_wrong(installation: Installation, provider: Provider) -> None:
    """What only webhook and log brought is compared with the list: newer there is mended, and nothing is invented."""
    bring("webhook", installation, provider)
    bring("log", installation, provider)
    outcome = compare_streams(installation, provider, REFUNDS, days=7, repair=False)
    found = {(one.id, one.kind.value) for _, one in outcome.found}
    behind = {
        id_ for id_, case in CASES.items() if case["list"] == "fresh" and "fresh" not in (case["webhook"], case["log"])
    }
    absent = {id_ for id_ in behind if (CASES[id_]["webhook"], CASES[id_]["log"]) == ("silent", "silent")}
    assert {id_ for id_, kind in found if kind == "missing_here"} >= absent
    assert behind <= {id_ for id_, _ in found}
    compare_streams(installation, provider, REFUNDS, days=7, repair=True)
    mended = statuses(installation)
    assert {mended[id_] for id_ in behind} == {"succeeded"}
