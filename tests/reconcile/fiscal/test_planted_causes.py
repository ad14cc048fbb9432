"""Causes of tax differences planted in the sandbox are found, and no others are named."""

import pytest

from tests.benchmarks.accuracy.tax import judge_tax


@pytest.mark.parametrize(("name", "planted", "missed", "rests"), [("tax-cl", 17, [], 0), ("tax-mx", 25, [], 0)])
def test_planted_causes_are_found(name: str, planted: int, missed: list[str], rests: int) -> None:
    """All of them, and no other, no figure keeps a rest, and those that are exceptions are on the work list."""
    found = judge_tax(name, 7)
    assert (len(found.planted), [code for code, _ in found.missed], found.false) == (planted, missed, [])
    assert found.rests == rests
    assert found.listed == found.due
