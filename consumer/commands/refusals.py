"""What can go wrong anywhere, as one line and the exit status a script can rely on."""

import sqlalchemy as sa

from consumer.commands.terminal import CommandError
from consumer.facts.durable import is_disk_shut
from consumer.facts.embedded import UnsafeJournalError, is_damage
from consumer.facts.messages import RefusalError
from consumer.facts.settings import ConfigError
from consumer.facts.store import SchemaError
from consumer.facts.work import Completion, WorkError
from consumer.health.disk import RESTORE
from consumer.provider.errors import ProviderError

_WHERE_TO_SET = (
    ": set what is missing in the environment or, in lower case and without CUADRE_, in cuadre.toml of this folder;"
    " cuadre demo needs no settings"
)


def to_refusal(error: Exception) -> CommandError | None:
    """Word what a person can do something about; anything else is a defect and shows itself whole."""
    match error:
        case ConfigError():
            advice = _WHERE_TO_SET if str(error).endswith("is missing") else ""
            return CommandError(f"{error}{advice}", Completion.MISUSED)
        case WorkError():
            return CommandError(error.message, error.completion)
        case RefusalError() | SchemaError() | ProviderError() | UnsafeJournalError():
            return CommandError(str(error))
        case sa.exc.DatabaseError() if is_damage(error):
            return CommandError(f"the database file is damaged: {error.orig}: {RESTORE}")
        case sa.exc.OperationalError() | sa.exc.InternalError():
            reason = str(error.orig).strip().splitlines()[0]
            advice = ": its disk is full or may only be read" if is_disk_shut(error) else ""
            return CommandError(f"the database cannot be used: {reason}{advice}")
        case OSError() if is_disk_shut(error):
            where = f" at {error.filename}" if error.filename else ""
            return CommandError(f"nothing can be written{where}: {error.strerror}; make room and repeat the command")
        case _:
            return None
