"""How old an exception is, in bank days, and the bucket of its age."""

from datetime import date

from consumer.facts.bankdays import BankCalendar

BUCKETS = ((1, "0-1"), (3, "2-3"), (7, "4-7"), (30, "8-30"))
OLDEST_BUCKET = "over 30"


def age_in_bank_days(since: date, on: date, calendar: BankCalendar) -> int:
    """Bank days from what an exception tells of to a day; never below zero."""
    return max(0, calendar.days_between(since, on))


def age_bucket(age: int) -> str:
    return next((name for limit, name in BUCKETS if age <= limit), OLDEST_BUCKET)
