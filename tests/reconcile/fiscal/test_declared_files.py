"""Files of declared figures that cannot be taken, each with its sentence."""

import pytest

from reconcile.fiscal.declared import DeclaredError, read_file


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (
            f"period,code,amount\n2026-10,538,{'1' * 200_000}\n",
            "a cell of the row that begins on line 2 has more than 131,072 characters",
        ),
    ],
)
def test_a_file_is_refused(content: str, sentence: str) -> None:
    """A cell without end is no amount."""
    with pytest.raises(DeclaredError) as refused:
        read_file(content.encode())
    assert str(refused.value).startswith(sentence)
