"""Outcomes of forms, kept for their reader for a day, so that a page of them can be left and come back to."""

import json
import re
import secrets
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from consumer.facts.house import House

_LASTS = timedelta(days=1)
_KEY = re.compile(r"[0-9a-f]{32}")


def keep(house: House, outcome: dict[str, Any], *, who: str, now: datetime) -> str:
    """Put an outcome aside and return the key of its page."""
    folder = _folder(house)
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.json"):
        if datetime.fromtimestamp(path.stat().st_mtime, UTC) < now - _LASTS:
            path.unlink(missing_ok=True)
    key = secrets.token_hex(16)
    (folder / f"{key}.json").write_text(json.dumps({"who": who, "outcome": outcome}), encoding="utf-8")
    return key


def find(house: House, key: str, *, who: str) -> dict[str, Any] | None:
    path = _folder(house) / f"{key}.json"
    if not _KEY.fullmatch(key) or not path.is_file():
        return None
    kept = json.loads(path.read_text(encoding="utf-8"))
    outcome: dict[str, Any] = kept["outcome"]
    return outcome if kept["who"] == who else None


def _folder(house: House) -> Path:
    return house.settings.data_dir / "outcomes"
