"""The drill: a backup restored next to the installation, migrated, and made to prove that it could take its place."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
import sqlalchemy as sa
from pydantic import SecretStr
from sqlmodel import col

from consumer.backup.certificates import Certificate
from consumer.backup.container import Contents, OnBytes, ignore_bytes
from consumer.backup.encrypting import Sealed
from consumer.backup.making import (
    CERTIFICATE,
    check_free,
    list_backups,
    make_backup,
    place_for,
    rotate,
    scratch_folder,
    time_of,
)
from consumer.backup.restoring import unpack, unseal_secrets, verify
from consumer.facts import embedded, schema
from consumer.facts.clock import utc_now
from consumer.facts.durable import write_durably
from consumer.facts.encryption import open_all
from consumer.facts.installation import Installation
from consumer.facts.store import POOLER, SchemaError, Store
from consumer.facts.tables.backup import BackupCertificate
from consumer.facts.tables.inbox import Event
from consumer.facts.work import Completion, Proof, WorkError

SCRATCH = "cuadre_drill_"
_DRILLS = sa.text("SELECT pg_try_advisory_lock(717081)")
_LEFT = sa.text("SELECT nspname FROM pg_namespace WHERE starts_with(nspname, :prefix)")

# What the rooms below can prove of a restored installation next to the live one.
Prove = Callable[[Installation, Installation], Iterable[Proof]]


class _Findings:
    """What a drill has found so far."""

    def __init__(self) -> None:
        self.contents: Contents | None = None
        self.newest_fact_at: datetime | None = None
        self.rto_seconds: float | None = None
        self.proofs: list[Proof] = []


def drill(
    installation: Installation, path: Path, prove: Prove, *, now: datetime, on_bytes: OnBytes = ignore_bytes
) -> tuple[Certificate, Completion]:
    """Restore a backup next to the installation and keep a certificate, of a failure too.

    Nothing done means that it could not be restored, partly done that it was and something in it is not as it should
    be.
    """
    found, began = _Findings(), time.monotonic()
    try:
        found.contents = verify(path, on_bytes=on_bytes)
        with _restored(installation, path, found.contents, on_bytes) as restored:
            found.rto_seconds = round(time.monotonic() - began, 1)
            found.proofs.append(Proof("restore", f"restored and migrated in {found.rto_seconds} s", is_good=True))
            with restored.store.reading() as session:
                found.newest_fact_at = session.scalar(sa.select(sa.func.max(col(Event.received_at))))
            found.proofs.extend(_prove_whole(restored))
            found.proofs.extend(_prove_secrets(restored, found.contents.manifest.sealed))
            found.proofs.extend(prove(restored, installation))
    except (WorkError, SchemaError, sa.exc.SQLAlchemyError, OSError) as error:
        found.proofs.append(
            Proof("restore" if found.rto_seconds is None else "proof", _to_reason(error), is_good=False)
        )
    certificate = _to_certificate(path, found, now=now)
    _keep(installation, path, certificate)
    if certificate.is_proven:
        return certificate, Completion.DONE
    return certificate, Completion.NOTHING_DONE if found.rto_seconds is None else Completion.PARTLY_DONE


def _to_reason(error: Exception) -> str:
    """Return why it failed; of a database's error the first line, without the rows that further ones quote."""
    original = getattr(error, "orig", None)
    return (str(error) if original is None else str(original)).strip().splitlines()[0]


@contextmanager
def _restored(installation: Installation, path: Path, contents: Contents, on_bytes: OnBytes) -> Iterator[Installation]:
    """Restore into a scratch folder next to the backup and, with PostgreSQL, a scratch schema; both go at the end."""
    manifest, settings = contents.manifest, installation.settings
    secrets = unseal_secrets(manifest, settings)
    # Here and not in the data folder: that disk need not have room for two.
    with scratch_folder(path.parent) as folder:
        check_free(folder, contents.size)
        given: dict[str, object] = {"data_dir": folder, "shared_dir": folder if settings.shared_dir else None}
        if secrets is not None:
            given["secret_key"] = SecretStr(secrets.secret_key)
        with _scratch(installation.store, folder) as store:
            unpack(path, manifest, folder, store, on_bytes=on_bytes)
            if (folder / "files").is_dir():
                for place in (folder / "files").iterdir():
                    place.rename(folder / place.name)
            schema.upgrade(store)
            schema.check_migrated(store)
            yield Installation(settings.model_copy(update=given), store)


