"""Why a file cannot go into the books, in Spanish: English with holes, as the books say it, beside its Spanish."""

OF_FILES = (
    (
        "already imported on {a} UTC as {b}, nothing changed",
        "este archivo ya se trajo el {a} UTC como {b}; no cambió nada",
    ),
    ("the file is empty", "el archivo está vacío"),
    ("the file cannot be read: {a}", "el archivo no se puede leer: {a}"),
    ("the file is not text: save it as CSV or XLSX", "el archivo no es texto: guárdelo como CSV o XLSX"),
    (
        "the file is neither UTF-8, UTF-16 nor Windows text: save it as CSV UTF-8 or XLSX",
        "el archivo no es texto UTF-8, UTF-16 ni de Windows: guárdelo como CSV UTF-8 o XLSX",
    ),
    (
        "the file is not a workbook that can be opened: save it as XLSX or CSV",
        "el archivo no es una planilla que se pueda abrir: guárdelo como XLSX o CSV",
    ),
    ("the quotation marks of the file do not close: {a}", "las comillas del archivo no cierran: {a}"),
    (
        "the workbook lists documents on {a} sheets ({b}): save each alone",
        "la planilla trae documentos en {a} hojas ({b}): guarde cada una aparte",
    ),
    (
        "the workbook unfolds to {a} MB: save it as CSV or split it",
        "la planilla ocupa {a} MB: guárdela como CSV o divídala",
    ),
    (
        "no row holds four known column names: use the canonical header or save a mapping",
        "ninguna fila trae cuatro encabezados conocidos: use los encabezados usuales o guarde un mapeo",
    ),
    (
        "no row names a date and an amount (or credit and debit) column: save a mapping, or use MT940 or camt.053",
        "ninguna fila nombra una fecha y un monto (o abono y cargo): guarde un mapeo, o use MT940 o camt.053",
    ),
    ("the file has no such column; it is often called {a}", "falta esta columna; suele llamarse {a}"),
    ("the file has neither a folio nor a UUID column", "el archivo no trae columna de folio ni de UUID"),
    (
        "two columns bear this name: rename or delete the one not meant",
        "dos columnas llevan este nombre: cambie el nombre o borre la que sobra",
    ),
    (
        "columns {a} bear this name, and which one is meant is not said: rename or delete the other",
        "las columnas {a} llevan este nombre y no se sabe cuál vale: cambie el nombre o borre la otra",
    ),
    (
        "the row has {a} columns, the header {b}: a separator is missing or too many",
        "la fila tiene {a} columnas y el encabezado {b}: falta o sobra un separador",
    ),
    (
        "the row has not the {a} columns of the header: a separator is missing or too many",
        "la fila no tiene las {a} columnas del encabezado: falta o sobra un separador",
    ),
    ("the file has no movements", "el archivo no trae movimientos"),
    ("the file mixes {a}: an account has one currency", "el archivo mezcla {a}: una cuenta tiene una sola moneda"),
    (
        "the file is of an account ending in {a}, not of the one given",
        "el archivo es de una cuenta terminada en {a}, no de la indicada",
    ),
    (
        "--account must be the whole number of the account, not its last digits",
        "escriba el número completo de la cuenta, no sus últimos dígitos",
    ),
    (
        "it opens with {a}, its {b} lines add up to {c}, and it closes with {d}: lines are missing or were changed",
        "parte con {a}, sus {b} líneas suman {c} y termina con {d}: faltan líneas o fueron cambiadas",
    ),
    (
        "a statement closes with {a} and the next one opens with {b}: one between is missing",
        "una cartola termina con {a} y la siguiente parte con {b}: falta una entre ambas",
    ),
    (
        "the balance before and this amount do not make this balance: a line is missing or was changed",
        "el saldo anterior y este monto no dan este saldo: falta una línea o fue cambiada",
    ),
    (
        (
            "{a} speaks of {b} already, and each format words a line otherwise: they would count twice; bring those"
            " days in in one format"
        ),
        (
            "{a} ya habla de los días {b} y cada formato escribe las líneas a su modo: contarían dos veces; traiga esos"
            " días en un solo formato"
        ),
    ),
    (
        (
            "{a} of its lines say what lines of {b} say, but by the balances they are others: bring in what lies"
            " between the two files on {c} first, or export whole days"
        ),
        (
            "{a} de sus líneas dicen lo mismo que líneas de {b}, pero por los saldos son otras: traiga primero lo que"
            " hay entre los dos archivos el {c}, o exporte días completos"
        ),
    ),
    (
        (
            "{a} lines say what lines kept before say and were taken as the same: without balances nobody can tell, so"
            " export whole days"
        ),
        (
            "{a} líneas dicen lo mismo que otras ya guardadas y se tomaron como las mismas: sin saldos no se puede"
            " saber, así que exporte días completos"
        ),
    ),
    (
        "{a} entries are not booked yet and were left out",
        "{a} movimientos todavía no están contabilizados y quedaron fuera",
    ),
    (
        "{a} of this account is in {b}, and an account has one currency: give the file's own account",
        "{a} de esta cuenta está en {b} y una cuenta tiene una sola moneda: indique la cuenta de este archivo",
    ),
    (
        "no payout we know goes to this account; payouts go to accounts ending in {a}",
        "ninguna liquidación conocida llega a esta cuenta; llegan a cuentas terminadas en {a}",
    ),
    (
        "a statement states no {a} balance, so nobody can tell whether lines are missing",
        "una cartola no dice el saldo {a}, así que no se puede saber si faltan líneas",
    ),
    ("an amount {a}", "un monto {a}"),
    ("is empty", "está vacío"),
    ("is not an amount written with a decimal {a}", "no es un monto escrito con {a} decimal"),
    ("has more decimals than {a} has", "tiene más decimales que los de {a}"),
    ("is larger than any amount", "es mayor que cualquier monto"),
    ("is written in {a}, and its row is in {b}", "está escrito en {a} y su fila está en {b}"),
    (
        "could be thousands or decimals of {a}, and so could the whole file",
        "pueden ser miles o decimales de {a}, igual que en todo el archivo",
    ),
    (
        "could be thousands or decimals, and so could the whole file: write all with decimals",
        "pueden ser miles o decimales, igual que en todo el archivo: escriba todos con decimales",
    ),
    (
        "uses . and , before three digits: write the file with one of them",
        "usa punto y coma antes de tres dígitos: escriba el archivo con uno solo",
    ),
    ("has a year of two digits: write four", "trae el año con dos dígitos: escriba cuatro"),
    ("is not a date written {a} as the rest of the file", "no es una fecha escrita {a} como el resto del archivo"),
    ("is no day of the calendar (written {a})", "no es un día del calendario (escrito {a})"),
    ("is not a known currency ({a})", "no es una moneda conocida ({a})"),
    ("is not a kind of document known in {a} ({b})", "no es una clase de documento conocida en {a} ({b})"),
    (
        "is not a known state: valid (vigente, emitida, aceptada, active) or void (anulada, cancelado)",
        "no es un estado conocido: vigente (emitida, aceptada) o anulada (cancelado)",
    ),
    ("is not a UUID of 36 characters", "no es un UUID de 36 caracteres"),
    ("holds no folio number", "no trae un número de folio"),
    (
        "stands beside a charge: a line is one of the two",
        "está junto a un cargo: una línea es abono o cargo, no ambos",
    ),
    (
        "lines {a} state this document differently ({b}): neither is used",
        "las líneas {a} dicen cosas distintas de este documento ({b}): no se usa ninguna",
    ),
    (
        "the total row does not agree: the rows above add up to {a}",
        "la fila de totales no coincide: las filas de arriba suman {a}",
    ),
)
