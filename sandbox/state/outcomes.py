"""How simulated banks decide: everything works, unless the object's metadata asks for something else."""

from collections.abc import Mapping
from typing import Any

WISH = "sandbox_outcome"


def outcome(*metadata: Mapping[str, Any] | None, default: str = "succeeded") -> str:
    """The first outcome that is wished for in `metadata.sandbox_outcome`, else that everything works."""
    for pairs in metadata:
        if pairs and isinstance(pairs.get(WISH), str):
            return str(pairs[WISH])
    return default
