"""The inputs of a run as kept files: their content hash is the run's id, and a rerun reads them back."""

import hashlib
import inspect
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future, wait
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from functools import lru_cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Self, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pandas import DataFrame

from consumer.facts import shared_files
from consumer.facts.bankdays import to_calendar
from consumer.facts.durable import open_synced, sync_folder, write_durably
from consumer.facts.installation import Installation
from reconcile import rules
from reconcile.kept.settled import Settled
from reconcile.reading.process import background_thread
from reconcile.reading.transfers import TRANSFERS
from reconcile.rules.columns import to_one_array
from reconcile.rules.inputs import INPUTS, SETTLED_ROWS, SUMMARY, FrameError, Inputs, empty_frame, to_types
from reconcile.rules.terms import RulesError, TariffError, to_rules, to_tariff

ID_LENGTH = 32
MANIFEST = "run.json"
# The digests of inputs from which a person was erased.
ERASED = "erased.json"
# How the name of a folder ends that is not whole yet.
DRAFT = ".draft"
SCHEMAS = {**INPUTS, "transfers": TRANSFERS}
# What is kept with the inputs: what else a run reads, and what it left out of closed days.
_FURTHER = {"transfers": TRANSFERS, "settled_payouts": SUMMARY, "settled_rows": SETTLED_ROWS}
_KEPT = {**INPUTS, **_FURTHER}
# Frames that came after runs were kept, and name a run only where they have rows.
_LATER = frozenset(
    {"payers", "operations", "changed_documents", "settled", "numbers", "settled_payouts", "settled_rows"}
)


# What names a run: all it read, as JSON.
Manifest: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Scope:
    """Which payouts a run publishes; it always reads everything, since balances depend on all of it."""

    since: date | None = None
    until: date | None = None
    payout_id: str | None = None

    @property
    def is_everything(self) -> bool:
        return self == Scope()


# In a manifest: the run that this one follows, where its content was a run's already.
_FOLLOWS = "follows"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything one run is a function of."""

    run_id: str
    inputs: Inputs
    transfers: DataFrame
    scope: Scope
    manifest: Manifest
    # What it leaves out, as that was when it was settled.
    settled: Settled = field(default_factory=Settled)

    def frame(self, name: str) -> DataFrame:
        further = {
            "transfers": self.transfers,
            "settled_payouts": self.settled.payouts,
            "settled_rows": self.settled.rows,
        }
        found: DataFrame = further[name] if name in further else getattr(self.inputs, name)
        return found

    def without_rows(self) -> Self:
        """Return it without its frames: which run it is, for which day and scope, by which calendar."""
        bare: dict[str, Any] = {name: empty_frame(schema) for name, schema in INPUTS.items()}
        settled = replace(self.settled, payouts=empty_frame(SUMMARY), rows=empty_frame(SETTLED_ROWS))
        return replace(self, inputs=replace(self.inputs, **bare), transfers=empty_frame(TRANSFERS), settled=settled)


class SnapshotError(Exception):
    """Kept inputs that are absent or were changed after the run."""


class NotKeptError(SnapshotError):
    """Inputs that lie on another machine, or were dropped for their age."""


def take(
    inputs: Inputs,
    transfers: DataFrame,
    scope: Scope,
    *,
    tariff: Mapping[str, object],
    chosen_rules: Mapping[str, object],
    settled: Settled | None = None,
) -> Snapshot:
    """Name the inputs by their content: rows, rules, tariff, calendar, scope and day, but not when or how they came."""
    manifest: Manifest = {
        "connection": inputs.connection,
        "country": inputs.country,
        "mode": inputs.mode,
        "as_of": inputs.as_of.isoformat(),
        "scope": [_text(scope.since), _text(scope.until), scope.payout_id],
        "calendar": inputs.calendar.edition,
        "voucher_model": inputs.voucher_model,
        "tariff": tariff,
        "chosen_rules": chosen_rules,
        "rules": asdict(inputs.rules),
        "rules_code": rules_code(),
    }
    unnamed = Snapshot("", inputs, transfers, scope, manifest, settled or Settled())
    manifest["frames"] = _digests(unnamed)
    return replace(unnamed, run_id=name_of(manifest))


def _digests(snapshot: Snapshot) -> dict[str, str]:
    """Digest every frame, the largest of them in another thread: hashing leaves the interpreter free."""
    with background_thread() as worker:
        items = worker.submit(digest_of, snapshot.inputs.items)
        others = {name: digest_of(snapshot.frame(name)) for name in _list_named(snapshot) if name != "items"}
        return others | {"items": items.result()}


def _list_named(snapshot: Snapshot) -> list[str]:
    return [name for name in _KEPT if name not in _LATER or not snapshot.frame(name).empty]


def name_of(manifest: Manifest) -> str:
    canonical = json.dumps(manifest, sort_keys=True, default=str)
    return hashlib.sha256(canonical.encode()).hexdigest()[:ID_LENGTH]


def follow(snapshot: Snapshot, run_id: str) -> Snapshot:
    """Return a snapshot of content that comes back after a later run, named as the one that follows that run."""
    manifest = snapshot.manifest | {_FOLLOWS: run_id}
    return replace(snapshot, manifest=manifest, run_id=name_of(manifest))


def name_of_content(manifest: Manifest) -> str:
    """Return the name of a run's content, whichever run it follows."""
    return name_of({name: value for name, value in manifest.items() if name != _FOLLOWS})


