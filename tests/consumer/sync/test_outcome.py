"""How a run of many streams is told: what needs reading stands alone, the rest in one line."""

from consumer.sync.outcomes import Outcome, StreamResult, StreamState


def stream(name: str, state: StreamState = StreamState.COMPLETE, **shown: int | str) -> StreamResult:
    return StreamResult("main", name, state, **shown)  # type: ignore[arg-type]  # fields by name


def test_streams_of_one_kind_share_a_line() -> None:
    """Whole streams are added up, skipped ones are named, and one that failed or does not add up speaks for itself."""
    outcome = Outcome(
        [
            stream("payouts", pages=9, read=40, changed=2),
            stream("charges", pages=1, read=3, changed=1),
            stream("refunds", StreamState.INCOMPLETE, pages=2, read=20, reason="no answer"),
            stream("account-statements", pages=1, read=2, reason="2026-09 is 500 CLP short"),
            stream("tax-returns", StreamState.SKIPPED, reason="skipped, no link token is set"),
            stream("tax-statements", StreamState.SKIPPED, reason="skipped, no link token is set"),
        ]
    )

    assert outcome.lines == [
        "main: refunds: incomplete, 20 read, 0 new or changed, 2 pages: no answer",
        "main: account-statements: complete, 2 read, 0 new or changed, 1 pages: 2026-09 is 500 CLP short",
        "main: 2 streams complete, 43 read, 3 new or changed, 10 pages",
        "main: 2 streams skipped, no link token is set: tax-returns tax-statements",
    ]
