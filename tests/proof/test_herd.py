"""A herd of deliveries of the same events: all are answered with 200, each event is one row."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.thoroughness import for_run

pytestmark = pytest.mark.both_databases

PROCESSES = 4
IDS = 50
PARALLEL = for_run(short=8, full=32)
CLIENT = Path(__file__).parent / "herd.py"


def test_the_same_events_from_everywhere_at_once(
    migrated_url: str, install: Callable[[str], Any], database_kind: str
) -> None:
    """Four client processes deliver the same ids in parallel, to four server processes where the store allows them."""
    installation = install(migrated_url)
    installation.serve(processes=PROCESSES if database_kind == "postgresql" else 1)
    command: list[str | Path] = [sys.executable, CLIENT, str(installation.port), str(PARALLEL), str(IDS)]
    clients = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(PROCESSES)]
    answers: Counter[str] = Counter()
    for client in clients:
        answers.update(json.loads(client.communicate()[0]))

    deliveries = PROCESSES * PARALLEL * IDS
    assert answers == {"200 stored": 50, "200 duplicate": deliveries - 50}
    assert installation.ids() == {f"evt_{number}" for number in range(50)}
