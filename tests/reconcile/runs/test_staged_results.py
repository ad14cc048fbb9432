"""Results are written in short steps before one commit shows them: a run that dies at any step is seen by no reader."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa
from click.testing import Result as Answer
from sqlmodel import SQLModel, col, select

from consumer.facts.installation import Installation
from consumer.facts.settings import Connection
from consumer.facts.store import Store
from reconcile.desk import decisions
from reconcile.exceptions.life import by_identity
from reconcile.kept import records
from reconcile.kept.retention import prune
from reconcile.kept.snapshots import Scope
from reconcile.runs import publication
from reconcile.runs.publication import chunk_rows, stage_results
from reconcile.runs.run import RunOutcome, explain, merge_exceptions, publish, run
from reconcile.tables.desk import ExceptionChange, ExceptionRow
from reconcile.tables.runs import PayoutResult, ResultChunk, Run, RunFinding
from tests.observing import take_snapshot

if TYPE_CHECKING:
    from tests.reconcile.conftest import World

pytestmark = pytest.mark.both_databases

AS_OF = date(2026, 9, 11)
AT = datetime(2026, 9, 12, 6, tzinfo=UTC)
RESULTS = (PayoutResult, RunFinding)
LIST = (Run, ExceptionRow, ExceptionChange)


class DiedError(Exception):
    """A process that ends at a commit."""


@pytest.fixture
def month(world: "World") -> "World":
    world.payment("pi_1", 1000)
    world.payment("pi_2", 500)
    world.payout("po_1", 984, ("payment_intent", "pi_1", 1000))
    world.invoice("7", 1190, issue_date=date(2026, 7, 1))
    world.complete(AT)
    return world


@contextmanager
def at_commit(store: Store, act: Callable[[int], None]) -> Iterator[None]:
    """Call `act` with the number of each commit, from 1, just before it."""
    numbers = iter(range(1, 1000))

    def begin(_connection: sa.Connection) -> None:
        act(next(numbers))

    sa.event.listen(store.engine, "commit", begin)
    try:
        yield
    finally:
        sa.event.remove(store.engine, "commit", begin)


def count(store: Store, *tables: type[SQLModel]) -> list[int]:
    with store.reading() as session:
        return [session.scalar(sa.select(sa.func.count()).select_from(table)) or 0 for table in tables]


def read_chunks(store: Store) -> list[tuple[str, int, bytes]]:
    with store.reading() as session:
        rows = session.exec(select(ResultChunk.kind, ResultChunk.number, ResultChunk.content)).all()
    return sorted((kind, number, content) for kind, number, content in rows)


@pytest.mark.usefixtures("month")
@pytest.mark.parametrize("bytes_a_step", [publication.BYTES_A_STEP, 0])
def test_a_run_that_dies_at_any_commit_is_seen_by_no_reader(
    installation: Installation,
    main: Connection,
    call: Callable[..., Answer],
    monkeypatch: pytest.MonkeyPatch,
    bytes_a_step: int,
) -> None:
    """At each of its commits in turn, with all chunks in one step or each in its own; then one run, its rows once."""
    store, ends = installation.store, 0
    monkeypatch.setattr(publication, "BYTES_A_STEP", bytes_a_step)

    def die(number: int) -> None:
        if number == ends:
            raise DiedError

    staged = []
    for ends in range(1, 100):  # noqa: B007 - read by what is called at each commit
        try:
            with at_commit(store, die):
                outcome = run(installation, main, as_of=AS_OF)
        except DiedError:
            staged.append(len(read_chunks(store)))
            assert count(store, *LIST) == [0, 0, 0]
            with store.reading() as session:
                assert records.last_run(session, "main", today=AS_OF) is None
            assert call("runs", "list", "--json").stdout == ""
            assert call("explain", "po_1").exit_code != 0
        else:
            break
    chunks = len(read_chunks(store))
    # The steps of chunks, then payouts with findings, then the run; PostgreSQL keeps the inputs first.
    before = [] if bytes_a_step else range(1, chunks)
    assert staged == [0] * staged.count(0) + [*before, chunks, chunks]
    assert (chunks, outcome.number, outcome.is_new) == (9, 1, True)
    assert count(store, *LIST, *RESULTS) == [1, 3, 3, 1, 3]


@pytest.fixture
def staged(installation: Installation, main: Connection) -> Callable[[], Callable[[], RunOutcome]]:
    """Read, judge and stage, and return what publishes it."""

    def stage() -> Callable[[], RunOutcome]:
        store, everything = installation.store, Scope(None, None, None)
        with store.reading() as session:
            snapshot = take_snapshot(session, installation, main, as_of=AS_OF, scope=everything)
        outcome = explain(snapshot)
        assert outcome.result is not None
        found = by_identity("main", outcome.result.findings)
        with store.reading() as session:
            listed = merge_exceptions(session, everything, outcome, found, at=AT)
        packed = chunk_rows(outcome.result)
        there = stage_results(store, outcome.result, found, packed, connection="main", run_id=outcome.run_id)

        def finish() -> RunOutcome:
            with store.transaction() as session:
                return publish(session, snapshot, outcome, listed, there, started_at=AT)

        return finish

    return stage


@pytest.mark.usefixtures("month")
def test_what_a_killed_run_left_is_deleted_by_the_night(
    installation: Installation, main: Connection, world: "World", staged: Callable[[], Callable[[], RunOutcome]]
) -> None:
    """Facts came in since, so that its content does not come again: the next run stands alone."""
    staged()
    world.payment("pi_3", 700)
    made = run(installation, main, as_of=AS_OF)
    with installation.store.transaction() as session:
        assert prune(session, "main", today=AS_OF, months_until=timedelta(days=400), at=AT) == []
    with installation.store.reading() as session:
        for table in (ResultChunk, *RESULTS):
            assert set(session.scalars(sa.select(col(table.run_id)))) == {made.run_id}


@pytest.mark.parametrize("table", [ResultChunk, PayoutResult, RunFinding])
@pytest.mark.usefixtures("month")
def test_results_that_were_deleted_meanwhile_are_written_again(
    installation: Installation, staged: Callable[[], Callable[[], RunOutcome]], table: type[SQLModel]
) -> None:
    """The night of another machine may take them for those of a run that died."""
    finish = staged()
    before = count(installation.store, ResultChunk, *RESULTS)
    with installation.store.transaction() as session:
        session.execute(sa.delete(table))
    assert finish().is_new
    assert count(installation.store, ResultChunk, *RESULTS) == before
    assert count(installation.store, *RESULTS) == [1, 3]


@pytest.mark.usefixtures("month")
def test_an_exception_that_a_person_resolves_meanwhile_stays_theirs(
    installation: Installation, main: Connection, world: "World", staged: Callable[[], Callable[[], RunOutcome]]
) -> None:
    """The document was paid, and the run would have resolved the exception that was open when it read."""
    run(installation, main, as_of=AS_OF)
    world.payment("pi_3", 1190, metadata_json='{"folio": "7"}')
    finish = staged()
    store = installation.store
    with store.transaction() as session:
        (row,) = session.exec(select(ExceptionRow).where(ExceptionRow.doc_key == "cl:33::7")).all()
        decisions.resolve(session, "main", row.id, decisions.Signature("ana@shop", "asked", AT), on=AS_OF)
        identity = row.id
    finish()
    with store.reading() as session:
        kept = session.get(ExceptionRow, ("main", identity))
        assert kept is not None
        assert (kept.state, kept.resolution, kept.version) == ("resolved", "asked", 2)
        changes = session.exec(select(ExceptionChange.change).where(ExceptionChange.exception_id == identity)).all()
    assert list(changes) == ["opened", "state", "resolved_on", "resolution"]


@pytest.mark.usefixtures("month")
def test_another_process_may_publish_first(
    installation: Installation, staged: Callable[[], Callable[[], RunOutcome]]
) -> None:
    """Both staged the same content: the second returns the run of the first, and its rows are there once."""
    first, second = staged(), staged()
    chunks = len(read_chunks(installation.store))
    assert (first().is_new, second().is_new) == (True, False)
    assert count(installation.store, *LIST, *RESULTS) == [1, 3, 3, 1, 3]
    assert len(read_chunks(installation.store)) == chunks