@lru_cache(maxsize=1)
def rules_code() -> str:
    """Digest of the rules themselves: another version of them is another run."""
    return digest_of_code(Path(inspect.getfile(rules)).parent)[:ID_LENGTH]


def folder_of(data_dir: Path, connection: str, run_id: str) -> Path:
    return data_dir / "runs" / connection / run_id


def bring(installation: Installation, connection: str, run_id: str) -> None:
    """Bring the inputs of a run that another machine made, where they are not here."""
    shared_files.fetch_folder(installation, folder_of(installation.settings.files_dir, connection, run_id))


def are_held(folder: Path) -> bool:
    """Return True if kept inputs are there, and keep them for a day: a run that was dropped may be coming back."""
    try:
        os.utime(folder)
    except FileNotFoundError:
        return False
    except OSError:
        # Who may only read the files may still read them.
        return folder.is_dir()
    return True


@contextmanager
def write_draft(snapshot: Snapshot, data_dir: Path, worker: Executor) -> Iterator[Callable[[], Path]]:
    """Write the inputs while other work goes on, with their manifest; the folder appears whole when the caller says so.

    Else they are removed. A machine that dies leaves a draft at most.
    """
    folder = folder_of(data_dir, snapshot.inputs.connection, snapshot.run_id)
    if are_held(folder):
        yield lambda: folder
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Threads of one process may keep the same content at the same time.
    draft = Path(mkdtemp(prefix=f"{folder.name}.", suffix=DRAFT, dir=folder.parent))
    # As tables, which never change: a frame may move its columns together while the rules read it.
    named = _list_named(snapshot)
    tables = {name: pa.Table.from_pandas(snapshot.frame(name), preserve_index=False) for name in named}
    writing = worker.submit(_write, draft, tables, snapshot.manifest)
    # The rows are the caller's to drop, while this block lasts.
    del snapshot, tables
    try:
        yield lambda: _settle(draft, folder, writing)
    finally:
        wait([writing])
        if draft.exists():
            shutil.rmtree(draft)


def _write(draft: Path, tables: dict[str, pa.Table], manifest: Manifest) -> None:
    while tables:
        name, table = tables.popitem()
        with open_synced(draft / f"{name}.parquet") as file:
            pq.write_table(table, file, compression="zstd", use_dictionary=False, write_statistics=False)
    with open_synced(draft / MANIFEST) as file:
        file.write(json.dumps(manifest, indent=1, sort_keys=True, default=str).encode())
    sync_folder(draft)


def _settle(draft: Path, folder: Path, writing: Future[None]) -> Path:
    writing.result()
    try:
        draft.rename(folder)
    except OSError:
        # Another process kept the same content first.
        if not folder.is_dir():
            raise
    sync_folder(folder.parent)
    return folder


def read_manifest(data_dir: Path, connection: str, run_id: str) -> Manifest:
    path = folder_of(data_dir, connection, run_id) / MANIFEST
    try:
        manifest: Manifest = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise NotKeptError(f"the inputs of run {run_id} are not kept on this machine") from None
    except (OSError, ValueError) as problem:
        raise SnapshotError(f"the kept inputs of run {run_id} cannot be read: {MANIFEST}: {problem}") from None
    return manifest


