"""What can go wrong anywhere, as one line and the exit status a script can rely on."""

import sqlalchemy as sa

from consumer.config import ConfigError
from consumer.facts.schema import SchemaError
from consumer.facts.terminal import Exit, Refusal
from consumer.provider.errors import ProviderError


def to_refusal(error: Exception) -> Refusal | None:
    """Word what a person can do something about; anything else is a defect and shows itself whole."""
    match error:
        case ConfigError():
            return Refusal(str(error), Exit.USAGE)
        case SchemaError() | ProviderError():
            return Refusal(str(error))
        case sa.exc.OperationalError():
            reason = str(error.orig).strip().splitlines()[0]
            return Refusal(f"the database cannot be used: {reason}")
        case _:
            return None
