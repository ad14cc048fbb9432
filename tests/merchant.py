"""A made-up merchant: the settings of its installation at one provider, its commands and the rows they print."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from click.testing import Result

from consumer.config import load
from consumer.facts.settings import Settings

ROOT = Path(__file__).resolve().parent.parent


def environ_of(url: str, folder: Path, **more: str) -> dict[str, str]:
    """Return the environment of a Chilean merchant in test mode; further settings are named without CUADRE_."""
    names = {
        "provider_url": url,
        "api_key": "sk_test_sandbox",
        "country": "cl",
        "data_dir": str(folder / "instance"),
    }
    return {f"CUADRE_{name.upper()}": value for name, value in (names | more).items()}


def settings_of(url: str, folder: Path, *, overrides: Mapping[str, object] | None = None, **more: str) -> Settings:
    """Return the settings of that merchant, who may ask the provider as often as it can."""
    environ = environ_of(url, folder, **{"rate_limit": "100000", **more})
    return load(environ, folder=folder, overrides=overrides or {})


def start_apart(*program: str, database_url: str, data_dir: Path) -> subprocess.Popen[bytes]:
    """Start Python in a process of its own, as this merchant and in this repository."""
    more = {"database_url": database_url, "data_dir": str(data_dir), "secret_key": "a key that only tests know"}
    environ = os.environ | environ_of("http://provider.test", data_dir, **more)
    command = [sys.executable, *program]
    return subprocess.Popen(command, cwd=ROOT, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def rows_of(result: Result) -> list[dict[str, Any]]:
    """Return the lines of JSON that a command printed."""
    return [json.loads(line) for line in result.stdout.splitlines()]


def row_of(result: Result, *, exit_code: int = 0) -> dict[str, Any]:
    """Return the only line of JSON of a command that ended as it should."""
    assert result.exit_code == exit_code, result.output
    (row,) = rows_of(result)
    return row
