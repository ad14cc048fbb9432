"""Files nobody here has seen are refused in the reader's language."""

import pytest

from reports.pages.words import refusal


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "the quotation marks of the row that begins on line 2 do not close: double those in cells or take them out",
            "Las comillas de la fila de la línea 2 no cierran: duplique las que van dentro de una celda o quítelas.",
        ),
        (
            "the column says that these are purchases: import the register of sales",
            "La columna dice que son compras: traiga el registro de ventas.",
        ),
        (
            (
                "sheet Ventas has more than 20,000,000 cells, empty ones too: delete the empty columns on the right, "
                "or save it as CSV"
            ),
            (
                "La hoja Ventas tiene más de 20,000,000 celdas, con las vacías: borre las columnas de la "
                "derecha o guárdela como CSV."
            ),
        ),
        (
            "entry 3 (Ntry) cannot be read: the file is empty",
            "El movimiento 3 (Ntry) no se puede leer: el archivo está vacío.",
        ),
        (
            (
                "2 of its lines have day and amount of lines of a.csv (the first on 2026-10-05) but other words: "
                "they would count twice; export those days as you did then, or leave them out"
            ),
            (
                "2 de sus líneas tienen el día y el monto de líneas de a.csv (la primera el 2026-10-05) con otras "
                "palabras: contarían dos veces; exporte esos días como entonces o déjelos fuera."
            ),
        ),
        (
            "rows of sheet Ventas hidden by hand or by a filter, and read like the others: 3",
            "Filas de la hoja Ventas ocultas a mano o por un filtro, leídas como las demás: 3.",
        ),
    ],
)
def test_foreign_files_are_refused_in_spanish(said: str, told: str) -> None:
    """Finance brings the file and reads why."""
    assert refusal(said, "es-CL") == told
