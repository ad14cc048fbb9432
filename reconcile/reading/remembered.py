"""Remembered tables as files: what one view of the database held, believed only under the token the database names.

The token is the digest of the manifest, and the manifest holds the digest of each file and a random number: another
database, an earlier backup, a copy that went its own way, or one changed byte is another token or another digest.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from secrets import token_hex
from tempfile import mkdtemp
from typing import Any, Self

import pyarrow as pa

from consumer import facts
from reconcile.durable import DRAFT, durably, sync
from reconcile.edition import digest_of_code
from reconcile.reading.columnar import in_order

MANIFEST = "tables.json"
_ENDING = ".arrow"
_LEFT_BEHIND = timedelta(days=1)


# Everything that could decide which rows and columns these tables have: a list of it would be forgotten. It is taken as
# the code is loaded: files that are replaced under a running process are not what it runs.
EDITION = f"{digest_of_code(Path(__file__).parents[1], Path(facts.__file__).parent)} pyarrow {pa.__version__}"


class ForgottenError(Exception):
    """Remembered tables that are not there, are of another version, or were damaged; the message says which."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where tables stand among everything that could have made them: all of it must be the same to believe them."""

    connection: str
    mode: str
    watch: str
    edition: str = EDITION


def folder_of(data_dir: Path, connection: str) -> Path:
    return data_dir / "remembered" / connection


@dataclass(frozen=True, slots=True)
class Remembered:
    """The tables under one token; `mark` is where in the log of changes they were read."""

    folder: Path
    mark: int
    tables: Mapping[str, Mapping[str, Any]]

    @classmethod
    def open(cls, data_dir: Path, token: str, place: Place) -> Self:
        folder = folder_of(data_dir, place.connection) / token
        try:
            content = (folder / MANIFEST).read_bytes()
        except OSError:
            raise ForgottenError("they are not on this machine") from None
        if hashlib.sha256(content).hexdigest() != token:
            raise ForgottenError(f"{MANIFEST} was changed after it was written")
        manifest = json.loads(content)
        if manifest["place"] != asdict(place):
            raise ForgottenError("the program or the database's tables were changed since")
        return cls(folder, manifest["mark"], manifest["tables"])

    @property
    def rows(self) -> int:
        return sum(int(table["rows"]) for table in self.tables.values())

    def read(self, name: str) -> pa.Table:
        """Bring a table back; it is read into memory whole, where nobody changes it after its digest was taken."""
        try:
            with pa.OSFile(str(self.folder / f"{name}{_ENDING}")) as file:
                content = file.read_buffer()
        except OSError as problem:
            raise ForgottenError(f"{name} cannot be read: {problem}") from None
        if hashlib.sha256(content).hexdigest() != self.tables[name]["sha256"]:
            raise ForgottenError(f"{name} was damaged")
        return pa.ipc.open_file(pa.BufferReader(content)).read_all()


class Draft:
    """Tables on their way to be remembered: their folder gets its name when they are all there."""

    def __init__(self, data_dir: Path, place: Place, mark: int) -> None:
        self._parent, self._place, self._mark = folder_of(data_dir, place.connection), place, mark
        self._parent.mkdir(parents=True, exist_ok=True)
        self._folder = Path(mkdtemp(prefix="new.", suffix=DRAFT, dir=self._parent))
        self._tables: dict[str, dict[str, Any]] = {}

    def write(self, name: str, table: pa.Table, order: Sequence[str]) -> None:
        """Write a table sorted: whoever sorts it again is quicker, and finds its rows one beside the other."""
        table = in_order(table, order).combine_chunks()
        with durably(self._folder / f"{name}{_ENDING}") as file:
            digest = hashlib.sha256()
            with pa.ipc.new_file(pa.PythonFile(_Digested(file, digest.update), "w"), table.schema) as written:
                written.write_table(table)
        self._tables[name] = {"rows": len(table), "sha256": digest.hexdigest()}

    def settle(self) -> str:
        """Give the folder its name, which is the token."""
        manifest = {
            "place": asdict(self._place), "mark": self._mark, "tables": self._tables, "salt": token_hex(16),
        }  # fmt: skip
        content = json.dumps(manifest, indent=1, sort_keys=True).encode()
        with durably(self._folder / MANIFEST) as file:
            file.write(content)
        sync(self._folder)
        token = hashlib.sha256(content).hexdigest()
        self._folder = self._folder.rename(self._parent / token)
        sync(self._parent)
        return token

    def drop(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


def sweep(data_dir: Path, connection: str, *, kept: str, replaced: str | None, at: datetime) -> None:
    """Remove the tables that were replaced, and a day later what a killed process left behind."""
    folder = folder_of(data_dir, connection)
    for path in folder.iterdir() if folder.is_dir() else ():
        is_left = path.stat().st_mtime < (at - _LEFT_BEHIND).timestamp()
        if path.name == replaced or (is_left and path.name != kept):
            shutil.rmtree(path, ignore_errors=True)


class _Digested:
    """A file that is digested as it is written."""

    closed = False

    def __init__(self, file: Any, update: Callable[[Any], None]) -> None:
        self._file, self._update = file, update

    def write(self, content: Any) -> int:
        self._update(content)
        return int(self._file.write(content))

    def flush(self) -> None:
        """What is on the disk is not asked before all of it is written."""
