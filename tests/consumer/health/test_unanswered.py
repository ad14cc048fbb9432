"""Patience: a question that is never answered holds one thread and no more, and answers come when it can answer."""

import threading

import pytest
from flask import Flask

from consumer.facts.installation import Installation
from consumer.facts.patience import NoAnswerError, Patience
from consumer.health.endpoint import health


def test_a_question_that_hangs_is_asked_once() -> None:
    """A request meanwhile is answered in time; once it ends the next question is answered."""
    patience = Patience[int](0.05)
    held, asked = threading.Event(), []

    def hang() -> int:
        asked.append(1)
        held.wait(60)
        return 1

    for _ in range(3):
        with pytest.raises(NoAnswerError):
            patience.ask(hang)
    assert asked == [1]
    held.set()
    answered = Patience[int](60)
    assert answered.ask(lambda: 7) == 7
    patience._seconds = 60
    assert Patience.ask(patience, lambda: 8) == 8


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
def test_a_ready_database_is_said_so(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    """The probe answers 200 when the database is there and migrated."""
    monkeypatch.setattr("consumer.facts.patience.ANSWER_SECONDS", 60.0)
    app = Flask("health")
    app.register_blueprint(health(installation, is_allowed=lambda: False))

    answer = app.test_client().get("/readyz")

    assert (answer.status_code, answer.json) == (200, {"status": "ready"})
