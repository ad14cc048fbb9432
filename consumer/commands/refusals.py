"""What can go wrong anywhere, as one line and the exit status a script can rely on."""

import sqlalchemy as sa

from consumer.commands.terminal import Refusal
from consumer.disk import RESTORE
from consumer.facts.embedded import UnsafeJournalError, is_damage
from consumer.facts.settings import ConfigError
from consumer.facts.store import DamagedError, SchemaError
from consumer.facts.work import Completion, WorkError
from consumer.provider.errors import ProviderError

_WHERE_TO_SET = (
    ": set what is missing in the environment or, in lower case and without CUADRE_, in cuadre.toml of this folder;"
    " cuadre demo needs no settings"
)


def to_refusal(error: Exception) -> Refusal | None:
    """Word what a person can do something about; anything else is a defect and shows itself whole."""
    match error:
        case ConfigError():
            advice = _WHERE_TO_SET if str(error).endswith("is missing") else ""
            return Refusal(f"{error}{advice}", Completion.MISUSED)
        case WorkError():
            return Refusal(error.message, error.completion)
        case SchemaError() | DamagedError() | ProviderError() | UnsafeJournalError():
            return Refusal(str(error))
        case sa.exc.DatabaseError() if is_damage(error):
            return Refusal(f"the database file is damaged: {error.orig}: {RESTORE}")
        case sa.exc.OperationalError():
            reason = str(error.orig).strip().splitlines()[0]
            return Refusal(f"the database cannot be used: {reason}")
        case _:
            return None
