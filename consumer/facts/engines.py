"""Where nights run and what judges them, as `CUADRE_ENGINE` says."""

import re
from dataclasses import dataclass

from consumer.facts.addresses import is_on_this_machine

_PROCESSES = re.compile(r"processes:([1-9][0-9]{0,2})")
_CLUSTER = re.compile(r"dask://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\]):([1-9][0-9]{0,4})")
_MOST_PORTS = 65_535


@dataclass(frozen=True, slots=True)
class Engine:
    """How many nights run side by side (None: as they fall due), and the address of a cluster that judges them."""

    nights_at_once: int | None = None
    cluster: str | None = None

    def __str__(self) -> str:
        """Return the setting as it is written."""
        if self.cluster is not None:
            return f"dask://{self.cluster}"
        return "local" if self.nights_at_once is None else f"processes:{self.nights_at_once}"

    @property
    def is_elsewhere(self) -> bool:
        """Return True if the cluster is on another machine, to which nothing goes unencrypted."""
        return self.cluster is not None and not is_on_this_machine(f"//{self.cluster}")


def to_engine(value: object) -> object:
    """Read `local`, `processes:4` or `dask://host:8786`; raise ValueError for other text."""
    if isinstance(value, Engine):
        return value
    if value == "local":
        return Engine()
    if found := _PROCESSES.fullmatch(str(value)):
        return Engine(nights_at_once=int(found[1]))
    found = _CLUSTER.fullmatch(str(value))
    if found and int(found[2]) <= _MOST_PORTS:
        return Engine(cluster=f"{found[1]}:{found[2]}")
    raise ValueError("must be local, processes:N with N from 1 to 999, or dask://host:port")
