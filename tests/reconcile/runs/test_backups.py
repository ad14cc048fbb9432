"""Backups: everything comes back, a drill proves it on both databases, and nothing half restored looks whole."""

import json
import shutil
import signal
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa
from click.testing import Result
from pydantic import SecretStr
from sqlmodel import SQLModel

from consumer.backup import making
from consumer.backup.drill import run_nightly_backup
from consumer.backup.making import make_backup
from consumer.backup.restoring import check_whole, restore
from consumer.config import load
from consumer.facts.clock import utc_now
from consumer.facts.encryption import ENCRYPTED
from consumer.facts.installation import Installation
from consumer.facts.settings import Settings
from consumer.facts.store import Store
from consumer.facts.work import WorkError
from consumer.health.backup_age import check_backups
from consumer.webhooks.keyring import NewSecret, keep_secret
from reconcile.kept import snapshots
from reconcile.runs.proof import prove
from reports.access import second_factor
from tests.databases import make_database
from tests.merchant import environ_of, row_of, start_apart

if TYPE_CHECKING:
    from tests.reconcile.conftest import Prepare, World

Call = Callable[..., Result]
Harm = Callable[[Installation], str]
PASSPHRASE = "five random words of mine"
CLOSE = ("periods", "close", "--to", "2026-09-10", "--as-of", "2026-09-10", "--reason", "month end", "--author", "ana")
NOW = datetime(2026, 11, 23, 8, 30, tzinfo=UTC)
# Dies in the middle of a restore: at the call of one of its steps.
KILLED = """
import os, signal, sys
from consumer.backup import restoring
from cuadre import cli

def die(*given, **named):
    os.kill(os.getpid(), signal.SIGKILL)

owner, _, name = sys.argv[1].rpartition(".")
setattr(getattr(restoring, owner) if owner else restoring, name, die)
cli(["restore", sys.argv[2]])
"""


@pytest.fixture
def settings(settings: Settings, tmp_path: Path) -> Settings:
    """The merchant's settings with a folder for backups and a passphrase."""
    given = {"backup_dir": tmp_path / "backups", "backup_passphrase": SecretStr(PASSPHRASE)}
    return settings.model_copy(update=given)


@pytest.fixture
def closed(world: "World", call: Call, prepare: "Prepare", installation: Installation) -> "World":
    """A payment and a payout of 10 September, whose day is closed, an event, a webhook secret and a mapping."""
    prepare("closed day of backups", lambda: _close_day(world, call))
    world.event("evt_1", "payment_intent.succeeded", "pi_1")
    with installation.store.transaction() as session:
        keep_secret(session, installation.settings, NewSecret("main", "rotated", "we_1", "whsec_new"), now=NOW)
    mapping = installation.settings.files_dir / "mappings" / "erp.toml"
    mapping.parent.mkdir(parents=True)
    mapping.write_text('total = "Importe"\n', encoding="utf-8")
    return world


def _close_day(world: "World", call: Call) -> str:
    world.payment("pi_1", 1190)
    world.payout("po_1", 1174, ("payment_intent", "pi_1", 1190))
    world.invoice("7", 1190, order_ref="PED-1", due_date=date(2026, 10, 30))
    world.complete(datetime(2026, 9, 12, 6, tzinfo=UTC))
    assert call(*CLOSE).exit_code == 0
    return ""


@pytest.fixture
def backup(closed: "World", installation: Installation, tmp_path: Path) -> Path:
    """A backup of all that."""
    assert closed.store is installation.store
    path = tmp_path / "backups" / "cuadre-20261123T083000Z.tar.gz"
    make_backup(installation, path, now=NOW)
    return path


@pytest.fixture
def empty(settings: Settings, database_kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Settings]:
    """The settings of an empty installation on the same kind of database."""
    place = {"data_dir": tmp_path / "new"}
    if database_kind == "sqlite":
        yield settings.model_copy(update={**place, "database_url": f"sqlite:///{tmp_path / 'new' / 'cuadre.db'}"})
        return
    with make_database(request.getfixturevalue("postgresql_url")) as url:
        yield settings.model_copy(update={**place, "database_url": url})


