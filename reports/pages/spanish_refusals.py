"""Why something cannot be done, in Spanish: English with holes, as the rooms say it, beside its Spanish."""

SPANISH_REFUSALS = (
    (
        "the kept rows of run {a} of {b} (piece {c}, {d}) are damaged: restore the database, or wait for the next run",
        "las filas de la corrida {a} de {b} (parte {c}, {d}) están dañadas: restaure la base, o espere la próxima",
    ),
    # addresses
    ("{a}: {b} is not a date such as 2026-10-31", "{a}: {b} no es una fecha como 2026-10-31"),
    ("from {a} is after to {b}", "la fecha «desde» ({a}) es posterior a «hasta» ({b})"),
    ("{a}: {b} is not a page number", "{a}: {b} no es un número de página"),
    ("{a}: {b} is not a number", "{a}: {b} no es un número"),
    ("{a}: {b} is not a number from 1 to {c}", "{a}: {b} no es un número entre 1 y {c}"),
    ("connection: there is no connection {a}; there are {b}", "connection: no existe la conexión {a}; existen {b}"),
    (
        "A NUL character stands in the address or the form; no text of ours holds one.",
        "la dirección o el formulario trae un carácter nulo, que ningún texto lleva",
    ),
    ("{a} is not a parameter; there are {b}", "el parámetro {a} no existe; existen {b}"),
    ("{a}: {b} is not one of {c}", "{a}: {b} no es uno de {c}"),
    ("{a} {b} is not one of {c}", "el parámetro {a} {b} no es uno de {c}"),
    ("{a} is running already: see the jobs", "{a} ya está en curso: véalo en Tareas"),
    ("pick: choose an event first", "elija primero un evento"),
    ("until: choose the last day to close", "elija el último día por cerrar"),
)
