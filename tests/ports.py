"""Free ports for processes that must be given theirs: no other process gets one of them between look and use."""

import itertools
import os
import socket
from contextlib import suppress

# Below what systems hand out to outgoing connections, where a port that was just free is soon another's.
_FIRST, _EACH = 20_000, 1_000
_WORKER = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
# Every worker has ports of its own; two sessions on one machine seldom begin at the same one.
_NUMBERS = itertools.count(os.getpid() % _EACH)


def free_port() -> int:
    """Give a port of this machine without a listener, another one each time."""
    first = _FIRST + int(_WORKER) % 10 * _EACH
    for number in itertools.islice(_NUMBERS, _EACH):
        port = first + number % _EACH
        with suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError(f"no port from {first} to {first + _EACH - 1} is free")
