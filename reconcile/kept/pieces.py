"""One kept piece of a run's rows, unpacked; bytes that are no longer what was published are named, not guessed at."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from consumer.facts.store import DamagedError
from reconcile.tables import Run


class DamagedRowsError(DamagedError):
    """Rows of a run that the database holds and nobody can read; the message names the run and the piece."""


@dataclass(frozen=True, slots=True)
class Piece:
    """The bytes of one chunk and where they stand."""

    run: Run
    kind: str
    number: int
    content: bytes | None

    def read(self, columns: Sequence[str] | None = None) -> Any:
        """Unpack it, whole or some of its columns."""
        try:
            return self._file().read(columns=columns)
        except (pa.ArrowException, OSError, TypeError) as error:
            raise self._damaged() from error

    def metadata(self) -> dict[bytes, bytes]:
        try:
            found: dict[bytes, bytes] | None = self._file().schema_arrow.metadata
        except (pa.ArrowException, OSError, TypeError) as error:
            raise self._damaged() from error
        return found or {}

    def _file(self) -> Any:
        return pq.ParquetFile(pa.BufferReader(self.content))

    def _damaged(self) -> DamagedRowsError:
        which = f"run {self.run.number} of {self.run.connection} (piece {self.number}, {self.kind})"
        return DamagedRowsError(f"the kept rows of {which} are damaged: restore the database, or wait for the next run")
