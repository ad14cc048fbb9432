"""Several processes of one server: whichever is asked for the metrics tells what all of them counted."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.proof.test_wire import EVENT

ROOT = Path(__file__).parents[2]


def counted(metrics: bytes, name: str) -> float:
    return sum(float(line.split()[-1]) for line in metrics.decode().splitlines() if line.startswith(f"{name}{{"))


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
def test_counters_of_several_processes_add_up(migrated_url: str, install: Callable[[str], Any]) -> None:
    """Deliveries and forgeries taken by two processes are one number each, whoever answers; gauges stay one line."""
    installation = install(migrated_url)
    command = [sys.executable, "-m", "cuadre", "web", "--processes", "2", "--port", str(installation.port)]
    with (installation.folder / "web.log").open("ab") as log:
        installation.running["receive"] = subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, **installation.environment()}, stdout=log, stderr=log
        )
    installation.until(installation.is_alive, "the receiver answers")
    for number in range(30):
        assert installation.post(json.dumps(EVENT | {"id": f"evt_{number}"}).encode())[0] == 200
        assert installation.post(b"{}", secret=b"whsec_other")[0] == 401

    for _ in range(8):
        status, metrics = installation.get("/metrics")
        assert (status, counted(metrics, "cuadre_webhook_received_total")) == (200, 30)
        assert counted(metrics, "cuadre_webhook_refused_total") == 30
        assert metrics.count(b"cuadre_inbox_waiting{") == 1
