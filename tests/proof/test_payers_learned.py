"""The bound over payers' rules, on merchants whose people err: what it lets through is within the setting."""

import pytest

from tests.benchmarks.accuracy.learned_payers import SEEDS, measure, play


def test_a_few_merchants_stay_within_the_setting() -> None:
    """At 5 % allowed and 1 % wrong labels rules qualify, more with more decisions, and what they take is within 5 %."""
    few = [list(play(seed, 0.01, 500)) for seed in range(1, 6)]
    shares = [sum(look.automated for look in looks) / 5 for looks in zip(*few, strict=True)]
    assert shares == sorted(shares)
    assert shares[-1] > 0.5
    assert all(look.wrong <= 0.05 for looks in few for look in looks)


def test_wrong_labels_beyond_the_setting_let_no_rule_qualify() -> None:
    """At the default of 0.5 % a merchant with 2 % wrong labels has nothing within the setting after 5,000 decisions."""
    (look,) = play(1, 0.02, 50, at=(5_000,))
    assert (look.automated, look.wrong) == (0.0, 0.0)


@pytest.mark.proof
def test_two_hundred_merchants_stay_within_the_setting() -> None:
    """In at least 95 % of 200 seeds, at every noise and setting, what qualifies is wrong less often than allowed."""
    assert [row for row in measure(SEEDS) if row.within < 190] == []
