"""What a long reading tells whoever watches it."""

from collections.abc import Callable

from consumer.facts.tables.sync import Window

# A window, how many windows there are, how many events were new.
OnPage = Callable[[Window, int, int], None]
# A stream, its pages and its objects so far.
OnRead = Callable[[str, int, int], None]


def say_nothing(_window: Window, _windows: int, _added: int) -> None:
    pass


def read_quietly(_stream: str, _pages: int, _objects: int) -> None:
    pass
