"""The demo as anybody runs it: what was sent is stored, what was planted is found, and again is the same."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import Browser, expect

from tests.ports import free_port

if TYPE_CHECKING:
    from tests.journeys.conftest import Demo

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


def play(folder: Path, **environ: str) -> dict[str, Any]:
    return dict(json.loads(run(folder, "demo", "--once", "--json", "--port", str(free_port()), **environ).stdout))


def reports(folder: Path) -> dict[str, bytes]:
    settings = str(folder / "data" / "demo.toml")
    arguments = ("--as-of", "2026-11-01", "--out", "-")
    return {name: run(folder, "report", name, *arguments, CUADRE_CONFIG=settings).stdout for name in REPORTS}


def test_the_demo_finds_what_was_planted(demo: "Demo") -> None:
    """Events stored equal events sent though a tenth was dropped; no terminal: each step is printed once, no day."""
    found = demo.summary
    assert found["events_stored"] == found["events_sent"] > 1000
    assert 20 < found["webhooks_dropped"] < 200
    assert found["payouts_closed"] == found["payouts"] > 40
    assert found["exceptions"] == found["planted"]
    assert (len(found["planted"]), found["planted"]["BANK_SOURCES_DIFFER"]) == (21, 1)
    assert found["payouts_no_bank"] == 0

    shown = [line for line in demo.shown.splitlines() if line.startswith(STEPS)]
    assert [line.startswith(step) for line, step in zip(shown, STEPS, strict=True)] == [True] * len(STEPS)
    assert "day 1 of 31" not in demo.shown
    assert "{" not in demo.shown, "log lines go to a file"


def test_the_search_finds_an_invoice_of_the_demo_at_once(browser: Browser, demo: "Demo") -> None:
    """What the demo made can be found by its folio without waiting for the hour."""
    page = browser.new_page(locale="es-CL")
    page.goto(f"{demo.address}/login")
    page.locator("#email").fill("finanzas@demo.cuadre")
    page.locator("#password").fill("cuadre-demo-2026")
    page.locator("button.main").click()
    page.locator(".figures").first.wait_for()
    page.goto(f"{demo.address}/search?q=10346")
    expect(page.get_by_role("link", name="Factura electrónica 10346").first).to_be_visible()


@pytest.mark.proof
def test_a_second_demo_is_the_same(database_url: str, tmp_path: Path) -> None:
    """A second run on the data of the first changes neither summary nor files."""
    environ = {
        "CUADRE_DATA_DIR": str(tmp_path / "data"),
        "CUADRE_DATABASE_URL": database_url,
        "CUADRE_SECRET_KEY": "a key that only tests know",
    }
    first, files = play(tmp_path, **environ), reports(tmp_path)
    assert play(tmp_path, **environ) == first
    assert reports(tmp_path) == files
