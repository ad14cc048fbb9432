"""How a piece of work ended, and why it could not be done: the same for commands, nights and pages."""

from enum import Enum, auto


class Completion(Enum):
    """How far a piece of work came."""

    DONE = auto()
    PARTLY_DONE = auto()
    NOTHING_DONE = auto()
    MISUSED = auto()  # asked for in a way that cannot be


class WorkError(Exception):
    """Work that was not done; the message is one sentence for people that says why and what to do."""

    def __init__(self, message: str, completion: Completion = Completion.NOTHING_DONE) -> None:
        super().__init__(message)
        self.message = message
        self.completion = completion