@contextmanager
def _scratch(live: Store, folder: Path) -> Iterator[Store]:
    if live.is_sqlite:
        with closing(Store(f"sqlite:///{folder / 'cuadre.db'}")) as store:
            yield store
        return
    if POOLER in live.url.query:
        raise WorkError("the drill holds a connection of its own: give it the address of PostgreSQL without the pooler")
    with live.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        # The lock lasts as long as the connection, which a pool would keep.
        connection.detach()
        if not connection.scalar(_DRILLS):
            raise WorkError("another drill is under way on this database")
        for left in connection.execute(_LEFT, {"prefix": SCRATCH}).scalars().all():
            _drop_schema(connection, left)
        name = f"{SCRATCH}{int(time.time())}"
        connection.execute(sa.schema.CreateSchema(name))
        try:
            options = f"{live.url.query.get('options', '')} -csearch_path={name}".strip()
            url = live.url.update_query_dict({"options": options})
            with closing(Store(url.render_as_string(hide_password=False), pool_size=2)) as store:
                yield store
        finally:
            _drop_schema(connection, name)


def _drop_schema(connection: sa.Connection, name: str) -> None:
    connection.execute(sa.schema.DropSchema(name, cascade=True))


def _prove_whole(restored: Installation) -> Iterator[Proof]:
    """Have SQLite compare each index with its table; PostgreSQL has just built its own anew."""
    if restored.store.is_sqlite:
        damage = embedded.find_damage(restored.store.engine, whole=True)
        yield Proof("database", damage[0] if damage else "integrity_check found nothing wrong", is_good=not damage)


def _prove_secrets(restored: Installation, sealed: Sealed | None) -> Iterator[Proof]:
    """Open everything that the database keeps encrypted."""
    where = "the key in the backup" if sealed else "the key of this installation, which is not in the backup,"
    with restored.store.reading() as session:
        found = open_all(session.connection(), restored.settings)
    for one in found:
        yield Proof(one.purpose, f"{where} {one}", is_good=not one.lost)


def _to_certificate(path: Path, found: _Findings, *, now: datetime) -> Certificate:
    manifest = None if found.contents is None else found.contents.manifest
    is_proven = found.rto_seconds is not None and all(proof.is_good for proof in found.proofs)
    return Certificate(
        state="proven" if is_proven else "failed",
        drilled_at=now,
        file=str(path),
        sha256="" if found.contents is None else found.contents.sha256,
        made_at=None if manifest is None else manifest.made_at,
        database=None if manifest is None else manifest.database,
        version=None if manifest is None else manifest.version,
        newest_fact_at=found.newest_fact_at,
        rpo_seconds=None if manifest is None else round(_longest_loss(path, manifest.made_at, now).total_seconds()),
        rto_seconds=found.rto_seconds,
        proofs=found.proofs,
    )


def _longest_loss(path: Path, made_at: datetime, now: datetime) -> timedelta:
    """Return the longest stretch whose facts only the live database had: before this backup, and since."""
    earlier = [time_of(one) for one in list_backups(path.parent) if one.name != path.name]
    before = [at for at in earlier if at < made_at]
    return max(now - made_at, made_at - max(before, default=made_at))


def _keep(installation: Installation, path: Path, certificate: Certificate) -> None:
    """Write a certificate next to its backup, where it outlives this machine, and into the database."""
    content = msgspec.json.encode(certificate)
    if path.is_file():
        with write_durably(path.with_name(path.name + CERTIFICATE)) as file:
            file.write(msgspec.json.format(content, indent=1))
    row = BackupCertificate(
        sha256=certificate.sha256, drilled_at=certificate.drilled_at, is_proven=certificate.is_proven,
        content=content.decode(),
    )  # fmt: skip
    with installation.store.transaction() as session:
        session.add(row)


@dataclass(frozen=True, slots=True)
class BackupOutcome:
    """How the night of backups ended, with its lines for people."""

    complete: bool
    lines: list[str]


def run_nightly_backup(installation: Installation, prove: Prove, *, now: datetime) -> BackupOutcome:
    """Make a backup and drill it; older ones go only once it is proven."""
    path = place_for(installation.settings, now=now)
    made = make_backup(installation, path, now=now)
    certificate, completion = drill(installation, path, prove, now=utc_now())
    lines = [f"{path.name}: {made.size / 1e6:.1f} MB, {certificate.state}"]
    if completion is not Completion.DONE:
        lines += [f"{one.name}: {one.found}" for one in certificate.proofs if not one.is_good]
        return BackupOutcome(complete=False, lines=lines)
    dropped = rotate(path.parent, keep=installation.settings.backup_keep)
    return BackupOutcome(complete=True, lines=[*lines, f"{len(dropped)} older ones deleted"])
