"""The demo as anybody runs it: what was sent is stored, what was planted is found, and again is the same."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

REPORTS = ("payout-summary", "payout-detail", "exceptions")


def run(folder: Path, *arguments: str, **environ: str) -> bytes:
    """Run a command of the program in a process of its own, with only the settings given."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("CUADRE_")}
    command = [sys.executable, "-m", "cuadre", *arguments]
    done = subprocess.run(command, cwd=folder, env={**clean, **environ}, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def demo(folder: Path, **environ: str) -> dict[str, Any]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    summary = run(folder, "demo", "--once", "--json", "--port", str(port), **environ)
    return dict(json.loads(summary))


def reports(folder: Path) -> dict[str, bytes]:
    settings = str(folder / "data" / "demo.toml")
    arguments = ("--as-of", "2026-11-01", "--out", "-")
    return {name: run(folder, "report", name, *arguments, CUADRE_CONFIG=settings) for name in REPORTS}


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
    assert len(first["planted"]) >= 14

    files = reports(tmp_path)

    assert demo(tmp_path, **environ) == first
    assert reports(tmp_path) == files
