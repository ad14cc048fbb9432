"""Metadata is read as columns where it is plain, and one by one where it is not: both say the same."""

import pandas as pd
import pyarrow as pa
import pytest

from reconcile.rules.columns import Texts, sort_rows, to_capitals
from reconcile.rules.keys import read_metadata


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ('{"order_ref":"PED-1"}', "PED-1"),
        ('{"order_ref":" PED-1\\t"}', "PED-1"),
        ('{"order_ref":"PED\\u002d1"}', "PED-1"),
        ('{ "order_ref": "PED-1" }', "PED-1"),
        ('{"order_ref":"pedido-ñ"}', "pedido-ñ"),
        ('{"order_ref":"\\u001cPED-1"}', "PED-1"),
        ('{"order_ref":"\\"PED\\""}', '"PED"'),
        ('{"order_ref":"PED-1","branch":"Ñuñoa"}', "PED-1"),
        ('{"branch":"Centro","order_ref":"PED-1"}', "PED-1"),
        ('{"order_ref":7}', "7"),
        ('{"order_ref":""}', None),
        ('{"order_ref":"  "}', None),
        ('{"order_reference":"PED-1"}', None),
        ('{"order_ref":{"order_ref":"PED-1"}}', None),
        ('["order_ref","PED-1"]', None),
        ('"order_ref"', None),
        ("{}", None),
        (None, None),
    ],
)
def test_an_order_reference_is_read_however_it_is_written(written: str | None, said: str | None) -> None:
    """Spaces, escapes, other names beside it and letters beyond ASCII change nothing of what is said."""
    column = pd.Series([written, '{"order_ref":"PED-2"}', None], dtype="str")
    assert read_metadata(column).order_refs().to_pylist() == [said, "PED-2", None]


def test_the_order_reference_shown_is_the_one_that_says_it_by_name() -> None:
    """An order reference goes before an order's id, and that before what only says invoice, in any order of rows."""
    column = pd.Series(['{"invoice":"F1","order_id":"O1"}', '{"invoice":"F2"}', '{"order_id":"O3","order_ref":"R3"}'])
    assert read_metadata(column).order_refs().to_pylist() == ["O1", "F2", "R3"]


def test_capitals_are_those_of_the_language() -> None:
    """What Arrow would leave small is written in capitals too, and a missing text stays missing."""
    assert to_capitals(pa.array(["ped-1", None], type=pa.large_string())).to_pylist() == ["PED-1", None]
    assert to_capitals(pa.array(["straße", None], type=pa.large_string())).to_pylist() == ["STRASSE", None]


def test_single_cells_of_a_text_column_are_texts_or_none() -> None:
    """A cell is plain text wherever it stands."""
    texts = Texts(pd.Series(["76214039-8", None], dtype="str"))
    assert (texts[0], texts[1]) == ("76214039-8", None)


@pytest.mark.parametrize(("given", "rows"), [([3, 1, 2], [1, 2, 0]), ([1, 2, 3], [0, 1, 2])])
def test_rows_are_numbered_anew_in_their_order(given: list[int], rows: list[int]) -> None:
    """Rows that came in order, and rows that did not, are both numbered from zero."""
    frame = pd.DataFrame({"rank": given, "row": [0, 1, 2]}, index=[7, 8, 9])
    ordered = sort_rows(frame, ["rank"])
    assert (ordered["row"].tolist(), ordered.index.tolist()) == (rows, [0, 1, 2])
