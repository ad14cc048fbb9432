"""Long reads on a real standby: what is read there, and what becomes of a read that it cannot answer."""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlmodel import Session

from consumer.facts.installation import Installation
from consumer.facts.replica import ReplicaError, open_replica
from consumer.facts.store import Store
from consumer.health.disk import check_replica
from reconcile.runs.run import run
from reconcile.tables.books import LocalInvoice
from tests.merchant import settings_of
from tests.proof.cluster import Cluster

_COUNT = sa.text("SELECT count(*) FROM seen")
_FOLLOWS = sa.text("SELECT pg_is_in_recovery()")


@pytest.fixture
def replicated(cluster: Cluster, standby: Cluster) -> Iterator[Store]:
    """The cluster's store, which reads what takes long from its standby; it has a table to look at."""
    with closing(Store(cluster.url, read_url=standby.url)) as store:
        with store.transaction() as session:
            session.execute(sa.text("CREATE TABLE seen (id INTEGER PRIMARY KEY)"))
        yield store


def look(session: Session) -> tuple[int, bool]:
    """Return how many rows there are, and whether a standby says so."""
    return session.execute(_COUNT).scalar_one(), session.execute(_FOLLOWS).scalar_one()


def add(store: Store, number: int) -> None:
    with store.transaction() as session:
        session.execute(sa.text("INSERT INTO seen VALUES (:id)"), {"id": number})


def test_a_long_read_sees_on_the_standby_what_was_committed_before(replicated: Store) -> None:
    """However soon it is asked, every row that was committed is there; what comes later is not in its view."""
    for number in range(1, 31):
        add(replicated, number)
        assert replicated.read_apart(look) == (number, True)

    def read_twice(session: Session) -> list[int]:
        before = session.execute(_COUNT).scalar_one()
        add(replicated, 31)
        replicated.read_apart(look)
        return [before, session.execute(_COUNT).scalar_one()]

    assert replicated.read_apart(read_twice) == [30, 30]
    assert [check.found for check in check_replica(replicated)] == ["it has all that the primary has"]


def test_a_standby_that_lags_is_not_read(standby: Cluster, replicated: Store) -> None:
    """While it stands still it is refused with the reason, and the doctor warns; level again, it is read."""
    with closing(Store(standby.url)) as there:
        with there.engine.connect() as connection:
            connection.execute(sa.text("SELECT pg_wal_replay_pause()"))
        add(replicated, 1)
        assert replicated.replica is not None
        with (
            pytest.raises(ReplicaError, match="the replica is behind its primary"),
            open_replica(replicated.replica, replicated.engine, patience=0.2),
        ):
            pytest.fail("a replica that lags was opened")
        assert [check.found for check in check_replica(replicated)] == ["the replica is behind its primary"]
        with there.engine.connect() as connection:
            connection.execute(sa.text("SELECT pg_wal_replay_resume()"))
    assert replicated.read_apart(look) == (1, True)


def test_a_standby_that_is_gone_is_replaced_by_the_primary(standby: Cluster, replicated: Store) -> None:
    """A read that its standby breaks off is done again on the primary, and so is each one until it is back."""
    add(replicated, 1)
    asked: list[bool] = []

    def break_off(session: Session) -> tuple[int, bool]:
        asked.append(session.execute(_FOLLOWS).scalar_one())
        if asked == [True]:
            standby.stop()
        return look(session)

    assert replicated.read_apart(break_off) == (1, False)
    assert asked == [True, False]
    assert replicated.read_apart(look) == (1, False)
    assert [check.found for check in check_replica(replicated)] == ["the replica does not answer"]


def test_a_promoted_standby_is_not_read(standby: Cluster, replicated: Store) -> None:
    """It goes its own way: what it knows is no view of the primary any more."""
    standby.promote()
    with closing(Store(standby.url)) as there:
        add(there, 7)
    assert replicated.read_apart(look) == (0, False)


def test_another_database_is_no_replica(cluster: Cluster, postgresql_url: str) -> None:
    """An address of some other server is refused with the names of the two settings."""
    words = "CUADRE_READ_URL names another database than CUADRE_DATABASE_URL"
    with closing(Store(cluster.url, read_url=postgresql_url)) as store:
        assert store.read_apart(lambda session: session.execute(sa.text("SELECT 1")).scalar_one()) == 1
        assert [check.found for check in check_replica(store)] == [words]


def test_a_run_read_from_the_standby_is_the_same(cluster: Cluster, replicated: Store, tmp_path: Path) -> None:
    """What a night reads there gives the run of what lies in the primary, also where a document came just before."""
    settings = settings_of("http://provider.test", tmp_path)
    for folio in (10, 11):
        with replicated.transaction() as session:
            session.add(
                LocalInvoice(
                    connection="main", doc_key=f"cl:33::{folio}", country="cl", doc_type="33", folio=str(folio),
                    issue_date=date(2026, 7, 1), total=1190, currency="CLP", status="valid", file_sha256="0" * 64,
                    updated_at=datetime(2026, 7, 1, tzinfo=UTC),
                )
            )  # fmt: skip
        there = Installation(settings, replicated)
        with closing(Store(cluster.url)) as store:
            here = Installation(settings, store)
            ids = [_run_id(installation) for installation in (there, here)]
        assert ids[0] == ids[1]


def _run_id(installation: Installation) -> str:
    return run(installation, installation.settings.connection("main"), as_of=date(2026, 9, 11), dry_run=True).run_id
