"""Why a file cannot go into the books, in Spanish: English with holes, as the books say it, beside its Spanish."""

SPANISH_REFUSALS_OF_FILES = (
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
    (
        "the quotation marks of the row that begins on line {a} do not close: double those in cells or take them out",
        "las comillas de la fila de la línea {a} no cierran: duplique las que van dentro de una celda o quítelas",
    ),
    (
        "the file is an old workbook (XLS) or one with a password: save it as XLSX without a password, or as CSV",
        "el archivo es una planilla antigua (XLS) o con clave: guárdelo como XLSX sin clave, o como CSV",
    ),
    ("the file is a PDF: export it as XLSX or CSV", "el archivo es un PDF: expórtelo como XLSX o CSV"),
    (
        "the file is XML, not a table: export it as XLSX or CSV",
        "el archivo es XML y no una tabla: expórtelo como XLSX o CSV",
    ),
    (
        "the file is a web page under another name: open it in a spreadsheet and save it as XLSX or CSV",
        "el archivo es una página web con otro nombre: ábralo en una planilla y guárdelo como XLSX o CSV",
    ),
    (
        "the file is an OpenDocument sheet: save it as XLSX or CSV",
        "el archivo es una planilla OpenDocument: guárdelo como XLSX o CSV",
    ),
    (
        "the file is a ZIP archive: unpack it and import the files in it",
        "el archivo es un ZIP: descomprímalo y traiga los archivos que contiene",
    ),
    (
        "the column says that these are purchases: import the register of sales",
        "la columna dice que son compras: traiga el registro de ventas",
    ),
    (
        "the column names {a} issuers: own sales have one, so import those issued alone",
        "la columna nombra {a} emisores: las ventas propias tienen uno, traiga solo lo emitido",
    ),
    (
        "the column may be the net or the total: name it Monto total, or save a mapping that says total",
        "la columna puede ser el neto o el total: llámela Monto total o guarde un mapeo que diga total",
    ),
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
    ("is how a program writes nothing: empty the cell", "es como un programa escribe nada: vacíe la celda"),
    ("is 0, which no document has", "es 0, y ningún documento tiene ese folio"),
    (
        "is an error of the spreadsheet: mend the formula or empty the cell",
        "es un error de la planilla: arregle la fórmula o vacíe la celda",
    ),
    (
        "is a number of which a spreadsheet keeps fifteen digits: make the column text and fill it in again",
        "es un número del que la planilla guarda quince dígitos: ponga la columna como texto y escríbalo otra vez",
    ),
    (
        "is a date that the spreadsheet made of what was written: make the column text and fill it in again",
        "es una fecha que la planilla hizo de lo escrito: ponga la columna como texto y escríbalo otra vez",
    ),
    (
        "is not a date in a form known here: write yyyy-mm-dd, or the day before the month as dd-mm-yyyy",
        "no es una fecha en una forma conocida: escriba aaaa-mm-dd, o el día antes del mes como dd-mm-aaaa",
    ),
    (
        "is no date cell beside others that are, whose day and month may be swapped: make the whole column text",
        "no es una celda de fecha y otras sí, que pueden tener día y mes cambiados: ponga toda la columna como texto",
    ),
    (
        "is a charge below zero beside charges above it: write what was given back as a credit",
        "es un cargo negativo junto a cargos positivos: escriba como abono lo que se devolvió",
    ),
    (
        "is below zero, and its direction {a} says that it came in: write which holds",
        "es negativo y su sentido {a} dice que entró: escriba cuál vale",
    ),
    (
        "the lines make {a} and not this: lines are missing or were changed",
        "las líneas dan {a} y no esto: faltan líneas o fueron cambiadas",
    ),
    (
        (
            "{a} of its lines have day and amount of lines of {b} (the first on {c}) but other words: they would count"
            " twice; export those days as you did then, or leave them out"
        ),
        (
            "{a} de sus líneas tienen el día y el monto de líneas de {b} (la primera el {c}) con otras palabras:"
            " contarían dos veces; exporte esos días como entonces o déjelos fuera"
        ),
    ),
    (
        (
            "the amount of field {a} on line {b} has a point where the format has a comma: ask the bank for MT940 with"
            " decimal commas"
        ),
        (
            "el monto del campo {a} en la línea {b} lleva punto donde el formato lleva coma: pida al banco MT940 con"
            " coma decimal"
        ),
    ),
    (
        "a statement opens in {a} and closes in {b}: it is not whole",
        "una cartola parte en {a} y termina en {b}: no está completa",
    ),
    ("entry {a} (Ntry) cannot be read: {b}", "el movimiento {a} (Ntry) no se puede leer: {b}"),
    # what is said of a file that goes in
    ("the file has a header and no documents under it", "el archivo trae encabezado y ningún documento"),
    (
        "lists of this kind name no currency: every amount is taken as pesos, also of documents in dollars",
        "este listado no dice la moneda: todo monto se toma en pesos, también el de documentos en dólares",
    ),
    (
        "rows of kind {a} with folio 0, which sum receipts up and were left out: {b}",
        "filas de clase {a} con folio 0, que resumen boletas y quedaron fuera: {b}",
    ),
    (
        "rows of a further tax, which the total of the document above them holds: {a}",
        "filas de otro impuesto, que ya está en el total del documento de arriba: {a}",
    ),
    (
        "rows of sheet {a} hidden by hand or by a filter, and read like the others: {b}",
        "filas de la hoja {a} ocultas a mano o por un filtro, leídas como las demás: {b}",
    ),
    (
        "formulas of sheet {a} without a value, read as empty cells: {b}; open the file in a spreadsheet and save it",
        "fórmulas de la hoja {a} sin valor, leídas como vacías: {b}; abra el archivo en una planilla y guárdelo",
    ),
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
    # the provider's report of a payout
    (
        "already imported on {a} UTC for {b}, nothing changed",
        "este archivo ya se trajo el {a} UTC para {b}; no cambió nada",
    ),
    ("is not a whole number of the smallest unit", "no es un número entero de la unidad menor"),
    ("is no item of payout {a}", "no es un movimiento de la liquidación {a}"),
    ("the provider's API says {a}", "la API del proveedor dice {a}"),
    ("is an item of payout {a} and not in the file", "es un movimiento de la liquidación {a} y no está en el archivo"),
    (
        "its {a} rows are the items of {b} payouts we know: pull payouts, or give --payout",
        "sus {a} filas son los movimientos de {b} liquidaciones conocidas: traiga primero las liquidaciones",
    ),
    (
        "the header must name {a}: this is not the provider's payout report",
        "faltan columnas ({a}): este no es el reporte de liquidación del proveedor",
    ),
    ("the report has no rows", "el reporte no trae filas"),
)
