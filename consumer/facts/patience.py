"""Questions with a time limit: a thread waits for a database that hangs, the request only for seconds."""

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

T = TypeVar("T")
ANSWER_SECONDS = 3.0


class NoAnswerError(Exception):
    """No result came back in time; the question may still be under way."""


class Patience(Generic[T]):
    """Asks one question at a time, so that however often it is asked, at most one thread hangs on it."""

    def __init__(self, seconds: float | None = None) -> None:
        self._seconds = ANSWER_SECONDS if seconds is None else seconds
        self._free = threading.Lock()

    def ask(self, question: Callable[[], T]) -> T:
        """Return the answer, or raise NoAnswerError; an error of the question is its own to turn into an answer."""
        if not self._free.acquire(timeout=self._seconds):
            raise NoAnswerError
        answers: SimpleQueue[T] = SimpleQueue()
        threading.Thread(target=self._put, args=(question, answers), name="question", daemon=True).start()
        try:
            return answers.get(timeout=self._seconds)
        except Empty:
            raise NoAnswerError from None

    def _put(self, question: Callable[[], T], answers: SimpleQueue[T]) -> None:
        try:
            answers.put(question())
        finally:
            self._free.release()
