"""A night whose database goes away in the middle: said in one line, nothing half done, and the next one ends it."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sandbox.remote import Steer
from sandbox.serve import RunningSandbox
from tests.thoroughness import for_run

ROOT = Path(__file__).parents[2]
GONE_SECONDS = for_run(short=2.0, full=20.0)
TWO_DAYS = 2 * 24 * 60 * 60


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
def test_a_night_whose_database_goes_away(
    own_url: str, install: Callable[[str], Any], request: pytest.FixtureRequest
) -> None:
    """The command ends with status 1 or 3 and a reason; repeated when the database is back, it ends complete."""
    cluster, installation = request.getfixturevalue("cluster"), install(own_url)
    with RunningSandbox("quiet", seed=1) as running, Steer(running.url) as steer:
        steer.advance(TWO_DAYS)
        # However fast this machine is, the night still reads when the database goes.
        steer.switch_on("slow", seconds=5, path="/v1/")
        environ = {**os.environ, **installation.environment(), "CUADRE_PROVIDER_URL": running.url}

        def night() -> "subprocess.Popen[str]":
            command = [sys.executable, "-m", "cuadre", "nightly", "--date", "2026-10-01"]
            return subprocess.Popen(command, cwd=ROOT, env=environ, stderr=subprocess.PIPE, text=True)

        broken = night()
        installation.until(installation.ids, "the first events are in")
        cluster.stop()
        steer.switch_off()
        time.sleep(GONE_SECONDS)
        cluster.start()
        _, shown = broken.communicate(timeout=300)
        whole = night()
        _, ended = whole.communicate(timeout=300)

    assert broken.returncode in {1, 3}, shown
    assert "Traceback" not in shown
    assert whole.returncode == 0, ended
    assert "2 of 2 payouts explained to the peso, 2 of them shown by no bank data, complete" in ended
