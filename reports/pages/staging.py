"""What waits for its reader between two pages, in the data folder: nobody else finds it, and after a day it goes."""

import json
import re
import secrets
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from consumer.facts.installation import Installation

_LASTS = timedelta(days=1)
_KEY = re.compile(r"[0-9a-f]{32}")
_KEPT = "kept.json"
# Outcomes of forms, so that a page of them can be left and come back to.
OUTCOMES = "outcomes"


@dataclass(frozen=True, slots=True)
class Staged:
    """One thing that waits: a folder of its own, and what was written down about it."""

    key: str
    folder: Path
    told: Mapping[str, Any]


def stage(installation: Installation, place: str, told: Mapping[str, Any], *, who: str, now: datetime) -> Staged:
    """Put something aside for its reader; what waited for more than a day goes."""
    _drop_old(installation.settings.data_dir / place, now)
    key = secrets.token_hex(16)
    folder = installation.settings.data_dir / place / key
    folder.mkdir(parents=True)
    (folder / _KEPT).write_text(json.dumps({"who": who, "told": told}), encoding="utf-8")
    return Staged(key, folder, told)


def find(installation: Installation, place: str, key: str, *, who: str) -> Staged | None:
    """Find what waits for this reader under a key."""
    if not _KEY.fullmatch(key):
        return None
    folder = installation.settings.data_dir / place / key
    try:
        kept = json.loads((folder / _KEPT).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return Staged(key, folder, kept["told"]) if kept["who"] == who else None


def drop(staged: Staged) -> None:
    shutil.rmtree(staged.folder, ignore_errors=True)


def _drop_old(place: Path, now: datetime) -> None:
    for folder in place.glob("*"):
        # Whoever stages something at the same moment drops the same ones.
        with suppress(FileNotFoundError):
            if datetime.fromtimestamp(folder.stat().st_mtime, UTC) < now - _LASTS:
                shutil.rmtree(folder, ignore_errors=True)
