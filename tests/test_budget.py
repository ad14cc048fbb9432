"""The budget of tests: what is listed is there, and what is written can be read again."""

import ast
from pathlib import Path

import pytest

from tests import budget

ROOT = Path(__file__).resolve().parent.parent
LISTED = {"tests/a.py::test_slow": 12.0, "tests/a.py::test_quick": 8.0}


def test_every_listed_test_is_there() -> None:
    """A test that was renamed keeps no budget: `make slowest` writes the list anew."""
    for listed in budget.read_listed():
        path, _, name = listed.partition("::")
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert name.partition("[")[0] in names, listed


@pytest.mark.parametrize(("name", "seconds"), [("slow", 60.0), ("quick", 40.0), ("new", 40.0)])
def test_a_budget_is_five_times_what_is_listed(name: str, seconds: float) -> None:
    """A test that is not listed gets the budget of the last one that is."""
    assert budget.budget_of(f"tests/a.py::test_{name}", LISTED) == seconds


def test_no_budget_is_under_thirty_seconds() -> None:
    """The first test to import a library pays for it."""
    assert budget.budget_of("tests/a.py::test_new", {"tests/a.py::test_quick": 0.1}) == 30.0


def test_the_list_is_written_in_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The slowest come first, twenty of them, between the words that were there."""
    document = tmp_path / "testing.md"
    document.write_text("Before\n\n| seconds | test |\n|---|---|\n| 9.9 | `old` |\n\nAfter\n", encoding="utf-8")
    monkeypatch.setattr(budget, "DOCUMENT", document)
    budget.write_listed({f"t::{number:02}": number / 2 for number in range(30)})
    lines = document.read_text(encoding="utf-8").splitlines()
    assert lines[:5] == ["Before", "", "| seconds | test |", "|---|---|", "| 14.5 | `t::29` |"]
    assert lines[23:] == ["| 5.0 | `t::10` |", "", "After"]
    assert len(budget.read_listed()) == 20
