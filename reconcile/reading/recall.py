"""The large tables of one view of the database: remembered rows, with those that were touched since read anew.

A row that is remembered and not touched is the row that is there: whoever alters a column that is read leaves its key
in the log (`consumer.facts.changes`), in the same transaction. What depends on rows of another table is closed over
here: a payment is read if it succeeded or a payout lists it, so the payments of touched payout items are touched too.
"""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa
import structlog

from consumer.facts import changes
from consumer.facts.house import Connection
from reconcile.reading.columnar import in_order
from reconcile.reading.large_tables import LARGE, LargeTables
from reconcile.reading.memories import Memory
from reconcile.reading.remembered import Draft, ForgottenError, Place, Remembered
from reconcile.rules.payouts import PAYMENT_TYPES

log = structlog.get_logger("cuadre.remembered")
# Of all rows: past a fifth reading everything costs no more, and past a fiftieth the tables are remembered anew.
_TOO_MANY, _MANY = 5, 50
# The log goes when the tables are remembered anew: of few rows that alter again and again it would grow forever.
_OFTEN = 10
# So many are read by their keys, however small the tables are.
_FEW = 1_000
Known = tuple[Remembered | None, changes.Touched]
_NOTHING: Known = (None, {})


class Recall:
    """The large tables of one connection as this view has them; `memory` is what the run does about remembering."""

    def __init__(self, database: sa.Connection, connection: Connection, data_dir: Path, memory: Memory) -> None:
        self._tables, self._memory, self._name = LargeTables(database, connection), memory, connection.name
        self._base, self._touched = _NOTHING
        watch = changes.watch_of(database)
        if watch is None:
            log.warning("changes are not noted, so every run reads everything", connection=self._name)
            return
        place = Place(connection.name, connection.mode, watch)
        memory.seen, memory.mark = changes.read_token(database, self._name), changes.seen_until(database)
        if memory.seen is not None:
            self._base, self._touched = self._opened(database, data_dir, memory.seen, place)
        if memory.beside is not None and (self._base is None or memory.is_full or self._is_old(database, self._base)):
            memory.begin(lambda: Draft(data_dir, place, memory.mark))

    def _opened(self, database: sa.Connection, data_dir: Path, token: str, place: Place) -> Known:
        try:
            base = Remembered.open(data_dir, token, place)
        except ForgottenError as why:
            log.warning("everything is read, as nothing is remembered", connection=self._name, why=str(why))
            return _NOTHING
        if self._memory.mark < base.mark:
            log.warning("everything is read, as the log of changes begins anew", connection=self._name)
            return _NOTHING
        most = max(base.rows // _TOO_MANY, _FEW)
        touched = changes.touched_since(database, self._name, base.mark, most=most)
        return _NOTHING if touched is None else (base, touched)

    def _is_old(self, database: sa.Connection, base: Remembered) -> bool:
        many = max(base.rows // _MANY, _FEW)
        return sum(map(len, self._touched.values())) > many or changes.is_longer(database, self._name, many * _OFTEN)

    def read(self, name: str, carried: pa.Table | None = None) -> pa.Table:
        """Give a table's rows, in no particular order; of payments, `carried` are the items of all payouts."""
        found = self._recalled(name, carried)
        if found is None or self._memory.is_full:
            everything = self._tables.read(name)
            self._memory.compared += found is not None
            if found is not None and not _is_same(found, everything):
                self._memory.differing.append(name)
            found = everything
        self._memory.keep(name, found)
        return found

    def _recalled(self, name: str, carried: pa.Table | None) -> pa.Table | None:
        if self._base is None:
            return None
        try:
            kept = self._base.read(name)
        except ForgottenError as why:
            log.warning("a table is read whole", connection=self._name, why=str(why))
            self._memory.is_doubted = True
            return None
        keys = self._touched_of(name)
        if not keys:
            return kept
        wanted = pa.array(sorted(keys), type=pa.large_string())
        untouched = kept.filter(pc.invert(pc.is_in(kept[LARGE[name].key], value_set=wanted)))
        return pa.concat_tables([untouched, self._anew(name, keys, carried)])

    def _touched_of(self, name: str) -> frozenset[str]:
        own = self._touched.get(name, frozenset())
        return own | self._touched.get("payout_item", frozenset()) if name in PAYMENT_TYPES else own

    def _anew(self, name: str, keys: frozenset[str], carried: pa.Table | None) -> pa.Table:
        fresh = self._tables.read_keys(name, keys)
        if name not in PAYMENT_TYPES:
            return fresh
        assert carried is not None
        has_moved = pc.fill_null(pc.equal(fresh["status"], "succeeded"), fill_value=False)
        unmoved = fresh.filter(pc.invert(has_moved))
        # Looking through all items takes longer than all the rest, and hardly a night needs it.
        if not len(unmoved):
            return fresh
        is_carried = pc.is_in(unmoved["resource_id"], value_set=carried["resource_id"])
        return pa.concat_tables([fresh.filter(has_moved), unmoved.filter(is_carried)])


def _is_same(found: pa.Table, wanted: pa.Table) -> bool:
    names: list[Any] = found.column_names
    return bool(in_order(found, names).equals(in_order(wanted, names)))