def read_frame(data_dir: Path, connection: str, run_id: str, name: str) -> DataFrame:
    """Read one kept frame; raise SnapshotError if its bytes were changed since."""
    folder = folder_of(data_dir, connection, run_id)
    manifest = read_manifest(data_dir, connection, run_id)
    wanted = manifest["frames"].get(name)
    if wanted is None and name in _LATER:
        return empty_frame(_KEPT[name])
    if wanted is None:
        raise SnapshotError(f"run {run_id} was kept by an earlier version, which read no {name}")
    try:
        frame = to_types(pd.read_parquet(folder / f"{name}.parquet"), _KEPT[name])
    except FrameError as problem:
        raise SnapshotError(f"the {name} of run {run_id} were kept by an earlier version: {problem}") from None
    except (OSError, pa.ArrowException, ValueError, LookupError, TypeError) as problem:
        # What a table says of its columns stands in it as text, which may be damaged in any way.
        first_line = str(problem).partition("\n")[0]
        raise SnapshotError(f"the kept {name} of run {run_id} cannot be read: {first_line}") from None
    digest = digest_of(frame)
    if digest not in (wanted, _read_erased(folder).get(name)):
        raise SnapshotError(f"the kept {name} of run {run_id} were changed after the run")
    return frame


def note_erased(folder: Path) -> None:
    """Keep the digests of frames from which a person was erased; the manifest keeps those that name the run."""
    frames = {path.stem: to_types(pd.read_parquet(path), _KEPT[path.stem]) for path in folder.glob("*.parquet")}
    with write_durably(folder / ERASED) as file:
        file.write(json.dumps({name: digest_of(frame) for name, frame in frames.items()}, indent=1).encode())


def _read_erased(folder: Path) -> dict[str, str]:
    path = folder / ERASED
    digests: dict[str, str] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return digests


def read(data_dir: Path, connection: str, run_id: str) -> Snapshot:
    """Bring a run's inputs back as they were; raise SnapshotError if they were changed since."""
    are_held(folder_of(data_dir, connection, run_id))
    manifest = read_manifest(data_dir, connection, run_id)
    if name_of(manifest) != run_id:
        raise SnapshotError(f"the kept {MANIFEST} of run {run_id} was changed after the run")
    try:
        rules, tariff = to_rules(manifest["chosen_rules"]), to_tariff(manifest["tariff"])
    except (RulesError, TariffError) as problem:
        raise SnapshotError(f"run {run_id} was kept by an earlier version: {problem}") from None
    kept = {name: read_frame(data_dir, connection, run_id, name) for name in _KEPT}
    transfers, payouts, rows = (kept.pop(name) for name in _FURTHER)
    inputs = Inputs(
        connection=manifest["connection"],
        country=manifest["country"],
        mode=manifest["mode"],
        as_of=date.fromisoformat(manifest["as_of"]),
        tariff=tariff,
        rules=rules,
        calendar=to_calendar(manifest["country"], manifest["calendar"]),
        voucher_model=manifest.get("voucher_model", "voucher"),  # earlier ones did not ask
        **kept,
    )
    since, until, payout_id = manifest["scope"]
    scope = Scope(_date(since), _date(until), payout_id)
    return Snapshot(run_id, inputs, transfers, scope, manifest, Settled(payouts, rows))


def _text(on: date | None) -> str | None:
    return None if on is None else on.isoformat()


def _date(text: str | None) -> date | None:
    return None if text is None else date.fromisoformat(text)


def digest_of(frame: DataFrame) -> str:
    """Return the digest of the cells in their order, column by column; a missing cell differs from an empty one."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    sha256 = hashlib.sha256()
    for name in table.column_names:
        cells = to_one_array(table[name])
        sha256.update(f"{name}\0{len(cells)}\0{cells.null_count}\0".encode())
        for part in _to_bytes(cells):
            sha256.update(part)
    return sha256.hexdigest()


def _to_bytes(cells: pa.Array) -> Iterator[memoryview]:
    """Yield a column as bytes that only the same cells have, however the column is divided."""
    if cells.null_count == len(cells):
        return
    if cells.null_count:
        yield cells.is_null().to_numpy(zero_copy_only=False).data
    if pa.types.is_large_string(cells.type):
        known = cells.fill_null("") if cells.null_count else cells
        _, starts, content = known.buffers()
        places = np.frombuffer(starts, dtype=np.int64)[known.offset : known.offset + len(known) + 1]
        yield np.diff(places).data
        if content is not None:
            yield memoryview(content.slice(int(places[0]), int(places[-1] - places[0])))
    elif pa.types.is_int64(cells.type) or pa.types.is_timestamp(cells.type):
        yield cells.cast(pa.int64()).fill_null(0).to_numpy().data
    else:
        raise TypeError(f"a column of {cells.type} has no place in a run's inputs")


def digest_of_code(*rooms: Path) -> str:
    """Return the digest of all files of some rooms, which another version of them does not have."""
    digest = hashlib.sha256()
    for room in rooms:
        for path in sorted(room.rglob("*.py")):
            digest.update(path.relative_to(room).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
