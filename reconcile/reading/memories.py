"""How a run remembers the large tables it read: written beside its other work, believed from its end on."""

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from secrets import token_hex

import pyarrow as pa
import sqlalchemy as sa
import structlog

from consumer.facts import changes
from consumer.facts.clock import utc_now
from consumer.facts.house import Connection, House
from reconcile.reading.large_tables import LARGE
from reconcile.reading.remembered import Draft, sweep

log = structlog.get_logger("cuadre.remembered")


@dataclass(slots=True)
class Memory:
    """What one run does about remembered tables; without a thread `beside` it writes none.

    `seen` is the token and `mark` the place in the log as its view of the database has them. A full reading believes
    nothing: it counts in `compared` the tables that were remembered, and names in `differing` those that were wrong.
    """

    beside: Executor | None = None
    is_full: bool = False
    compared: int = 0
    differing: list[str] = field(default_factory=list)
    is_doubted: bool = False
    seen: str | None = None
    mark: int = 0
    draft: Draft | None = None
    _written: list[Future[None]] = field(default_factory=list)

    def begin(self, make: Callable[[], Draft]) -> None:
        try:
            self.draft = make()
        except OSError as problem:
            self._give_up(problem)

    def keep(self, name: str, table: pa.Table) -> None:
        if self.draft is not None and self.beside is not None:
            self._written.append(self.beside.submit(self.draft.write, name, table, LARGE[name].order))

    def settle(self) -> str:
        """Give the tables their place and answer their token; where that fails, one that nothing bears."""
        nobody = token_hex(32)
        if self.draft is None:
            return nobody
        try:
            for one in self._written:
                one.result()
            return self.draft.settle()
        except (OSError, pa.ArrowException) as problem:
            self._give_up(problem)
            self.drop()
            self.draft = None
            return nobody

    def drop(self) -> None:
        wait(self._written)
        if self.draft is not None:
            self.draft.drop()

    def _give_up(self, problem: Exception) -> None:
        log.warning("the tables are not remembered: the next run reads everything", why=str(problem))
        self.is_doubted = True


@contextmanager
def remembering(
    house: House, connection: Connection, beside: Executor | None, *, is_full: bool = False
) -> Iterator[Memory]:
    """Let a run remember what it reads. What goes wrong with that leaves a line in the log and not a failed run."""
    memory = Memory(beside, is_full)
    try:
        yield memory
        is_due = beside is not None and (memory.draft is not None or memory.is_doubted)
        if is_due and _is_settled(house, connection, memory):
            # From here on the database names it.
            memory.draft = None
    finally:
        memory.drop()


def _is_settled(house: House, connection: Connection, memory: Memory) -> bool:
    token = memory.settle()
    name, seen = connection.name, memory.seen
    try:
        with house.store.connection() as database:
            done = changes.replace_token(database, name, seen=seen, token=token, mark=memory.mark)
    except sa.exc.OperationalError as problem:
        log.warning("the tables are not remembered: the next run reads everything", connection=name, why=str(problem))
        return False
    if done:
        try:
            sweep(house.settings.data_dir, name, kept=token, replaced=seen, at=utc_now())
        except OSError as problem:
            # Another process sweeps too, or nobody may look into the folder: the next run does it.
            log.warning("replaced tables are left where they are", connection=name, why=str(problem))
    return done
