"""Files and names in folders that are on the disk when the block has ended."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

# How the name of a folder ends that is not whole yet.
DRAFT = ".draft"


@contextmanager
def durably(path: Path) -> Iterator[BinaryIO]:
    with path.open("wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def sync(folder: Path) -> None:
    """Names in a folder are on the disk only when the folder is."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
