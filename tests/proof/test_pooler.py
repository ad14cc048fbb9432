"""A pooler in transaction mode between: each transaction may meet another connection of the server."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlmodel import col, select

from consumer.facts.settings import Settings
from consumer.facts.store import SchemaError, Store
from consumer.facts.tables.inbox import Event
from consumer.facts.tables.provider import Payout, Refund
from tests.proof.cluster import Cluster
from tests.proof.pooler import run_pooler
from tests.proof.test_kills import trade
from tests.thoroughness import for_run

EVENTS = for_run(short=150, full=3_000)


@pytest.fixture
def pooled_url(postgresql_programs: tuple[Path, str | None], cluster: Cluster) -> Iterator[str]:
    """The address of a pooler with three connections to the cluster, for as many as ask."""
    with run_pooler(cluster, postgresql_programs[1], size=3) as pooler:
        yield pooler.url


def test_trade_through_a_pooler_is_stored_and_applied_once(
    pooled_url: str, cluster: Cluster, install: Callable[[str], Any], send: Callable[..., Any]
) -> None:
    """Receivers and workers that share three connections store every event once, and its effect counts once."""
    installation = install(pooled_url)
    installation.serve(processes=2)
    installation.start("work", processes=2)
    senders = send(installation.port, trade)
    installation.until(lambda: len(senders.acknowledged) >= EVENTS, "the events are acknowledged")
    senders.stop()
    assert senders.statuses <= {200}

    with closing(Store(cluster.url)) as store:

        def is_applied() -> bool:
            with store.reading() as session:
                return not session.scalar(sa.select(sa.func.count()).where(col(Event.state) != "applied"))

        installation.until(is_applied, "every event is applied")
        with store.reading() as session:
            ids = list(session.exec(select(Event.id)))
            objects = [*session.exec(select(Refund.id)), *session.exec(select(Payout.id))]
    assert set(ids) >= senders.acknowledged
    assert len(ids) == len(set(ids))
    assert len(objects) == len({int(one.removeprefix("evt_")) // 3 for one in ids})


@pytest.fixture
def hasty(cluster: Cluster) -> None:
    """The cluster, which answers a commit before its disk does."""
    with closing(Store(cluster.url)) as store, store.transaction() as session:
        session.execute(sa.text("ALTER ROLE cuadre SET synchronous_commit = 'off'"))


@pytest.mark.usefixtures("hasty")
def test_a_server_that_answers_before_the_disk_is_refused_behind_a_pooler(pooled_url: str) -> None:
    """A setting of the session would land on some other one, so the role must have it, and the start says so."""
    with (
        closing(Store(pooled_url)) as store,
        pytest.raises(SchemaError, match="ALTER ROLE … SET synchronous_commit = 'on'"),
        store.reading() as session,
    ):
        session.execute(sa.text("SELECT 1"))


def test_another_kind_of_pooler_is_no_setting(settings: Settings) -> None:
    """A word that is not known is refused at the start."""
    given = settings.model_dump() | {"database_url": "postgresql+psycopg://h/d?pooler=session"}
    with pytest.raises(ValueError, match=r"knows one kind of pooler, \?pooler=transaction"):
        Settings.model_validate(given)
