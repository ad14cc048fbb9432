"""`cuadre secret-key rotate`: everything opens under the old or the new key, wherever it is killed."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner
from pydantic import SecretStr

from consumer.commands.secret_key import secret_key
from consumer.facts.clock import utc_now
from consumer.facts.encryption import cipher, open_all
from consumer.facts.erasures import open_pseudonyms
from consumer.facts.installation import Installation
from consumer.facts.settings import Settings
from consumer.facts.store import Store
from consumer.facts.tables.erasures import ErasingKey
from consumer.facts.work import WorkError
from consumer.health.doctor import check_key
from consumer.opening import open_installation
from consumer.secret_key import rotate
from consumer.webhooks.keyring import Keyring, NewSecret, keep_secret, known_secrets
from reports.tables import SecondFactor
from tests.merchant import ROOT, environ_of

pytestmark = pytest.mark.both_databases

OLD, NEW = "the key until now, which is long", "another key that only tests know"
NOW = utc_now()
# Dies at the call of one step of the rotation.
KILLED = """
import os, signal, sys
from consumer import secret_key
from cuadre import cli

setattr(secret_key, sys.argv[1], lambda *given: os.kill(os.getpid(), signal.SIGKILL))
cli(["secret-key", "rotate", *sys.argv[2:]])
"""


def _open(environ: Mapping[str, str]) -> Installation:
    return open_installation(environ, check=lambda _settings: None)


def _with(settings: Settings, key: str) -> Settings:
    return settings.model_copy(update={"secret_key": SecretStr(key)})


@pytest.fixture
def environ(migrated_url: str, tmp_path: Path) -> dict[str, str]:
    """A merchant's environment: the key is generated with SQLite, given with PostgreSQL."""
    given = {} if migrated_url.startswith("sqlite") else {"secret_key": OLD}
    return environ_of("http://provider.test", tmp_path, database_url=migrated_url,
                      webhook_secrets="whsec_of_settings", **given)  # fmt: skip


@pytest.fixture
def words(environ: dict[str, str], tmp_path: Path) -> list[str]:
    """What the command is given."""
    (tmp_path / "new key").write_text(NEW + "\n", encoding="utf-8")
    return ["--new-key-file", str(tmp_path / "new key")] if "CUADRE_SECRET_KEY" in environ else []


@pytest.fixture
def kept(environ: dict[str, str]) -> Installation:
    """An installation with a secret of each kind."""
    installation = _open(environ)
    with installation.store.transaction() as session:
        keep_secret(session, installation.settings, NewSecret("main", "rotated", "we_1", "whsec_1"), now=NOW)
        sealed = cipher(installation.settings, "second factors").encrypt(b"of a phone")
        session.add(SecondFactor(person_id=7, encrypted=sealed, begun_at=NOW))
        of_people = cipher(installation.settings, "erasures").encrypt(b"of tokens")
        session.add(ErasingKey(label="key", encrypted=of_people))
    return installation


def _lost(store: Store, settings: Settings) -> list[list[str]]:
    with store.reading() as session:
        return [one.lost for one in open_all(session.connection(), settings)]


