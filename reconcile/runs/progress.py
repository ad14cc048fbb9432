"""What a run tells of each of its steps before it begins."""

from collections.abc import Callable

Watch = Callable[[str], None]


def say_nothing(_step: str) -> None:
    pass
