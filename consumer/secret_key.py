"""The secret key of the installation changed: what was encrypted under the old key is encrypted under a new one."""

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pydantic import SecretStr, TypeAdapter, ValidationError

from consumer.facts.durable import sync_folder, write_durably
from consumer.facts.encryption import Opened, draft_of, encrypt_anew, open_all
from consumer.facts.installation import Installation
from consumer.facts.settings import SecretKey, Settings
from consumer.facts.store import Store
from consumer.facts.work import Completion, WorkError
from consumer.webhooks.keyring import mark_anew


def rotate(installation: Installation, given: str | None) -> list[Opened]:
    """Encrypt everything under another key, in one transaction; return what the key until now opened.

    1. Without a given key, put a generated one on the disk next to the one in use.
    2. Encrypt anew and commit.
    3. Give the generated key the name of the one in use. Killed before, the next start does this.
    """
    settings, path = installation.settings, installation.settings.generated_key
    if path is None:
        if given is None:
            raise WorkError("the key comes from CUADRE_SECRET_KEY: give the new one", Completion.MISUSED)
        return _encrypt(installation.store, settings, _with_key(settings, given))
    if given is not None:
        raise WorkError(f"this installation generates its key, in {path}: give none", Completion.MISUSED)
    with _alone_in(path.parent):
        settings = settle(settings, installation.store)
        draft = draft_of(path)
        draft.unlink(missing_ok=True)
        key = secrets.token_urlsafe(32)
        with write_durably(draft) as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(key.encode())
        sync_folder(draft.parent)
        found = _encrypt(installation.store, settings, _with_key(settings, key))
        _finish(path)
        return found


def settle(settings: Settings, store: Store) -> Settings:
    """Return the settings with the key that opens the database, where a rotation was cut off or has just ended."""
    path = settings.generated_key
    if path is None or not (draft_of(path).exists() or path.read_text("utf-8") != _key_of(settings)):
        return settings
    for file in (path, draft_of(path)):
        with suppress(FileNotFoundError):
            tried = _with_key(settings, file.read_text("utf-8"))
            if _count_lost(store, tried) < _count_lost(store, settings):
                if file != path:
                    _finish(path)
                return tried
    return settings


def _encrypt(store: Store, old: Settings, new: Settings) -> list[Opened]:
    with store.connection() as connection:
        found = encrypt_anew(connection, old, new)
        mark_anew(connection, old, new)
    return found


def _finish(path: Path) -> None:
    # A start that found the rotation cut off may have done it.
    with suppress(FileNotFoundError):
        draft_of(path).replace(path)
    sync_folder(path.parent)


def _key_of(settings: Settings) -> str:
    return settings.secret_key.get_secret_value()


def _with_key(settings: Settings, key: str) -> Settings:
    try:
        secret = TypeAdapter[SecretStr](SecretKey).validate_python(key)
    except ValidationError as error:
        reason = error.errors(include_input=False)[0]["msg"].removeprefix("Value error, ")
        raise WorkError(f"the new key {reason}", Completion.MISUSED) from None
    return settings.model_copy(update={"secret_key": secret})


def _count_lost(store: Store, settings: Settings) -> int:
    with store.reading() as session:
        return sum(len(one.lost) for one in open_all(session.connection(), settings))


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Keep a second rotation of the key in this folder out."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise WorkError(f"another rotation or restore in {folder} is under way") from None
    finally:
        os.close(handle)
