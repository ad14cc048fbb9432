"""What waits for its reader between two pages, in the data folder, for a day: outcomes, files to be confirmed."""

import json
import re
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from werkzeug.datastructures import FileStorage

from consumer.facts import shared_files
from consumer.facts.durable import drop_old
from consumer.facts.installation import Installation
from consumer.facts.messages import RefusalError
from consumer.facts.uploads import LARGEST
from reconcile.books.intake import to_safe_name
from reports.shapes.spans import Row

_LASTS = timedelta(days=1)
_KEY = re.compile(r"[0-9a-f]{32}")
_KEPT = "kept.json"
# Outcomes of forms, so that a page of them can be left and come back to.
OUTCOMES = "outcomes"
# Reading it takes part of a request; the command line takes larger ones.
_UPLOADS = "uploads"


@dataclass(frozen=True, slots=True)
class Staged:
    """One thing that waits: a folder of its own, and what was written down about it."""

    key: str
    folder: Path
    content: Row

    @property
    def path(self) -> Path:
        """Return where an uploaded file lies: its name is the reader's choice and stands in a folder of its own."""
        name: str = self.content["name"]
        return self.folder / "file" / name


def stage(installation: Installation, place: str, content: Row, *, who: str, now: datetime) -> Staged:
    """Put something aside for its reader; what waited for more than a day goes."""
    drop_old((installation.settings.files_dir / place).glob("*"), before=now - _LASTS)
    shared_files.withdraw_old(installation, installation.settings.files_dir / place, before=now - _LASTS)
    key = secrets.token_hex(16)
    folder = installation.settings.files_dir / place / key
    folder.mkdir(parents=True)
    (folder / _KEPT).write_text(json.dumps({"who": who, "content": content}), encoding="utf-8")
    shared_files.publish(installation, folder / _KEPT, now=now)
    return Staged(key, folder, content)


def find(installation: Installation, place: str, key: str, *, who: str) -> Staged | None:
    """Find what waits for this reader under a key."""
    if not _KEY.fullmatch(key):
        return None
    folder = installation.settings.files_dir / place / key
    if not shared_files.fetch(installation, folder / _KEPT, is_stale=True):
        # Another machine kept or dropped it; its copy here goes too.
        shutil.rmtree(folder, ignore_errors=True)
        return None
    try:
        kept = json.loads((folder / _KEPT).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return Staged(key, folder, kept["content"]) if kept["who"] == who else None


class UploadError(RefusalError):
    """A form that brought no usable file."""


def stage_upload(
    installation: Installation, given: FileStorage | None, *, who: str, now: datetime, terms: Mapping[str, str]
) -> Staged:
    """Put a file aside until its reader confirms it."""
    content = given.read(LARGEST + 1) if given else b""
    if not content or given is None:
        raise UploadError("Choose a file first.")
    if len(content) > LARGEST:
        raise UploadError("Over 10 MB: bring this file in on the command line.")
    # A name is shown and stored with the rows; used as a path it might lead elsewhere.
    short = to_safe_name(Path((given.filename or "").replace("\\", "/")).name)
    upload = stage(installation, _UPLOADS, {**terms, "name": short}, who=who, now=now)
    upload.path.parent.mkdir()
    upload.path.write_bytes(content)
    shared_files.publish(installation, upload.path, now=now)
    return upload


def change(installation: Installation, staged: Staged, more: Row, *, who: str, now: datetime) -> None:
    """Write down what its reader adds to a thing that waits."""
    content = {**staged.content, **more}
    draft = staged.folder / f"{_KEPT}.draft"
    draft.write_text(json.dumps({"who": who, "content": content}), encoding="utf-8")
    draft.replace(staged.folder / _KEPT)
    shared_files.publish(installation, staged.folder / _KEPT, now=now)


def find_upload(installation: Installation, key: str, *, who: str) -> Staged | None:
    upload = find(installation, _UPLOADS, key, who=who)
    if upload is not None:
        shared_files.fetch(installation, upload.path)
    return upload


def drop(installation: Installation, staged: Staged) -> None:
    shared_files.withdraw(installation, staged.folder)
    shutil.rmtree(staged.folder, ignore_errors=True)
