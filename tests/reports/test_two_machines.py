"""Two machines on one database: what one of them keeps in files is reached from the other."""

import io
from datetime import UTC, datetime
from pathlib import Path

import pytest
from werkzeug.datastructures import FileStorage

from consumer.facts.installation import Installation
from reconcile.kept import snapshots
from reports.pages import staging

NOW = datetime(2026, 10, 3, 12, tzinfo=UTC)


@pytest.fixture
def machines(installation: Installation, tmp_path: Path) -> tuple[Installation, Installation]:
    """Two installations with data folders of their own, and one folder that both mount."""
    shared = tmp_path / "shared"
    shared.mkdir()

    def machine(name: str) -> Installation:
        changes = {"data_dir": tmp_path / name, "shared_dir": shared}
        return Installation(installation.settings.model_copy(update=changes), installation.store)

    return machine("one"), machine("other")


def test_a_file_shown_by_one_machine_is_kept_by_the_other(machines: tuple[Installation, Installation]) -> None:
    """The browser's next request may go to the other machine behind the proxy."""
    one, other = machines
    given = FileStorage(io.BytesIO(b"x"), filename="a.csv")
    upload = staging.stage_upload(one, given, who="ana", now=NOW, terms={})
    found = staging.find_upload(other, upload.key, who="ana")
    assert found is not None
    assert found.path.read_bytes() == b"x"


def test_inputs_of_runs_lie_where_both_look(machines: tuple[Installation, Installation]) -> None:
    """A rerun on either machine reads the same folder."""
    one, other = machines
    assert snapshots.folder_of(one.settings.files_dir, "main", "r") == snapshots.folder_of(
        other.settings.files_dir, "main", "r"
    )
