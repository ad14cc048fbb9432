"""Files between their look and their keeping: staged in the data folder, each its reader's own, for a day."""

import json
import re
import secrets
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from werkzeug.datastructures import FileStorage

from consumer.facts.house import House

# Reading it takes part of a request; the command line takes larger ones.
LARGEST = 10_000_000
_LASTS = timedelta(days=1)
_KEY = re.compile(r"[0-9a-f]{32}")
_UNSAFE = re.compile(r"[^\w. ()-]")
# In bytes, as file systems count; the end of a name tells what kind of file it is.
_LONGEST_NAME = 120
_TERMS = "terms.json"


class UploadError(ValueError):
    """A form that brought no usable file; the message is a text of the pages."""


@dataclass(frozen=True, slots=True)
class Upload:
    """One staged file and how it is to be read."""

    key: str
    path: Path
    terms: Mapping[str, str]


def stage(house: House, given: FileStorage | None, *, who: str, now: datetime, terms: Mapping[str, str]) -> Upload:
    """Put a file aside until somebody confirms it; those that nobody confirmed go after a day."""
    content = given.read(LARGEST + 1) if given else b""
    if not content or given is None:
        raise UploadError("Choose a file first.")
    if len(content) > LARGEST:
        raise UploadError("Over 10 MB: bring this file in on the command line.")
    _drop_old(house, now)
    key = secrets.token_hex(16)
    folder = _folder(house) / key
    folder.mkdir(parents=True)
    # A name is shown and kept beside the rows; as a path of its own it might lead elsewhere.
    name = _UNSAFE.sub("_", Path((given.filename or "").replace("\\", "/")).name)
    short = name.encode()[-_LONGEST_NAME:].decode(errors="ignore").lstrip(".")
    path = folder / "file" / (short or "file")
    path.parent.mkdir()
    path.write_bytes(content)
    (folder / _TERMS).write_text(json.dumps({**terms, "who": who, "name": path.name}), encoding="utf-8")
    return Upload(key, path, terms)


def find(house: House, key: str, *, who: str) -> Upload | None:
    """Find a staged file of this reader; nobody confirms what somebody else looked at."""
    folder = _folder(house) / key
    if not _KEY.fullmatch(key):
        return None
    try:
        terms = json.loads((folder / _TERMS).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return Upload(key, folder / "file" / terms["name"], terms) if terms["who"] == who else None


def drop(upload: Upload) -> None:
    shutil.rmtree(upload.path.parent.parent, ignore_errors=True)


def _folder(house: House) -> Path:
    return house.settings.data_dir / "uploads"


def _drop_old(house: House, now: datetime) -> None:
    for folder in _folder(house).glob("*"):
        # Whoever brings a file at the same moment drops the same ones.
        with suppress(FileNotFoundError):
            if datetime.fromtimestamp(folder.stat().st_mtime, UTC) < now - _LASTS:
                shutil.rmtree(folder, ignore_errors=True)
