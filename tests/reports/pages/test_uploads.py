"""Files put aside until they are confirmed, while others bring and drop theirs."""

import io
from datetime import UTC, datetime

from werkzeug.datastructures import FileStorage

from consumer.facts.installation import Installation
from reports.pages import staging

NOW = datetime(2026, 10, 3, 12, tzinfo=UTC)


def test_a_file_that_somebody_else_drops_first_stops_nobody(reconciled: Installation) -> None:
    """An old one that is gone when its age is asked for, as two uploads at once find it, is no error."""
    folder = reconciled.settings.data_dir / "uploads"
    folder.mkdir()
    (folder / "gone").symlink_to(folder / "nowhere")
    given = FileStorage(io.BytesIO(b"x"), filename="a.csv")
    upload = staging.stage_upload(reconciled, given, who="ana", now=NOW, terms={})
    assert upload.path.read_bytes() == b"x"


def test_a_long_name_keeps_its_end_within_what_a_file_system_takes(reconciled: Installation) -> None:
    """Letters of several bytes count as such, and none is cut in half."""
    given = FileStorage(io.BytesIO(b"x"), filename="你" * 120 + ".csv")
    upload = staging.stage_upload(reconciled, given, who="ana", now=NOW, terms={})
    assert upload.path.name == "你" * 38 + ".csv"


def test_a_file_dropped_meanwhile_is_not_found(reconciled: Installation) -> None:
    """Whoever confirms after a drop finds nothing, whatever part of it is left."""
    given = FileStorage(io.BytesIO(b"x"), filename="a.csv")
    upload = staging.stage_upload(reconciled, given, who="ana", now=NOW, terms={})
    (upload.folder / "kept.json").unlink()
    assert staging.find_upload(reconciled, upload.key, who="ana") is None
