"""Golden files: what the program writes, read and approved by a person, compared byte for byte."""

import os
from pathlib import Path

DATA = Path(__file__).resolve().parent / "data"
# Set by `make golden`, which writes them anew and shows what changed.
_WRITE = "CUADRE_TEST_WRITE_GOLDEN"


def check_golden(name: str, content: bytes) -> None:
    """Compare with the file of this name below tests/data, or write it anew."""
    path = DATA / name
    if os.environ.get(_WRITE):
        path.write_bytes(content)
    assert content == path.read_bytes(), name
