"""A digest tells frames apart by their cells alone."""

import numpy as np
import pandas as pd
import pytest
from pandas import DataFrame

from reconcile.kept.snapshots import digest_of
from reconcile.rules.inputs import DAY, MOMENT, MONEY, TEXT, to_types

KINDS = {"text": TEXT, "amount": MONEY, "at": MOMENT, "on": DAY}


def _frame(*rows: tuple[object, ...]) -> DataFrame:
    return to_types(DataFrame(list(rows), columns=list(KINDS)), KINDS)


ROWS = _frame(
    ("Ñandú", 1190, "2026-09-10T15:00:00Z", "2026-09-10"),
    ("", None, None, None),
    (None, -5, "2026-09-10T15:00:01Z", None),
)


def test_the_digest_of_some_cells_never_changes() -> None:
    """Kept inputs are held against the digest of their day for as long as they are kept."""
    assert digest_of(ROWS) == "3b0cc9a30afee56c7c55e029bb0879199361240a147e1c916b95cd7276eb7bac"


@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_every_kind_of_cell_counts(place: int) -> None:
    """A cell that is unknown, or another, makes another digest, in any column."""
    row = ("a", 1, "2026-09-10T15:00:00Z", "2026-09-10")
    other = ("b", 2, "2026-09-10T15:00:02Z", "2026-09-11")
    frames = [_frame(row), _frame((*row[:place], None, *row[place + 1 :])),
              _frame((*row[:place], other[place], *row[place + 1 :])), _frame(row, row), _frame()]  # fmt: skip
    assert len({digest_of(frame) for frame in frames}) == 5


def test_texts_are_not_run_together() -> None:
    """The same letters divided otherwise between rows or columns are other cells."""
    frames = [DataFrame({"a": first, "b": second}, dtype="str") for first, second in (
        (["ab", "c"], ["", ""]), (["a", "bc"], ["", ""]), (["a", "b"], ["c", ""]), (["", ""], ["ab", "c"]),
    )]  # fmt: skip
    assert len({digest_of(frame) for frame in frames}) == 4


def test_how_cells_are_kept_does_not_matter() -> None:
    """A frame cut out of a longer one, or put together from pieces, has the digest of its cells."""
    longer = pd.concat([ROWS, ROWS, ROWS])
    assert digest_of(longer.iloc[3:6]) == digest_of(ROWS)
    assert digest_of(longer[np.array([False] * 6 + [True] * 3)]) == digest_of(ROWS)


def test_a_column_of_no_known_kind_is_refused() -> None:
    """Numbers with a fraction have no place in the inputs of a run."""
    with pytest.raises(TypeError, match="double has no place"):
        digest_of(DataFrame({"a": [0.5]}))