def _rows(store: Store) -> dict[str, list[str]]:
    """Return every row of every table but those that a backup itself writes."""
    with store.reading() as session:
        connection = session.connection()
        return {
            name: sorted(str(tuple(row)) for row in connection.execute(sa.select(table)))
            for name, table in SQLModel.metadata.tables.items()
            if not name.startswith("backup")
        }


def _files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for place in making.PLACES
        for path in (folder / place).rglob("*")
        if path.is_file()
    }


def _open(settings: Settings) -> Installation:
    return Installation(settings, Store(settings.database_url))


@pytest.mark.both_databases
def test_a_restored_installation_is_the_one_that_was_backed_up(
    backup: Path, installation: Installation, empty: Settings
) -> None:
    """Every row and file is the same, numbers go on where they stood, and the secret key and its secrets are back."""
    restored = restore(backup, empty)
    again = _open(empty)
    assert _rows(again.store) == _rows(installation.store)
    if again.store.is_sqlite:
        assert _files(empty.data_dir) == _files(installation.settings.data_dir)
    assert "mappings/erp.toml" in _files(empty.data_dir)
    key = installation.settings.secret_key.get_secret_value()
    assert restored.secrets is not None
    assert (restored.secrets.secret_key, (empty.data_dir / "secret_key").read_text()) == (key, key)
    with again.store.transaction() as session:
        kept = keep_secret(session, empty, NewSecret("main", "next", "we_2", "whsec_next"), now=NOW)
        assert kept.id == 2
    again.store.close()


@pytest.mark.both_databases
def test_a_drill_proves_a_backup_and_keeps_the_certificate(
    backup: Path, installation: Installation, call: Call
) -> None:
    """The certificate names the closed run made again, the digests, the secrets, the newest fact, RPO and RTO."""
    before = _rows(installation.store)
    answer = call("backup", "drill", "--json")
    row = row_of(answer)
    with installation.store.reading() as session:
        (check, proof) = check_backups(session, is_nightly=True, now=utc_now())
        run_id = session.scalar(sa.text("SELECT run_id FROM period"))
    proofs = {one["name"]: one["found"] for one in row["proofs"]}
    kept = json.loads(backup.with_name(backup.name + ".certificate.json").read_bytes())

    assert (row["state"], row["file"], row["made_at"]) == ("proven", str(backup), "2026-11-23T08:30:00Z")
    assert row["newest_fact_at"] == "2026-09-10T15:00:00Z"
    assert row["rto_seconds"] > 0
    assert row["rpo_seconds"] == round((datetime.fromisoformat(row["drilled_at"]) - NOW).total_seconds())
    assert proofs["webhook secrets"] == "the key in the backup opens all 1"
    assert proofs["second factors"] == "the key in the backup opens all 0"
    assert proofs["main closed periods"].startswith("1 as in the live database, digest ")
    assert proofs["main run 1"] == (
        f"of the last closed period: made again under the same id {run_id}, every row the same"
    )
    assert kept == row
    assert (str(proof.verdict), proof.found.split(" ")[:2]) == ("ok", ["last", "proven"])
    assert check.found.startswith("the newest is of 2026-11-23T08:30:00Z")
    assert _rows(installation.store) == before
    assert "RTO " in call("backup", "drill").stdout
    if not installation.store.is_sqlite:
        with installation.store.reading() as session:
            schemas = session.scalars(sa.text("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'cuadre%'"))
            assert list(schemas) == []
    assert [path.name for path in backup.parent.iterdir() if path.name.startswith(".")] == []


def _change_inputs(installation: Installation) -> str:
    """Change a byte of what the closed run read, before the backup is made."""
    with installation.store.reading() as session:
        run_id = str(session.scalar(sa.text("SELECT run_id FROM period")))
    path = snapshots.folder_of(installation.settings.files_dir, "main", run_id) / "run.json"
    text = path.read_text("utf-8").replace("2026-09-10", "2026-09-09")
    path.write_text(text, encoding="utf-8")
    with installation.store.connection() as connection:
        name = path.relative_to(installation.settings.files_dir).as_posix()
        connection.execute(
            sa.text("UPDATE shared_file SET content = :content WHERE path = :path"),
            {"content": text.encode(), "path": name},
        )
    return "main run 1: the kept run.json of run"


