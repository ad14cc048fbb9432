"""How much a run proves: a proof takes every case and holds what was promised; others take a few, on any machine."""

import os
from typing import TypeVar

# Why a test may be skipped even where a run must be complete.
AWAY = "the registry does not give"
IS_FULL = os.environ.get("CUADRE_TEST_PROOF") == "1"

_T = TypeVar("_T")


def for_run(*, short: _T, full: _T) -> _T:
    """Choose a count, or the seconds something may take, by the kind of this run."""
    return full if IS_FULL else short
