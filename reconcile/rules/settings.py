"""The tolerances and windows of reconciliation, from `[rules]`, with the defaults of the rules of money."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import comb
from typing import Any

SCHEDULES = ("14:00", "00:00")
# A century: beyond it the calendar ends before the days do.
_MOST_DAYS = 36_500
# Sets are searched in full, each of them held at once.
_MOST_SETS = 1_000_000


class RulesError(ValueError):
    """A rule setting that cannot be used."""


@dataclass(frozen=True, slots=True)
class RuleSet:
    """Amounts are minor units, `_bps` are hundredths of a percent, days are bank days except `due_days`."""

    fee_band_bps: int = 500
    fee_tolerance: int = 1
    amount_tolerance: int = 1
    short_payment_bps: int = 1500
    days_before_issue: int = 3
    days_after_due: int = 10
    due_days: int = 30
    set_size: int = 5
    set_pool: int = 25
    set_chance_bps: int = 1000
    days_to_payout: int = 2
    days_to_late: int = 1
    days_to_bank: int = 2
    days_to_deadline: int = 5
    bank_amount_bps: int = 1000
    payout_schedule: str = "14:00"
    generic_tax_ids: tuple[str, ...] = ()


def to_rules(raw: Mapping[str, Any]) -> RuleSet:
    known = {field.name for field in fields(RuleSet)}
    unknown = sorted(set(raw) - known)
    if unknown:
        raise RulesError(f"[rules] {unknown[0]} is not a rule; known are {', '.join(sorted(known))}")
    rules = RuleSet(**{name: _checked(name, value) for name, value in raw.items()})
    sizes = range(2, min(rules.set_size, rules.set_pool) + 1)
    # The largest pool that is searched; a sum that is past the limit already need not be counted on.
    if rules.set_pool > _MOST_SETS or any(comb(rules.set_pool, size) > _MOST_SETS for size in sizes):
        raise RulesError(
            f"[rules] set_size {rules.set_size} of set_pool {rules.set_pool} documents are more than {_MOST_SETS} sets;"
            " lower one of them"
        )
    return rules


def _checked(name: str, value: Any) -> Any:
    if name == "payout_schedule":
        if value not in SCHEDULES:
            raise RulesError(f"[rules] payout_schedule must be one of {', '.join(SCHEDULES)}, not {value!r}")
        return value
    if name == "generic_tax_ids":
        if not isinstance(value, list | tuple) or not all(isinstance(tax_id, str) for tax_id in value):
            raise RulesError("[rules] generic_tax_ids must be a list of tax ids in quotes")
        return tuple(sorted(value))
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise RulesError(f"[rules] {name} must be a whole number of zero or more, not {value!r}")
    if "days" in name and value > _MOST_DAYS:
        raise RulesError(f"[rules] {name} must be at most {_MOST_DAYS} days, not {value}")
    return value
