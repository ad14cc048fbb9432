"""What a run freezes for the next ones: month by month in short transactions, of which the last one makes it count."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from secrets import token_hex

import numpy as np
import pandas as pd
import sqlalchemy as sa
from pandas import DataFrame
from sqlmodel import Session, SQLModel

from consumer.facts.bulk import insert_rows
from consumer.facts.messages import Message
from consumer.facts.store import Store, Turn, batches, put, take_turn
from consumer.facts.tables.types import core_of
from reconcile.closing.horizon import NAMES, ROWS, View, read_frozen, to_basis
from reconcile.closing.settled_rows import can_freeze, freeze
from reconcile.kept.settled import name_layer, pack_layer
from reconcile.reading.frozen import CARRIED, DEPOSIT, PAYOUT
from reconcile.rules.inputs import MONEY, NUMBERS, Result, Schema
from reconcile.tables.closing import FrozenName, FrozenNumber, FrozenRow, Horizon
from reconcile.tables.runs import ResultChunk

_ROWS_AT_ONCE = 20_000


class _LostError(Exception):
    """Another run freezes now, or moved the horizon that this one read."""


def keep_horizon(
    store: Store, view: View, result: Result, *, run_id: str, seen_at: datetime, watch: Callable[[Message], None]
) -> None:
    """Freeze what a run settled and carry the rest, in place of what it touched; without a horizon, of everything.

    1. Say who freezes. Whoever says so last goes on: an earlier one finds that out with its next step, and stops.
    2. Write the rows under a number that no horizon reads yet. What a freezing that died had written stays where it is
       as wanted, so this goes on from there.
    3. Take out what was carried and touched, and make the new number count.

    Leave all as it is if the horizon that the run read stands no longer, or the run may not freeze.
    """
    if view.freezes is None or not can_freeze(view.inputs, result):
        return
    frozen = freeze(view.inputs, result, view.freezes)
    months = frozen.rows.groupby("cell")["month"].first()
    tables: tuple[tuple[type[SQLModel], DataFrame, Schema], ...] = (
        (FrozenRow, frozen.rows, ROWS),
        (FrozenName, frozen.names.assign(month=months.reindex(frozen.names["cell"]).to_numpy()), NAMES),
        (FrozenNumber, frozen.numbers.assign(month=0), NUMBERS),
    )
    freezing = _Freezing(store, view, run_id)
    try:
        freezing.begin(seen_at)
        waiting = [(core_of(table), freezing.compare(core_of(table), rows, schema)) for table, rows, schema in tables]
        every = sorted(set().union(*(rows["month"] for _, rows in waiting)))
        for place, month in enumerate(every, start=1):
            watch(Message("run.freezing", {"place": place, "count": len(every)}))
            for table, rows in waiting:
                freezing.write(table, rows[rows["month"] == month].drop(columns="month"))
        freezing.end(seen_at, freezing.write_layer(frozen.rows, result))
    except _LostError:
        return


@dataclass
class _Freezing:
    """The steps of one freezing; each one is a transaction, which begins by looking whether this one goes on."""

    store: Store
    view: View
    run_id: str
    # The highest number whose rows count until the end, the one that is written, and whether rows may lie there.
    before: int = field(init=False, default=0)
    number: int = field(init=False, default=1)
    goes_on: bool = field(init=False, default=False)
    # Another process may freeze the same run at the same time.
    claim: str = field(init=False)

    def __post_init__(self) -> None:
        self.claim = name_layer(self.run_id, token_hex(8))

    @cached_property
    def _name(self) -> str:
        return self.view.inputs.connection

    def _find_basis(self) -> str:
        inputs = self.view.inputs
        return to_basis(inputs.mode, inputs.calendar, inputs.rules, inputs.tariff)

    def begin(self, seen_at: datetime) -> None:
        read, inputs = self.view.horizon, self.view.inputs
        with self.store.transaction() as session:
            take_turn(session, Turn.PERIODS)
            now = session.get(Horizon, self._name)
            if read is not None:
                if now is None or (now.run_id, now.seen_at, now.basis) != (read.run_id, read.seen_at, read.basis):
                    raise _LostError
                self.before, self.number = now.freezing, now.freezing + 1
            elif now is None:
                now = Horizon(
                    connection=self._name, run_id="", as_of=inputs.as_of, until=inputs.as_of, seen_at=seen_at, basis="",
                    freezing=0,
                )  # fmt: skip
            else:
                # What it had frozen stays where it is the same as wanted.
                self.number, self.goes_on, now.basis = now.freezing + 1, True, ""
            self.goes_on |= bool(now.claimed_by)
            now.claimed_by = self.claim
            session.add(now)

    def compare(self, table: sa.Table, wanted: DataFrame, schema: Schema) -> DataFrame:
        """Take out what lies there and is not wanted; return the rows that are still to be written."""
        wanted, mine = wanted[[*schema, "month"]], (table.c.connection == self._name, table.c.freezing > self.before)
        if not self.goes_on:
            return wanted
        with self.store.reading() as session:
            lies = read_frozen(session.connection(), table, {**schema, "freezing": MONEY}, *mine)
        here, there = (pd.util.hash_pandas_object(rows[[*schema]].astype(schema), index=False).to_numpy()
                       for rows in (lies, wanted))  # fmt: skip
        stays = np.isin(here, there) & ~pd.Series(here).duplicated().to_numpy()
        keys = [column.name for column in table.primary_key if column.name != "connection"]
        wrong = lies.loc[~stays, keys].astype(object).to_dict("records")
        which = sa.delete(table).where(mine[0], *(table.c[name] == sa.bindparam(f"its_{name}") for name in keys))
        for some in batches(wrong, _ROWS_AT_ONCE):
            with self._step() as session:
                session.connection().execute(which, [{f"its_{name}": row[name] for name in keys} for row in some])
        return wanted[~np.isin(there, here)]

    def write(self, table: sa.Table, rows: DataFrame) -> None:
        alike = {"connection": self._name, "freezing": self.number}
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            some = rows.iloc[start : start + _ROWS_AT_ONCE].astype(object).itertuples(index=False, name=None)
            with self._step() as session:
                insert_rows(session.connection(), table, list(map(str, rows)), some, alike=alike)

    def write_layer(self, frozen: DataFrame, result: Result) -> str:
        """Write the settled rows as they were published, for whoever reads a run that leaves them out."""
        layer = name_layer(self.run_id, self.number)
        for chunk in pack_layer(frozen, result, self.view.settled):
            with self._step() as session:
                row = {"connection": self._name, "run_id": layer} | chunk
                put(session.connection(), ResultChunk, row, keys=("connection", "run_id", "kind", "number"))
        return layer

    def end(self, seen_at: datetime, layer: str) -> None:
        rows, names, touched = core_of(FrozenRow).c, core_of(FrozenName).c, self.view.touched
        with self._step() as session:
            mine, before = rows.connection == self._name, rows.freezing <= self.before
            session.execute(sa.delete(FrozenRow).where(mine, before, rows.cell == CARRIED))
            for some in batches(sorted(touched.cells)):
                session.execute(sa.delete(FrozenRow).where(mine, before, rows.cell.in_(some)))
                was = (names.connection == self._name, names.freezing <= self.before)
                session.execute(sa.delete(FrozenName).where(*was, names.cell.in_(some)))
            for ids in batches(sorted(touched.payouts)):
                of_payout = rows.kind.in_((PAYOUT, DEPOSIT))
                session.execute(sa.delete(FrozenRow).where(mine, before, of_payout, rows.key.in_(ids)))
            now = session.get_one(Horizon, self._name)
            now.run_id, now.as_of, now.seen_at = self.run_id, self.view.inputs.as_of, seen_at
            now.until, now.basis = self.view.freezes or now.until, self._find_basis()
            now.freezing, now.claimed_by = self.number, ""
            now.layers = " ".join((*self.view.settled.layers, layer))

    @contextmanager
    def _step(self) -> Iterator[Session]:
        with self.store.transaction() as session:
            take_turn(session, Turn.PERIODS)
            now = session.get(Horizon, self._name)
            if now is None or now.claimed_by != self.claim:
                raise _LostError
            yield session
