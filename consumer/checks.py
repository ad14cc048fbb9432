"""What was looked at and how it stands: the lines of the doctor, and the states that alarms tell of."""

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    OK = "ok"
    WARNING = "warning"
    FAILURE = "failure"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at; `advice` says what to do and is empty when all is well."""

    connection: str
    check: str
    verdict: Verdict
    found: str
    advice: str = ""


KEYS = ("connection", "check", "verdict", "found", "advice")
