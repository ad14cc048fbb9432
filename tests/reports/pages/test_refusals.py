"""Refusals in the reader's language: no sentence of the rooms that pages show was forgotten."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from consumer.facts.messages import Message
from reports.pages.words import refusal

ROOT = Path(__file__).resolve().parents[3]
# Where the sentences come from that a page shows as they are said.
ROOMS = (
    "books/camt", "books/headers", "books/payout_reports", "books/words",
)  # fmt: skip


def sentences(module: str) -> Iterator[str]:
    """Give every sentence a room raises, with a word in each of its holes."""
    tree = ast.parse((ROOT / "reconcile" / f"{module}.py").read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            said = node.exc.args[0]
            if isinstance(said, ast.Constant):
                yield str(said.value)
            elif isinstance(said, ast.JoinedStr):
                yield "".join(str(part.value) if isinstance(part, ast.Constant) else "x1" for part in said.values)


@pytest.mark.parametrize("module", ROOMS)
def test_every_refusal_of_a_room_has_its_spanish(module: str) -> None:
    """A new refusal without Spanish is found here, not by a reader."""
    said = list(sentences(module))
    assert [text for text in said if refusal(text, "es-CL") == text] == []
    assert len(said) >= 2


def test_names_stay_inside_the_sentence() -> None:
    """What a sentence is about is in both languages, and English is as the room said it."""
    sentence = Message("desk.changed_since_seen", {"exception": "00aa", "version": 3, "seen": 2})
    assert refusal(sentence, "es-MX") == (
        "Otra persona cambió la excepción 00aa mientras usted miraba (versión 3, no 2): mire otra vez."
    )
    assert refusal(sentence, "en") == "exception 00aa was changed meanwhile (version 3, not 2): look again"


def test_a_sentence_nobody_translated_stays() -> None:
    """Better English than nothing."""
    assert refusal("the moon is late", "es-CL") == "the moon is late"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("is empty", "Está vacío."),
        ("an amount has more decimals than CLP has", "Un monto tiene más decimales que los de CLP."),
        (
            "already imported on 2026-11-21 20:09 UTC as bank.csv, nothing changed",
            "Este archivo ya se trajo el 2026-11-21 20:09 UTC como bank.csv; no cambió nada.",
        ),
        ("the row has no folio and no UUID", "La fila no trae folio ni UUID."),
        ("is not an amount written with a decimal comma", "No es un monto escrito con coma decimal."),
        ("is not an amount written with a decimal point", "No es un monto escrito con punto decimal."),
        (
            "is no day of the calendar (written dd-mm-yyyy)",
            "No es un día del calendario (escrito dd-mm-aaaa).",
        ),
    ],
)
def test_faults_of_files_are_told_in_spanish(said: str, told: str) -> None:
    """Finance reads why a file was refused."""
    assert refusal(said, "es-CL") == told
