"""Secrets while several processes serve: a revoked one ends in all of them, and a new key stops none."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from consumer.config import load
from consumer.facts.clock import utc_now
from consumer.facts.encryption import open_all
from consumer.webhooks.keyring import NewSecret, keep_secret
from tests.merchant import ROOT
from tests.proof.test_wire import EVENT

NEW_KEY = "another key that only tests know"
on_postgresql = pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)


@pytest.fixture
def serving(migrated_url: str, install: Callable[[str], Any]) -> Any:
    """Two processes on one port, with a secret from the provider in the database."""
    installation = install(migrated_url)
    settings = load(installation.environment(), folder=installation.folder)
    with installation.store.transaction() as session:
        keep_secret(session, settings, NewSecret("main", "rotated", "we_1", "whsec_1"), now=utc_now())
    installation.serve_all(processes=2)
    return installation


def _command(installation: Any, *words: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "cuadre", *words]
    environ = {**os.environ, **installation.environment()}
    return subprocess.Popen(command, cwd=ROOT, env=environ, stderr=subprocess.DEVNULL)


def _post(installation: Any, number: int) -> int:
    body = json.dumps(EVENT | {"id": f"evt_{number}"}).encode()
    status: int = installation.post(body, secret=b"whsec_1")[0]
    return status


@on_postgresql
def test_a_revoked_secret_ends_in_every_process(serving: Any) -> None:
    """Each connection is taken by any of them; after the command no process takes what the secret signed."""
    assert {_post(serving, number) for number in range(12)} == {200}
    assert _command(serving, "webhook", "revoke", "rotated").wait(120) == 0
    assert {_post(serving, number) for number in range(100, 124)} == {401}
    assert serving.ids() == {f"evt_{number}" for number in range(12)}


@on_postgresql
def test_processes_go_on_while_the_secret_key_is_rotated(serving: Any, tmp_path: Path) -> None:
    """Every webhook is stored before, meanwhile and after, though what runs knows the old key alone."""
    (tmp_path / "new key").write_text(NEW_KEY, encoding="utf-8")
    answers = [_post(serving, number) for number in range(6)]
    rotating = _command(serving, "secret-key", "rotate", "--new-key-file", str(tmp_path / "new key"))
    while rotating.poll() is None:
        answers.append(_post(serving, len(answers)))
    assert rotating.returncode == 0
    answers += [_post(serving, number) for number in range(len(answers), len(answers) + 12)]
    assert set(answers) == {200}
    assert serving.ids() == {f"evt_{number}" for number in range(len(answers))}
    renewed = load(serving.environment() | {"CUADRE_SECRET_KEY": NEW_KEY}, folder=serving.folder)
    with serving.store.reading() as session:
        assert [one.lost for one in open_all(session.connection(), renewed)] == [[], [], []]
