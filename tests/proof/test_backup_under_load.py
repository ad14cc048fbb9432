"""Backups while events come in: each has every event that was acknowledged before it began."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from consumer.backup.restoring import restore
from consumer.facts.store import Store
from tests.databases import make_database
from tests.merchant import ROOT, settings_of
from tests.thoroughness import for_run

pytestmark = pytest.mark.both_databases
BACKUPS = for_run(short=2, full=20)


def _event(number: int) -> dict[str, Any]:
    data = {"id": f"re_{number}", "object": "refund", "mode": "test", "amount": 5, "currency": "CLP"}
    at = "2026-10-05T11:00:00Z"
    return {"id": f"evt_{number}", "type": "refund.succeeded", "mode": "test", "created_at": at, "data": data}


@contextmanager
def _ids_of(backup: Path, folder: Path, server: Callable[[], str] | None) -> Iterator[set[str]]:
    """Restore a backup and give the ids of its events."""
    with ExitStack() as open_until_the_end:
        key = "a key that only tests know"
        url = f"sqlite:///{folder / 'cuadre.db'}"
        if server is not None:
            url = open_until_the_end.enter_context(make_database(server()))
        settings = settings_of("http://provider.test", folder, secret_key=key, database_url=url)
        restore(backup, settings)
        store = Store(settings.database_url)
        with store.reading() as session:
            yield set(session.connection().execute(sa.text("SELECT id FROM event")).scalars())
        store.close()


def test_a_backup_has_every_event_acknowledged_before_it_began(
    install: Callable[[str], Any], migrated_url: str, send: Callable[..., Any], database_kind: str, tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:  # fmt: skip
    """Receiver, senders and the command are processes and threads of their own."""
    running = install(migrated_url)
    running.serve()
    senders = send(running.port, _event, pause=0.001)
    server = None if database_kind == "sqlite" else lambda: str(request.getfixturevalue("postgresql_url"))
    for number in range(BACKUPS):
        seen = len(senders.acknowledged)
        running.until(lambda seen=seen: len(senders.acknowledged) > seen + 20, "events are acknowledged")
        before = set(senders.acknowledged)
        made = subprocess.run(
            [sys.executable, "-m", "cuadre", "backup", "--json", "--out", tmp_path / f"{number}.tar.gz"],
            env={**os.environ, **running.environment()}, cwd=ROOT, check=True, capture_output=True, text=True,
        )  # fmt: skip
        with _ids_of(Path(json.loads(made.stdout)["file"]), tmp_path / str(number), server) as found:
            assert before - found == set()
