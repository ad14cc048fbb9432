"""The inputs of a run are kept whole, read back as they were, and name the run."""

import errno
import os
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow.parquet as pq
import pytest

from consumer.facts.installation import Installation
from consumer.facts.settings import Connection
from reconcile.kept import snapshots
from reconcile.kept.snapshots import DRAFT, Scope, Snapshot, SnapshotError, digest_of
from reconcile.reading.process import background_thread
from reconcile.rules.inputs import PAYOUTS, empty_frame
from tests.observing import take_snapshot

if TYPE_CHECKING:
    from tests.reconcile.conftest import World


def _take(
    installation: Installation, main: Connection, *, as_of: date = date(2026, 9, 11), scope: Scope | None = None
) -> Snapshot:
    with installation.store.reading() as session:
        return take_snapshot(session, installation, main, as_of=as_of, scope=scope or Scope())


def _keep(snapshot: Snapshot, installation: Installation) -> Path:
    with (
        background_thread() as worker,
        snapshots.write_draft(snapshot, installation.settings.data_dir, worker) as settle,
    ):
        return settle()


def test_kept_inputs_come_back_as_they_were(world: "World", installation: Installation, main: Connection) -> None:
    """Every frame, the day and the scope are read back equal, types included, under the same id."""
    world.payment("pi_1", 1000, body={"metadata": {"order_ref": 'Ñandú "1"\nx'}})
    world.payout("po_1", 984, ("payment_intent", "pi_1", 1000))
    world.invoice("7", 1190)
    snapshot = _take(installation, main, scope=Scope(since=date(2026, 9, 1)))
    _keep(snapshot, installation)
    back = snapshots.read(installation.settings.data_dir, "main", snapshot.run_id)
    for name in snapshots.SCHEMAS:
        pd.testing.assert_frame_equal(back.frame(name), snapshot.frame(name))
    assert (back.inputs.as_of, back.scope) == (date(2026, 9, 11), Scope(since=date(2026, 9, 1)))
    again = snapshots.take(back.inputs, back.transfers, back.scope, tariff={}, chosen_rules={})
    assert again.run_id == snapshot.run_id


def test_day_and_scope_are_part_of_the_name(installation: Installation, main: Connection) -> None:
    """The same rows asked differently are another run."""
    names = {
        _take(installation, main).run_id,
        _take(installation, main, as_of=date(2026, 9, 12)).run_id,
        _take(installation, main, scope=Scope(payout_id="po_1")).run_id,
    }
    assert len(names) == 3


def test_changed_files_are_refused(world: "World", installation: Installation, main: Connection) -> None:
    """Kept inputs that were edited do not pass for the run's."""
    world.payout("po_1", 984)
    snapshot = _take(installation, main)
    folder = _keep(snapshot, installation)
    empty_frame(PAYOUTS).to_parquet(folder / "payouts.parquet", index=False)
    with pytest.raises(SnapshotError, match=r"payouts of run \w+ were changed"):
        snapshots.read(installation.settings.data_dir, "main", snapshot.run_id)


def test_what_cannot_be_written_stops_the_run(
    world: "World", installation: Installation, main: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk is noticed in the other thread; it comes up where the files get their name, and no draft is left."""
    world.invoice("7", 1190)
    snapshot = _take(installation, main)

    def refuse(*_given: object, **_how: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pq, "write_table", refuse)
    with pytest.raises(OSError, match="No space left"):
        _keep(snapshot, installation)
    assert list((installation.settings.data_dir / "runs" / "main").iterdir()) == []


@pytest.mark.parametrize(
    ("name", "content", "shown"),
    [
        ("items.parquet", b"", r"the kept items of run \w+ cannot be read: .+"),
        ("items.parquet", b"PAR1 cut here", r"the kept items of run \w+ cannot be read: .+"),
        ("items.parquet", None, r"the kept items of run \w+ cannot be read: .+"),
        ("run.json", b'{"connection": "ma', r"the kept inputs of run \w+ cannot be read: run.json: .+"),
        ("run.json", b"\xff", r"the kept inputs of run \w+ cannot be read: run.json: .+"),
    ],
)
def test_cut_files_are_told_by_name(
    installation: Installation, main: Connection, name: str, content: bytes | None, shown: str
) -> None:
    """A disk that lost part of what was kept is one sentence that names the frame and the run."""
    snapshot = _take(installation, main)
    path = _keep(snapshot, installation) / name
    path.unlink() if content is None else path.write_bytes(content)
    with pytest.raises(SnapshotError, match=shown):
        snapshots.read(installation.settings.data_dir, "main", snapshot.run_id)


@pytest.mark.parametrize("shown", [b'{"columns"; []}', b"\xff", b"{}"])
def test_a_damaged_description_of_the_columns_is_told_by_name(
    installation: Installation, main: Connection, shown: bytes
) -> None:
    """A table says what its columns are in a text of its own, which a failing disk damages like any other."""
    snapshot = _take(installation, main)
    path = _keep(snapshot, installation) / "payouts.parquet"
    pq.write_table(pq.read_table(path).replace_schema_metadata({b"pandas": shown}), path)
    with pytest.raises(SnapshotError, match=r"the kept payouts of run \w+ cannot be read: .+"):
        snapshots.read(installation.settings.data_dir, "main", snapshot.run_id)


def test_a_kept_folder_gets_its_name_when_all_of_it_is_on_the_disk(
    installation: Installation, main: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine that dies leaves a draft or the whole: each file and the folder are synced, then it is renamed."""
    done: list[str] = []
    sync, rename = os.fsync, Path.rename

    def synced(handle: int) -> None:
        done.append(Path(f"/proc/self/fd/{handle}").readlink().name)
        sync(handle)

    def renamed(path: Path, target: Path) -> Path:
        done.append("renamed")
        return rename(path, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "rename", renamed)
    folder = _keep(_take(installation, main), installation)
    *files, draft, last, parent = done
    assert sorted(files) == sorted(path.name for path in folder.iterdir())
    assert draft.endswith(DRAFT)
    assert (last, parent) == ("renamed", folder.parent.name)


def test_absent_files_are_said_to_be_absent(tmp_path: Path) -> None:
    """A run whose inputs are on another machine is named as such."""
    with pytest.raises(SnapshotError, match="not kept on this machine"):
        snapshots.read(tmp_path, "main", "abc")


def test_keeping_twice_is_keeping_once(installation: Installation, main: Connection) -> None:
    """The second writer of the same content leaves the first one's files and no draft."""
    snapshot = _take(installation, main)
    first = _keep(snapshot, installation)
    assert _keep(snapshot, installation) == first
    assert [path.name for path in first.parent.iterdir()] == [snapshot.run_id]


def test_missing_and_empty_text_are_different_content() -> None:
    """A digest never mistakes an unknown cell for an empty one, nor one column for its neighbour."""
    frames = [pd.DataFrame({"a": pd.Series(values, dtype="str")}) for values in ([None], [""], ["None"])]
    assert len({digest_of(frame) for frame in frames}) == 3
