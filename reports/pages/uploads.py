"""Files between their look and their keeping."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from werkzeug.datastructures import FileStorage

from consumer.facts.installation import Installation
from reports.pages import staging
from reports.pages.staging import Staged

# Reading it takes part of a request; the command line takes larger ones.
LARGEST = 10_000_000
_PLACE = "uploads"
_UNSAFE = re.compile(r"[^\w. ()-]")
# In bytes, as file systems count; the end of a name tells what kind of file it is.
_LONGEST_NAME = 120


class UploadError(ValueError):
    """A form that brought no usable file; the message is a text of the pages."""


@dataclass(frozen=True, slots=True)
class Upload:
    """One staged file and how it is to be read."""

    staged: Staged

    @property
    def key(self) -> str:
        return self.staged.key

    @property
    def terms(self) -> Mapping[str, Any]:
        return self.staged.told

    @property
    def path(self) -> Path:
        """A name of the reader's choice stands in a folder of its own, beside nothing of ours."""
        name: str = self.terms["name"]
        return self.staged.folder / "file" / name


def stage(
    installation: Installation, given: FileStorage | None, *, who: str, now: datetime, terms: Mapping[str, str]
) -> Upload:
    """Put a file aside until somebody confirms it."""
    content = given.read(LARGEST + 1) if given else b""
    if not content or given is None:
        raise UploadError("Choose a file first.")
    if len(content) > LARGEST:
        raise UploadError("Over 10 MB: bring this file in on the command line.")
    # A name is shown and kept beside the rows; as a path of its own it might lead elsewhere.
    name = _UNSAFE.sub("_", Path((given.filename or "").replace("\\", "/")).name)
    short = name.encode()[-_LONGEST_NAME:].decode(errors="ignore").lstrip(".") or "file"
    upload = Upload(staging.stage(installation, _PLACE, {**terms, "name": short}, who=who, now=now))
    upload.path.parent.mkdir()
    upload.path.write_bytes(content)
    return upload


def find(installation: Installation, key: str, *, who: str) -> Upload | None:
    """Find a staged file of this reader; nobody confirms what somebody else looked at."""
    found = staging.find(installation, _PLACE, key, who=who)
    return None if found is None else Upload(found)


def drop(upload: Upload) -> None:
    staging.drop(upload.staged)
