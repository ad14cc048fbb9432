"""Refusals in the reader's language."""

from datetime import UTC, datetime

import pytest

from consumer.facts.messages import Message
from reports.pages.words import refusal


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
    ("said", "shown"),
    [
        (Message("books.empty"), "Está vacío."),
        (
            Message("books.amount_problem", {"problem": Message("books.too_many_decimals", {"currency": "CLP"})}),
            "Un monto tiene más decimales que los de CLP.",
        ),
        (
            Message("books.imported_before", {"at": datetime(2026, 11, 21, 20, 9, tzinfo=UTC), "name": "bank.csv"}),
            "Este archivo ya se importó el 21-11-2026 20:09 UTC como bank.csv; no cambió nada.",
        ),
        (Message("books.no_folio"), "La fila no trae folio ni UUID."),
        (Message("books.not_an_amount", {"mark": Message("books.comma")}), "No es un monto escrito con coma decimal."),
        (Message("books.not_an_amount", {"mark": Message("books.point")}), "No es un monto escrito con punto decimal."),
        (
            Message("books.not_in_calendar", {"style": Message("dd-mm-yyyy")}),
            "No es un día del calendario (escrito dd-mm-aaaa).",
        ),
        (
            Message("books.open_quotation", {"line": 2}),
            "Las comillas de la fila de la línea 2 no cierran: duplique las que van dentro de una celda o quítelas.",
        ),
        (Message("books.purchases"), "La columna dice que son compras: traiga el registro de ventas."),
        (
            Message("books.too_many_cells", {"sheet": "Ventas", "most": 20_000_000}),
            (
                "La hoja Ventas tiene más de 20,000,000 celdas, con las vacías: borre las columnas de la "
                "derecha o guárdela como CSV."
            ),
        ),
        (
            Message("books.entry_unreadable", {"entry": 3, "reason": Message("books.file_empty")}),
            "El movimiento 3 (Ntry) no se puede leer: el archivo está vacío.",
        ),
        (
            Message("books.same_days_other_words", {"lines": 2, "file": "a.csv", "day": "2026-10-05"}),
            (
                "2 de sus líneas tienen el día y el monto de líneas de a.csv (la primera el 05-10-2026) con otras "
                "palabras: contarían dos veces; exporte esos días como entonces o déjelos fuera."
            ),
        ),
        (
            Message("books.hidden_rows", {"sheet": "Ventas", "rows": 3}),
            "Filas de la hoja Ventas ocultas a mano o por un filtro, leídas como las demás: 3.",
        ),
    ],
)
def test_faults_of_files_are_told_in_spanish(said: Message, shown: str) -> None:
    """Finance brings the file and reads why it was refused."""
    assert refusal(said, "es-CL") == shown