def _change_a_figure(installation: Installation) -> str:
    """Change a closed figure in the live database after the backup was made."""
    with installation.store.connection() as connection:
        connection.execute(sa.text("UPDATE closed_figure SET words = 'figure.void' WHERE kind = 'payout'"))
    return "main closed periods: period 1 differs from the live database"


def _lose_the_key(installation: Installation) -> str:
    """Keep a secret that the key of the backup does not open."""
    with installation.store.connection() as connection:
        connection.execute(sa.text("UPDATE webhook_secret SET label = 'old', encrypted = :x"), {"x": b"another key's"})
    return "webhook secrets: the key in the backup does not open old"


@pytest.mark.parametrize(("before", "after"), [(_change_inputs, None), (None, _change_a_figure), (_lose_the_key, None)])
@pytest.mark.usefixtures("closed")
def test_a_drill_that_fails_says_what_and_keeps_its_certificate(
    before: Harm | None, after: Harm | None, installation: Installation, call: Call
) -> None:
    """What was changed is named with exit status 3, and the doctor is red until another drill succeeds."""
    reason = before(installation) if before else ""
    assert call("backup").exit_code == 0
    reason = after(installation) if after else reason
    row = row_of(call("backup", "drill", "--json"), exit_code=3)
    failed = [f"{one['name']}: {one['found']}" for one in row["proofs"] if not one["is_good"]]
    with installation.store.reading() as session:
        proof = list(check_backups(session, is_nightly=True, now=utc_now()))[-1]
    assert row["state"] == "failed"
    assert failed[0].startswith(reason)
    assert (str(proof.verdict), reason in proof.found) == ("failure", True)


def test_everything_encrypted_is_opened_by_the_drill(installation: Installation) -> None:
    """Every table with a column of that name is known to the drill, under the key that its owner derives."""
    tables = {name for name, table in SQLModel.metadata.tables.items() if "encrypted" in table.columns}
    assert set(ENCRYPTED) == tables
    purposes = {purpose for purpose, _label in ENCRYPTED.values()}
    assert purposes == {"webhook secrets", "erasures", second_factor.PURPOSE}
    assert installation.store is not None


