"""What becomes of a dispute that the merchant contests."""

from datetime import timedelta

from sandbox.state.store import Object

# How long the review takes of a dispute whose end no scenario wrote; it is won.
REVIEW = timedelta(days=5)
_STILL_OPEN = ("waiting_documentation", "in_review")


def follow_dispute(found: Object | None, planned: Object) -> Object | None:
    """Return the next state that a scenario planned of a dispute, with the merchant's documents; None if it is past.

    A dispute under review is not expired: where nothing was to be sent, it is lost all the same.
    """
    if found is None or not found["documents"]:
        return planned
    if found["status"] not in _STILL_OPEN or (found["status"] == "in_review" and planned["status"] in _STILL_OPEN):
        return None
    is_late_answer = found["status"] == "in_review" and planned["status"] == "expired"
    return {**planned, "documents": found["documents"], "status": "lost" if is_late_answer else planned["status"]}
