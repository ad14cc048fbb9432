"""The demo as anybody runs it: what was sent is stored, what was planted is found, and again is the same."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.ports import free_port

REPORTS = ("payout-summary", "payout-detail", "exceptions")


STEPS = (
    "making up a month of trade",
    "starting the receiver",
    "31 days of trade",
    "catching up",
    "reconciling the month",
)


def run(folder: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command of the program in a process of its own, with only the settings given."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("CUADRE_")}
    command = [sys.executable, "-m", "cuadre", *arguments]
    done = subprocess.run(command, cwd=folder, env={**clean, **environ}, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done


def demo(folder: Path, **environ: str) -> dict[str, Any]:
    """Play it with no terminal: each step is told once, the days are not."""
    done = run(folder, "demo", "--once", "--json", "--port", str(free_port()), **environ)
    told = [line for line in done.stderr.decode().splitlines() if line.startswith(STEPS)]
    assert [line.startswith(step) for line, step in zip(told, STEPS, strict=True)] == [True] * len(STEPS)
    assert b"day 1 of 31" not in done.stderr
    return dict(json.loads(done.stdout))


def reports(folder: Path) -> dict[str, bytes]:
    settings = str(folder / "data" / "demo.toml")
    arguments = ("--as-of", "2026-11-01", "--out", "-")
    return {name: run(folder, "report", name, *arguments, CUADRE_CONFIG=settings).stdout for name in REPORTS}


def test_the_demo_finds_what_was_planted_and_again_the_same(database_url: str, tmp_path: Path) -> None:
    """Events stored equal events sent though a tenth was dropped; a second run changes neither summary nor files."""
    environ = {
        "CUADRE_DATA_DIR": str(tmp_path / "data"),
        "CUADRE_DATABASE_URL": database_url,
        "CUADRE_SECRET_KEY": "a key of the test",
    }

    first = demo(tmp_path, **environ)

    assert first["events_stored"] == first["events_sent"] > 1000
    assert 20 < first["webhooks_dropped"] < 200
    assert first["payouts_closed"] == first["payouts"] > 40
    assert first["exceptions"] == first["planted"]
    assert (len(first["planted"]), first["planted"]["BANK_SOURCES_DIFFER"]) == (21, 1)
    assert first["payouts_no_bank"] == 0

    files = reports(tmp_path)

    assert demo(tmp_path, **environ) == first
    assert reports(tmp_path) == files
