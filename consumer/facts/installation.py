"""What every room works with: the settings and the store, built once by `consumer/opening.py`."""

from collections.abc import Callable
from dataclasses import dataclass

from consumer.facts.encryption import ERASURES, Opener, cipher
from consumer.facts.erasures import CIPHER
from consumer.facts.settings import Approvals, ConfigError, Connection, Settings
from consumer.facts.store import Store

# The face that rooms downstream see; only this room reads settings.
__all__ = ["Approvals", "ConfigError", "Connection", "Installation", "OpenInstallation", "Settings"]


@dataclass(frozen=True, slots=True)
class Installation:
    settings: Settings
    store: Store

    def __post_init__(self) -> None:
        opener = Opener(cipher(self.settings, ERASURES))
        for engine in (self.store.engine, self.store.replica):
            if engine is not None:
                engine.update_execution_options(**{CIPHER: opener})

    def connections(self, name: str | None) -> tuple[Connection, ...]:
        """Return the named connection, or all of them where none is named."""
        return self.settings.all_connections if name is None else (self.settings.connection(name),)


OpenInstallation = Callable[[], Installation]
