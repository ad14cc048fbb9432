"""The faults that are switched on: names, probabilities, seeds and the decision, which never depends on timing."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sandbox.state.ids import digest
from sandbox.state.versions import VERSIONS

# Every fault, and the options it takes beside those that all of them take.
OPTIONS: dict[str, tuple[str, ...]] = {
    "duplicate": (),
    "drop": (),
    "reorder": (),
    "delay": ("seconds",),
    "late-visible": ("seconds",),
    "tie": (),
    "conflict": (),
    "stale-retry": (),
    "server-error": ("path",),
    "rate-limit": ("path", "retry_after", "seconds"),
    "slow": ("path", "seconds"),
    "truncated": ("path",),
    "wrong-type": ("path",),
    "reset": ("path",),
    "duplicate-page": ("path",),
    "empty-page": ("path",),
    "pruned-cursor": ("path",),
    "insert-while-paging": ("path",),
    "key-refused": ("path",),
    "version-switch": ("path", "version"),
    "unknown-type": (),
    "unknown-field": (),
    "null-field": ("field",),
}
NAMES = tuple(OPTIONS)
OF_ALL = ("name", "probability", "seed", "times", "lasts")
SCALE = 2**64
LONGEST = 366 * 86_400  # seconds


class UnusableFaultError(ValueError):
    """The fault that was asked for does not exist or cannot be switched on like that."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that goes wrong now and then."""

    name: str
    probability: float = 1.0
    seed: int | None = None  # None: the sandbox's own
    times: int | None = None  # how often at most
    lasts: float | None = None  # for how many seconds of the sandbox's clock
    seconds: float | None = None  # how long: the delay, the lateness, the drip
    path: str | None = None  # only answers under this path
    field: str | None = None  # null-field: which one
    version: str | None = None  # version-switch: to which
    retry_after: str | None = None  # rate-limit: "seconds" or "date"

    def to_json(self) -> dict[str, Any]:
        return {key: getattr(self, key) for key in self.__slots__ if getattr(self, key) is not None}


class Faults:
    """The faults switched on at the moment, one of each name."""

    def __init__(self, seed: int, faults: Iterable[Fault] = (), *, now: datetime) -> None:
        self._seed = seed
        self._active: dict[str, Fault] = {}
        self._left: dict[str, int] = {}
        self._ends_at: dict[str, datetime] = {}
        for fault in faults:
            self.switch_on(fault, now)

    def switch_on(self, fault: Fault, now: datetime) -> None:
        self.switch_off(fault.name)
        self._active[fault.name] = fault
        if fault.times is not None:
            self._left[fault.name] = fault.times
        if fault.lasts is not None:
            self._ends_at[fault.name] = now + timedelta(seconds=fault.lasts)

    def switch_off(self, name: str | None = None) -> None:
        """Switch off one fault, or all."""
        for gone in (name,) if name else tuple(self._active):
            self._active.pop(gone, None)
            self._left.pop(gone, None)
            self._ends_at.pop(gone, None)

    def end(self, now: datetime) -> None:
        """Switch off those that have lasted long enough."""
        for name in [name for name, at in self._ends_at.items() if at <= now]:
            self.switch_off(name)

    def active(self) -> list[Fault]:
        return list(self._active.values())

    def strikes(self, name: str, key: str, *, path: str = "/") -> Fault | None:
        """The fault if it hits this key: decided by seed, name and key alone, within its `times` and `path`."""
        fault = self._active.get(name)
        if fault is None or not path.startswith(fault.path or "/"):
            return None
        seed = self._seed if fault.seed is None else fault.seed
        if int.from_bytes(digest(seed, name, key)[:8]) >= int(fault.probability * SCALE):
            return None
        return fault if self._count(name) else None

    def _count(self, name: str) -> bool:
        left = self._left.get(name)
        if left is None:
            return True
        self._left[name] = max(left - 1, 0)
        return left > 0


def to_fault(wish: dict[str, Any]) -> Fault:
    """Read a fault as it is asked for over HTTP. Raises UnusableFaultError with a sentence."""
    name = check_name(wish.get("name"))
    options = (*OF_ALL, *OPTIONS[name])
    unknown = set(wish) - set(options)
    if unknown:
        raise UnusableFaultError(f"{name} takes no {', '.join(sorted(unknown))}; it takes: {', '.join(options)}")
    fault = Fault(**wish)
    _check_numbers(fault)
    _check_texts(fault)
    return fault


def check_name(name: object) -> str:
    """The name of a fault that exists. Raises UnusableFaultError."""
    if name not in NAMES:
        raise UnusableFaultError(f"Unknown fault {name!r}; choose one of: {', '.join(NAMES)}")
    return str(name)


def _check_texts(fault: Fault) -> None:
    for name in ("path", "field", "version", "retry_after"):
        if not isinstance(getattr(fault, name), str | None):
            raise UnusableFaultError(f"The {name} of {fault.name} must be text")
    if fault.retry_after not in {None, "seconds", "date"}:
        raise UnusableFaultError("retry_after is 'seconds' or 'date'")
    if fault.version not in {None, *VERSIONS}:
        raise UnusableFaultError(f"version is one of: {', '.join(VERSIONS)}")


def _check_numbers(fault: Fault) -> None:
    if not _is_number(fault.probability) or not 0 <= fault.probability <= 1:
        raise UnusableFaultError(
            f"The probability of {fault.name} must be a number from 0 to 1, not {fault.probability!r}"
        )
    for name in ("seed", "times"):
        if not isinstance(getattr(fault, name), int | None) or isinstance(getattr(fault, name), bool):
            raise UnusableFaultError(f"The {name} of {fault.name} must be a whole number")
    if fault.times is not None and fault.times < 0:
        raise UnusableFaultError(f"The times of {fault.name} must be 0 or more")
    for name in ("seconds", "lasts"):
        value = getattr(fault, name)
        if value is not None and (not _is_number(value) or not 0 <= value <= LONGEST):
            raise UnusableFaultError(f"The {name} of {fault.name} must be a number from 0 to {LONGEST}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
