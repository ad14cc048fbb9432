"""The page about accuracy names the tests that hold its properties; each of them exists."""

import re
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]


def test_every_test_the_page_names_exists() -> None:
    """A name in the list of properties is the name of a test function."""
    listed = (TESTS / "benchmarks" / "accuracy" / "page_texts.py").read_text(encoding="utf-8")
    names = set(re.findall(r"`(test_\w+)`", listed))
    written = "".join(path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py"))
    assert len(names) >= 15
    assert sorted(name for name in names if f"def {name}(" not in written) == []
