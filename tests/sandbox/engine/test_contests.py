"""What becomes of a dispute that the merchant answered."""

import pytest

from sandbox.engine.contests import follow_dispute


@pytest.mark.parametrize(
    ("now", "planned", "next_"),
    [
        ("waiting_documentation", "in_review", "in_review"),
        ("in_review", "in_review", None),
        ("in_review", "lost", "lost"),
        ("in_review", "expired", "lost"),
        ("waiting_documentation", "expired", "expired"),
        ("won", "lost", None),
    ],
)
def test_what_a_scenario_wrote_follows_what_the_merchant_sent(now: str, planned: str, next_: str | None) -> None:
    """The scenario's end comes with the merchant's documents; a dispute under review is lost, not expired."""
    found = {"status": now, "documents": ["d"]}
    changed = follow_dispute(found, {"status": planned, "documents": []})
    assert changed == (None if next_ is None else {"status": next_, "documents": ["d"]})
