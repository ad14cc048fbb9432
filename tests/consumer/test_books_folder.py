"""The doctor on the watched folder: there and writable, and what was refused in it."""

from pathlib import Path

from consumer.health.disk import Verdict
from consumer.health.doctor import check_books_folder


def test_the_doctor_says_what_is_wrong_with_the_folder(tmp_path: Path) -> None:
    """Without a setting there is nothing to say; a folder that is away and refused files are warnings."""
    assert [*check_books_folder(None)] == []
    (missing,) = check_books_folder(tmp_path / "away")
    assert (missing.verdict, missing.found) == (Verdict.WARNING, "not there, or not for this user to write")
    (well,) = check_books_folder(tmp_path)
    assert well.verdict is Verdict.OK
    for place in ("main/invoices/refused", "main/bank/1234567/refused", "main/invoices/done"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "a.csv.verdict.json").write_text("{}", encoding="utf-8")
    (refused,) = check_books_folder(tmp_path)
    assert (refused.verdict, refused.found) == (Verdict.WARNING, "files that were refused: 2")
    assert refused.advice
