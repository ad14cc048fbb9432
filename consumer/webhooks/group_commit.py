"""Group commit: requests hand their arrival to one writer thread, which commits many and then releases them all."""

import logging
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from consumer.facts.store import Store
from consumer.inbox.record import Arrival, Verdict, record_all
from consumer.webhooks.keyring import Use

PATIENCE_SECONDS = 10.0
_LESS_PATIENCE = 20
_MOST_WAITING = 2_048
_MOST_BYTES = 64 * 1024 * 1024
_BATCH = 256
# A batch costs as much as many rows, so it waits this long for as many as came last time.
_LINGER_SECONDS = 0.001
_LOG = logging.getLogger(__name__)

_WRITERS: "weakref.WeakSet[Writer]" = weakref.WeakSet()

Record = Callable[[Connection, Sequence[Arrival]], list[Verdict]]
FindEnded = Callable[[Connection, Collection[Use]], set[Use]]


class NotStoredError(Exception):
    """The arrival is not known to be on disk: the sender must try again."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class SecretEndedError(Exception):
    """The secret that signed the arrival ended before it was stored."""


class _Ticket:
    """One request waiting for its commit."""

    __slots__ = ("arrival", "is_ended", "released", "signed", "verdict")

    def __init__(self, arrival: Arrival, signed: Use | None) -> None:
        self.arrival = arrival
        self.signed = signed
        self.is_ended = False
        self.verdict: Verdict | None = None
        # A bare lock is several times cheaper than an Event.
        self.released = threading.Lock()
        self.released.acquire()

    def release(self, verdict: Verdict | None) -> None:
        self.verdict = verdict
        self.released.release()


class _Line:
    """The writer's connection, kept while batch follows batch: to take and try one costs as much as a small batch."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._connection: Connection | None = None

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        if self._connection is None:
            self._connection = self._store.engine.connect()
        try:
            with self._connection.begin():
                yield self._connection
        except BaseException:
            self.give_back()
            raise

    def give_back(self) -> None:
        given, self._connection = self._connection, None
        if given is not None:
            given.close()


def _find_none(_connection: Connection, _uses: Collection[Use]) -> set[Use]:
    return set()


class Writer:
    """One per process. The thread starts with the first arrival, so that it lives in the process that serves."""

    def __init__(
        self,
        store: Store,
        *,
        record: Record = record_all,
        also: Callable[[Connection], None] | None = None,
        find_ended: FindEnded = _find_none,
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        self._store = store
        self._record = record
        self._also = also
        self._find_ended = find_ended
        self._patience = patience
        self._begin()
        _WRITERS.add(self)

    def _begin(self) -> None:
        self._waiting: deque[_Ticket] = deque()
        self._bytes = 0
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closing = False
        self._expected = 1
        self._committing_since: float | None = None
        self._is_away = False

    def store(self, arrival: Arrival, *, signed: Use | None = None) -> Verdict:
        """Return once the arrival is committed.

        Raise NotStoredError if that is not certain in time, SecretEndedError if the secret that signed it has ended.
        """
        ticket = _Ticket(arrival, signed)
        patience = self._patience_now()
        self._enqueue(ticket)
        if not ticket.released.acquire(timeout=patience):
            raise NotStoredError("no_commit_in_time")
        if ticket.is_ended:
            raise SecretEndedError
        if ticket.verdict is None:
            raise NotStoredError("store_down")
        return ticket.verdict

    def _patience_now(self) -> float:
        """Wait less the longer the commit ahead has hung, or senders queue behind all the server's threads in vain."""
        since = self._committing_since
        hung = 0.0 if since is None else time.monotonic() - since
        return max(self._patience - hung, self._patience / _LESS_PATIENCE)

    def close(self) -> None:
        """Commit what waits and stop the thread."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(self._patience)

    def _enqueue(self, ticket: _Ticket) -> None:
        size = len(ticket.arrival.body)
        with self._changed:
            if len(self._waiting) >= _MOST_WAITING or self._bytes + size > _MOST_BYTES:
                raise NotStoredError("queue_full")
            self._waiting.append(ticket)
            self._bytes += size
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="webhook-writer", daemon=True)
                self._thread.start()
            if len(self._waiting) in (1, self._expected):
                self._changed.notify()

    def _run(self) -> None:
        line = _Line(self._store)
        while batch := self._next_batch():
            self._committing_since = time.monotonic()
            try:
                self._commit(batch, line)
            finally:
                self._committing_since = None

    def _next_batch(self) -> list[_Ticket]:
        """Take everything that came while the last commit ran, and a moment later where more came last time."""
        with self._changed:
            while not self._waiting and not self._closing:
                self._changed.wait()
            if len(self._waiting) < self._expected and not self._closing:
                self._changed.wait(_LINGER_SECONDS)
            self._expected = min(len(self._waiting), _BATCH)
            batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), _BATCH))]
            self._bytes -= sum(len(ticket.arrival.body) for ticket in batch)
            return batch

    def _commit(self, batch: list[_Ticket], line: _Line) -> None:
        verdicts: list[Verdict | None] = [None] * len(batch)
        try:
            with line.transaction() as connection:
                recorded = self._record_in(connection, batch)
                if self._also is not None:
                    self._also(connection)
            verdicts = recorded
            self._say_stored()
        except (sa.exc.OperationalError, sa.exc.InterfaceError, sa.exc.TimeoutError) as problem:
            self._say_away(problem)
            # A connection opened while the file was read-only stays so for ever.
            self._store.close()
        except sa.exc.SQLAlchemyError as problem:
            # The text of such an error may quote the rows.
            _LOG.error("a batch of %d is refused by the store: %s", len(batch), type(problem).__name__)
            verdicts = self._one_by_one(batch)
        finally:
            if not self._waiting:
                line.give_back()
            for ticket, verdict in zip(batch, verdicts, strict=True):
                ticket.release(verdict)

    def _record_in(self, connection: Connection, batch: list[_Ticket]) -> list[Verdict | None]:
        """Record what secrets signed that are valid still; the others get no verdict and know why."""
        ended = self._find_ended(connection, {ticket.signed for ticket in batch if ticket.signed})
        for ticket in batch:
            ticket.is_ended = ticket.signed in ended
        verdicts = iter(self._record(connection, [ticket.arrival for ticket in batch if not ticket.is_ended]))
        return [None if ticket.is_ended else next(verdicts) for ticket in batch]

    def _one_by_one(self, batch: list[_Ticket]) -> list[Verdict | None]:
        """Commit each alone, so that a row the store refuses delays no other."""
        verdicts: list[Verdict | None] = []
        for ticket in batch:
            try:
                with self._store.connection() as connection:
                    recorded = self._record_in(connection, [ticket])
                verdicts += recorded
            except sa.exc.SQLAlchemyError:
                verdicts.append(None)
        return verdicts

    def _say_away(self, problem: Exception) -> None:
        """Log that nothing can be stored once, however many batches fail."""
        if not self._is_away:
            _LOG.error("events are not stored, senders will retry: %s", type(problem).__name__)
        self._is_away = True

    def _say_stored(self) -> None:
        if self._is_away:
            _LOG.info("events are stored again")
        self._is_away = False

    def begin_in_child(self) -> None:
        """After a fork: the parent's thread is not here, and its database connections are not ours to use."""
        self._begin()
        self._store.engine.dispose(close=False)


def _begin_in_child() -> None:
    for writer in list(_WRITERS):
        writer.begin_in_child()


os.register_at_fork(after_in_child=_begin_in_child)
