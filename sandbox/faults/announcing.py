"""What goes wrong when something is announced: in the event's content, in the log, and on its way to the endpoint."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sandbox.faults.registry import Faults
from sandbox.state.eventlog import Event
from sandbox.state.ids import digest

HOUR = 3600.0
FIVE_MINUTES = 300.0
TIE = timedelta(seconds=60)
NEVER_NULL = frozenset({"id", "object", "mode"})
UNKNOWN_FIELD = "settlement_hint"
UNKNOWN_CHANGE = "reassessed"


@dataclass(frozen=True, slots=True)
class Errand:
    """One delivery of an event that is to be made."""

    due_at: datetime
    is_held: bool = False  # goes out behind those that come after it
    is_conflicting: bool = False  # another body under the same id, once the true one has arrived


def damage(faults: Faults, key: str, data: dict[str, Any]) -> dict[str, Any]:
    """The data as announced: perhaps with a field nobody knows, perhaps with a null."""
    if faults.strikes("unknown-field", key):
        data = {**data, UNKNOWN_FIELD: {"version": 2, "flags": ["x", None]}}
    fault = faults.strikes("null-field", key)
    if fault:
        data = {**data, fault.field or _any_field(key, data): None}
    return data


def _any_field(key: str, data: dict[str, Any]) -> str:
    names = sorted(name for name, value in data.items() if value is not None and name not in NEVER_NULL)
    return names[digest(key)[0] % len(names)] if names else "metadata"


def created_at(faults: Faults, key: str, at: datetime, last: Event | None) -> datetime:
    """When the log says it happened: never before what is in the log, perhaps in the same instant."""
    if faults.strikes("tie", key):
        at = last.created_at if last and at - last.created_at <= TIE else at.replace(microsecond=0)
    return max(at, last.created_at) if last else at


def visible_at(faults: Faults, key: str, at: datetime) -> datetime:
    """From when the events list shows it."""
    fault = faults.strikes("late-visible", key)
    if fault is None:
        return at
    return at + timedelta(seconds=FIVE_MINUTES if fault.seconds is None else fault.seconds)


def unknown_type(faults: Faults, key: str, type_: str) -> str | None:
    """The type of a second announcement that no reader knows."""
    return f"{type_.rpartition('.')[0]}.{UNKNOWN_CHANGE}" if faults.strikes("unknown-type", key) else None


def errands(faults: Faults, key: str, at: datetime) -> list[Errand]:
    """The deliveries of one event to one endpoint; none when it is dropped."""
    if faults.strikes("drop", key):
        return []
    delay = faults.strikes("delay", key)
    if delay:
        at += timedelta(seconds=HOUR if delay.seconds is None else delay.seconds)
    planned = [Errand(at, is_held=faults.strikes("reorder", key) is not None)]
    if faults.strikes("duplicate", key):
        planned.append(Errand(at))
    if faults.strikes("conflict", key):
        planned.append(Errand(at, is_conflicting=True))
    return planned


def conflicting(event: dict[str, Any]) -> dict[str, Any]:
    """The same id with another body."""
    data = event["data"]
    amount = data.get("amount")
    change = {"amount": amount + 1} if isinstance(amount, int) else {"metadata": {"conflicting": "true"}}
    return {**event, "data": {**data, **change}}
