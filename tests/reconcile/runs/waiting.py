"""Work for a cluster that says who does it and waits to be let on, so that a test may end whoever it is."""

import os
import time
from pathlib import Path


def wait_and_sign(_program: str, packed: bytes) -> bytes:
    """Write the id of this process into a folder, and return it once `go` is there."""
    folder = Path(packed.decode())
    (folder / f"at work {os.getpid()}").touch()
    while not (folder / "go").exists():
        time.sleep(0.02)
    return str(os.getpid()).encode()


def sign(program: str, packed: bytes) -> bytes:
    """Return the input with the name of the program, at once."""
    return program.encode() + b" " + packed