def test_everything_is_kept_under_the_new_key(
    kept: Installation, environ: dict[str, str], words: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    """The old key opens nothing any more, uses of secrets stay, and a process that runs goes on verifying."""
    running = Keyring(kept)
    main = kept.settings.connection("main")
    before = running.secrets_of(main, now=NOW)
    running.note_use(before[0], now=NOW)
    with kept.store.connection() as connection:
        token = open_pseudonyms(connection).text("Ana")
        running.write_use(connection)

    answer = CliRunner().invoke(secret_key, ["rotate", *words], obj=lambda: kept)
    assert (answer.exit_code, answer.stdout) == (0, "")
    said = answer.stderr.splitlines()
    assert said[:2] == [
        "webhook secrets: 1 are encrypted under the new key", "second factors: 1 are encrypted under the new key",
    ]  # fmt: skip
    assert "Start every cuadre process again" in said[4]
    if words:
        assert said[3] == "Set CUADRE_SECRET_KEY to the new key on every machine."
        environ["CUADRE_SECRET_KEY"] = NEW
    assert _lost(kept.store, kept.settings) == [["rotated"], ["7"], ["key"]]
    assert str(check_key(kept).verdict) == "failure"

    with kept.store.reading() as session:
        assert open_pseudonyms(session.connection()).text("Ana") == token
    running._read_at = float("-inf")
    assert [secret.value for secret in running.secrets_of(main, now=NOW)] == [b"whsec_of_settings", b"whsec_1"]
    assert "it verifies until this process ends: start it with the new key" in caplog.text

    again = _open(environ)
    assert _lost(again.store, again.settings) == [[], [], []]
    opened = ": webhook secrets: opens all 1; second factors: opens all 1; erasures: opens all 1"
    assert check_key(again).found.endswith(opened)
    with again.store.reading() as session:
        assert known_secrets(session, again.settings, main, now=NOW)[0].last_used_at == NOW
    again.store.close()
    kept.store.close()


@pytest.mark.parametrize("step", ["_encrypt", "encrypt_anew", "mark_anew", "_finish"])
def test_a_rotation_that_is_killed_leaves_one_key_that_opens_everything(
    step: str, kept: Installation, environ: dict[str, str], words: list[str]
) -> None:
    """The next start uses the key that opens everything, and the command given again does its work."""
    if words and step == "_finish":
        step = "_with_key"
    command = [sys.executable, "-c", KILLED, step, *words]
    killed = subprocess.run(command, cwd=ROOT, env=os.environ | environ, capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    again = _open(environ)
    assert _lost(again.store, again.settings) == [[], [], []]
    is_changed = again.settings.secret_key != kept.settings.secret_key
    assert is_changed == (step == "_finish")
    rotate(again, NEW if words else None)
    assert _lost(again.store, again.settings) == [["rotated"], ["7"], ["key"]]
    if not words:
        assert [path.name for path in again.settings.data_dir.glob("secret_key*")] == ["secret_key"]
    again.store.close()
    kept.store.close()


def test_a_rotation_that_was_cut_off_is_said_by_the_doctor(kept: Installation, environ: dict[str, str]) -> None:
    """A key that was made and opens nothing is named with what to do, and changes nothing."""
    if kept.store.is_sqlite:
        (kept.settings.data_dir / "secret_key.next").write_text(NEW, encoding="utf-8")
        check = check_key(_open(environ))
        assert (str(check.verdict), check.advice) == (
            "warning", "a rotation was cut off before it changed anything: repeat cuadre secret-key rotate",
        )  # fmt: skip
    assert _lost(kept.store, kept.settings) == [[], [], []]
    kept.store.close()


def test_a_key_that_cannot_be_used_changes_nothing(kept: Installation, words: list[str]) -> None:
    """A weak key, one too many and one too few are refused in a sentence."""
    if words:
        with pytest.raises(WorkError, match=r"^the new key can be guessed: take 32 random characters"):
            rotate(kept, "short")
        answer = CliRunner().invoke(secret_key, ["rotate"], obj=lambda: kept)
        assert (answer.exit_code, answer.output) == (
            2, "Error: the key comes from CUADRE_SECRET_KEY: give the new one with --new-key-file\n"
        )  # fmt: skip
    else:
        with pytest.raises(WorkError, match=r"this installation generates its key, in .*secret_key: give none"):
            rotate(kept, NEW)
    assert _lost(kept.store, kept.settings) == [[], [], []]
    kept.store.close()


def test_what_the_old_key_does_not_open_stays_as_it_is(kept: Installation, words: list[str]) -> None:
    """It is named with exit status 3, and the rest is encrypted anew."""
    other = _with(kept.settings, "a third key, which is lost to all")
    with kept.store.transaction() as session:
        keep_secret(session, other, NewSecret("main", "older", "we_0", "whsec_0"), now=NOW)
    answer = CliRunner().invoke(secret_key, ["rotate", *words], obj=lambda: kept)
    assert answer.exit_code == 3
    assert "kept under another key than the one until now, and left as they are: webhook secrets older" in answer.stderr
    assert _lost(kept.store, other) == [["rotated"], ["7"], ["key"]]
    kept.store.close()
