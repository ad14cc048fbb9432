"""The commands of backups: one made, one restored, and one made to prove that it can be."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol

import click
import msgspec
from rich.progress import DownloadColumn, TransferSpeedColumn

from consumer.backup import drill as drills
from consumer.backup import making, restoring
from consumer.backup.certificates import Certificate
from consumer.backup.container import OnBytes
from consumer.backup.drill import Prove
from consumer.commands.terminal import json_option, leave, print_findings, print_rows, say, show_progress
from consumer.facts.clock import format_duration, format_instant, utc_now
from consumer.facts.installation import Installation, OpenInstallation, Settings
from consumer.facts.store import Store
from consumer.facts.tables.backup import Backup
from consumer.facts.work import Completion


class EraseAgain(Protocol):
    """Erases in an installation whom the ledger of a folder of backups names, and returns how much changed."""

    def __call__(self, installation: Installation, folder: Path, *, now: datetime) -> int: ...


KEYS = ("file", "made_at", "size", "sha256", "secrets")
RESTORED_KEYS = ("file", "made_at", "version", "sha256", "secrets")
DRILL_KEYS = ("state", "file", "sha256", "made_at", "drilled_at", "database", "version", "newest_fact_at",
              "rpo_seconds", "rto_seconds", "proofs")  # fmt: skip
_NO_KEY = (
    "the secret key did not come back, as the backup has none or CUADRE_BACKUP_PASSPHRASE is not set: start with the "
    "CUADRE_SECRET_KEY of that time, or everybody logs in again and kept webhook secrets cannot be read"
)
_FILE = click.Path(dir_okay=False, path_type=Path)


def backup_command(prove: Prove) -> click.Group:
    """Make the group of what it may not import: what reconciliation can prove of a restored installation."""

    @click.group(invoke_without_command=True)
    @click.option("--out", type=_FILE, help="The file to write (default: a new one in CUADRE_BACKUP_DIR).")
    @json_option
    @click.pass_context
    def backup(ctx: click.Context, *, out: Path | None, as_json: bool) -> None:
        """Write everything that must survive into one file, while everything runs, and read it back."""
        if ctx.invoked_subcommand is None:
            make(ctx.obj, out, as_json=as_json)

    @backup.command("drill")
    @click.argument("file", type=_FILE, required=False)
    @json_option
    @click.pass_obj
    def drill(open_installation: OpenInstallation, *, file: Path | None, as_json: bool) -> None:
        """Restore a backup next to the installation, prove it, and keep a certificate; 3 if anything is wrong."""
        installation = open_installation()
        path = file or making.find_newest(installation.settings)
        with show_bytes("drill") as on_bytes:
            certificate, completion = drills.drill(installation, path, prove, now=utc_now(), on_bytes=on_bytes)
        _show(certificate, as_json=as_json)
        leave(completion)

    return backup


def make(open_installation: OpenInstallation, out: Path | None, *, as_json: bool) -> None:
    installation, now = open_installation(), utc_now()
    path = out or making.place_for(installation.settings, now=now)
    with show_bytes("backup", making.total_of(installation)) as on_bytes:
        made = making.make_backup(installation, path, now=now, on_bytes=on_bytes)
    is_sealed = installation.settings.backup_passphrase is not None
    print_rows([_to_row(made, secrets=is_sealed)], KEYS, as_json=as_json)
    if not is_sealed:
        say(
            "the secret key and the settings are not in it: set CUADRE_BACKUP_PASSPHRASE to seal them in, or keep them "
            "elsewhere"
        )


def _to_row(made: Backup, *, secrets: bool) -> dict[str, object]:
    return {**made.model_dump(), "secrets": secrets}


def restore_command(read_settings: Callable[[], Settings], erase_again: EraseAgain) -> click.Command:
    """Make the command, which opens no installation: there is none yet."""

    @click.command()
    @click.argument("file", type=_FILE)
    @json_option
    def restore(*, file: Path, as_json: bool) -> None:
        """Bring a backup back into an empty installation, under the settings of this machine."""
        with show_bytes("restore") as on_bytes:
            restored = restoring.restore(file, read_settings(), on_bytes=on_bytes)
        manifest, secrets = restored.contents.manifest, restored.secrets
        row: Mapping[str, object] = {
            "file": str(file),
            "made_at": manifest.made_at,
            "version": manifest.version,
            "sha256": restored.contents.sha256,
            "secrets": secrets is not None,
        }
        print_rows([row], RESTORED_KEYS, as_json=as_json)
        # Where no key is set, the one just restored is read.
        settings = read_settings()
        _erase_again(settings, file.parent, erase_again)
        has_its_key = secrets is not None and secrets.secret_key == settings.secret_key.get_secret_value()
        if secrets is None:
            say(_NO_KEY)
        elif not has_its_key:
            say(f"CUADRE_SECRET_KEY is not the backup's: set CUADRE_SECRET_KEY_FILE={settings.data_dir / 'secret_key'}")
        if secrets is not None and secrets.files:
            say(f"the settings of the backup's machine lie in {settings.data_dir / restoring.SETTINGS}")
        say("cuadre doctor looks at it; cuadre backfill and cuadre pull all bring in what the provider knows since")
        leave(Completion.DONE if has_its_key else Completion.PARTLY_DONE)

    return restore


def _erase_again(settings: Settings, folder: Path, erase_again: EraseAgain) -> None:
    """Erase whoever was erased since the backup, as the ledger next to the backups says."""
    with closing(Store(settings.database_url)) as store:
        for place in dict.fromkeys((folder, settings.backup_dir or folder)):
            changed = erase_again(Installation(settings, store), place, now=utc_now())
            if changed:
                say(f"people erased since this backup were erased again: {changed} rows and files")


def _show(certificate: Certificate, *, as_json: bool) -> None:
    """Print a certificate: a line for each proof, then what it certifies."""
    if as_json:
        row = msgspec.json.decode(msgspec.json.encode(certificate), type=dict[str, object])
        print_rows([row], DRILL_KEYS, as_json=True)
        return
    print_findings(("ok" if one.is_good else "failure", f"{one.name}: {one.found}", "") for one in certificate.proofs)
    for line in _lines(certificate):
        click.echo(line)


def _lines(certificate: Certificate) -> Iterator[str]:
    yield f"{certificate.state}: {certificate.file}"
    if certificate.made_at is not None and certificate.rpo_seconds is not None:
        at = format_instant(certificate.drilled_at)
        yield f"restorable as of {format_instant(certificate.made_at)}, drilled at {at}"
        loss = format_duration(timedelta(seconds=certificate.rpo_seconds))
        yield f"RPO {loss}: the longest time whose facts were in no backup"
    if certificate.rto_seconds is not None:
        yield f"RTO {certificate.rto_seconds:g} seconds: from the file to an installation that can be started"
    if certificate.newest_fact_at is not None:
        age = format_duration(certificate.drilled_at - certificate.newest_fact_at)
        yield f"newest fact {format_instant(certificate.newest_fact_at)}, {age} before the drill"


@contextmanager
def show_bytes(what: str, total: int | None = None) -> Iterator[OnBytes]:
    """Draw a bar of the bytes that passed, on a terminal."""
    with show_progress(what, DownloadColumn(), TransferSpeedColumn(), count=lambda: total) as move:
        yield lambda count: move(advance=count)