def test_a_backup_that_cannot_be_restored_fails_with_status_1(backup: Path, call: Call) -> None:
    """Half a file is a failed certificate that says why."""
    whole = backup.read_bytes()
    backup.write_bytes(whole[: len(whole) // 2])
    answer = call("backup", "drill")
    assert answer.exit_code == 1
    assert "failure restore: " in (said := " ".join(answer.stdout.split()))
    assert "is damaged, or no backup of Cuadre" in said
    assert f"failed: {backup}" in answer.stdout


@pytest.mark.both_databases
@pytest.mark.usefixtures("backup")
def test_what_holds_data_is_not_restored_into(backup: Path, installation: Installation, empty: Settings) -> None:
    """A database or folder that is not empty, another passphrase and another kind of database are one sentence each."""
    full = installation.settings.model_copy(
        update={"database_url": installation.store.url.render_as_string(hide_password=False)}
    )
    with pytest.raises(WorkError, match="already, and a backup is restored into an empty installation"):
        restore(backup, full)
    (empty.files_dir / "reports" / "2026-09-10").mkdir(parents=True)
    with pytest.raises(WorkError, match="new holds reports already, and a backup is restored into an empty"):
        restore(backup, empty)
    shutil.rmtree(empty.files_dir)
    wrong = empty.model_copy(update={"backup_passphrase": SecretStr("five random words of his")})
    with pytest.raises(WorkError, match="CUADRE_BACKUP_PASSPHRASE is not the one this backup was made with"):
        restore(backup, wrong)
    assert not empty.data_dir.exists() or not any(empty.data_dir.iterdir())


@pytest.mark.parametrize("step", ["check_free", "shutil.copyfileobj", "_put_secrets", "schema.upgrade"])
def test_a_restore_that_is_killed_never_looks_whole(
    step: str, backup: Path, installation: Installation, empty: Settings
) -> None:
    """Every command refuses what is half there; the same restore, given again, makes it whole."""
    killed = start_apart("-c", KILLED, step, str(backup), database_url=empty.database_url, data_dir=empty.data_dir)
    assert killed.wait() == -signal.SIGKILL
    with pytest.raises(WorkError, match="a restore into this installation did not end: run cuadre restore FILE again"):
        check_whole(empty)
    store = Store(empty.database_url)
    restore(backup, empty)
    assert _rows(store) == _rows(installation.store)
    assert "mappings/erp.toml" in _files(empty.data_dir)
    check_whole(empty)
    with pytest.raises(WorkError, match="already, and a backup is restored into an empty installation"):
        restore(backup, empty)
    store.close()


def test_the_file_of_settings_is_sealed_under_its_own_name(
    closed: "World", installation: Installation, empty: Settings, tmp_path: Path
) -> None:
    """CUADRE_CONFIG may name any file; it comes back next to the account map."""
    folder = tmp_path / "etc"
    folder.mkdir()
    for name in ("shop.toml", "accounts.toml", "other.toml"):
        (folder / name).write_text(f"# {name}\n", encoding="utf-8")
    own = installation.settings.model_copy(update={"config_dir": folder, "config_name": "shop.toml"})
    path = tmp_path / "backups" / "named.tar.gz"
    make_backup(Installation(own, installation.store), path, now=NOW)
    restored = restore(path, empty)
    assert restored.secrets is not None
    assert restored.secrets.files == {"shop.toml": "# shop.toml\n", "accounts.toml": "# accounts.toml\n"}
    (folder / "shop.toml").write_text("", encoding="utf-8")
    read = load(environ_of("http://provider.test", tmp_path, config=str(folder / "shop.toml")), folder=tmp_path)
    assert (read.config_dir, read.config_name) == (folder, "shop.toml")
    assert closed.connection == "main"


def test_a_full_or_forbidden_target_is_one_sentence(
    closed: "World", installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file is left under the name, and no draft."""
    (tmp_path / "file").touch()
    with pytest.raises(WorkError, match=r"no backup was made: .*file: (Not a directory|File exists)"):
        make_backup(installation, tmp_path / "file" / "backup.tar.gz", now=NOW)
    monkeypatch.setattr(making.shutil, "disk_usage", lambda _path: shutil._ntuple_diskusage(10, 9, 1))  # type: ignore[attr-defined]  # its own type
    with pytest.raises(WorkError, match=r"has 0\.00 GB free and .* GB are needed: make room"):
        make_backup(installation, tmp_path / "target" / "backup.tar.gz", now=NOW)
    assert list((tmp_path / "target").iterdir()) == []
    assert closed.connection == "main"


def test_nights_keep_as_many_backups_as_are_wanted(closed: "World", installation: Installation) -> None:
    """Older ones go with their certificates once the newest is proven; one that is not deletes none."""
    settings = installation.settings.model_copy(update={"backup_keep": 2})
    kept = Installation(settings, installation.store)
    outcomes = [run_nightly_backup(kept, prove, now=NOW + timedelta(days=day)) for day in range(3)]
    folder = settings.backup_dir
    assert folder is not None
    names = [f"cuadre-202611{day}T083000Z.tar.gz" for day in (24, 25)]
    assert [outcome.complete for outcome in outcomes] == [True, True, True]
    assert outcomes[-1].lines[-1] == "1 older ones deleted"
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        name + end for name in names for end in ("", ".certificate.json")
    )
    _lose_the_key(installation)
    failed = run_nightly_backup(kept, prove, now=NOW + timedelta(days=3))
    assert (failed.complete, failed.lines[1]) == (False, "webhook secrets: the key in the backup does not open old")
    assert len(making.list_backups(folder)) == 3
    assert closed.connection == "main"
