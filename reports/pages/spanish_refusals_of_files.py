"""Why any file cannot go into the books, in Spanish: English with holes, as the books say it, beside its Spanish."""

SPANISH_REFUSALS_OF_FILES = (
    (
        "already imported on {a} UTC as {b}, nothing changed; totals accepted as they stood: {c}",
        "este archivo ya se trajo el {a} UTC como {b}, con totales aceptados como venían: {c}; no cambió nada",
    ),
    (
        "already imported on {a} UTC as {b}, nothing changed",
        "este archivo ya se trajo el {a} UTC como {b}; no cambió nada",
    ),
    ("the file is empty", "el archivo está vacío"),
    (
        "has more than {a} characters, which no cell of a spreadsheet holds: shorten it",
        "tiene más de {a} caracteres, y ninguna celda de una planilla los guarda: acórtelo",
    ),
    ("the file cannot be read: {a}", "el archivo no se puede leer: {a}"),
    ("the file is not text: save it as CSV or XLSX", "el archivo no es texto: guárdelo como CSV o XLSX"),
    (
        "the file is neither UTF-8, UTF-16 nor Windows text: save it as CSV UTF-8 or XLSX",
        "el archivo no es texto UTF-8, UTF-16 ni de Windows: guárdelo como CSV UTF-8 o XLSX",
    ),
    (
        "the workbook numbers a row beyond the last one a sheet has: save it again as XLSX or CSV",
        "el libro numera una fila más allá de la última que tiene una hoja: guárdelo otra vez como XLSX o CSV",
    ),
    (
        "the workbook has a cell with more text than a cell can hold: save it again as CSV",
        "el libro tiene una celda con más texto del que cabe en una celda: guárdelo otra vez como CSV",
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
        "the workbook lists documents on {a} sheets ({b}): save each alone",
        "la planilla trae documentos en {a} hojas ({b}): guarde cada una aparte",
    ),
    (
        "the workbook unfolds to {a} MB: save it as CSV or split it",
        "la planilla ocupa {a} MB: guárdela como CSV o divídala",
    ),
    (
        "sheet {a} has more than {b} cells, empty ones too: delete the empty columns on the right, or save it as CSV",
        "la hoja {a} tiene más de {b} celdas, con las vacías: borre las columnas de la derecha o guárdela como CSV",
    ),
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
    # one cell of it
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
    (
        "is no day of trade: leave it empty where there is none",
        "no es un día de operaciones: déjelo vacío donde no lo hay",
    ),
    ("is no day of the calendar (written {a})", "no es un día del calendario (escrito {a})"),
    # how marks and days are called in it
    ("comma", "coma"),
    ("point", "punto"),
    ("yyyy-mm-dd", "aaaa-mm-dd"),
    ("dd-mm-yyyy", "dd-mm-aaaa"),
    ("dd/mm/yyyy", "dd/mm/aaaa"),
    ("dd.mm.yyyy", "dd.mm.aaaa"),
    ("yyyy/mm/dd", "aaaa/mm/dd"),
    ("yyyymmdd", "aaaammdd"),
    ("dd-mmm-yyyy", "dd-mmm-aaaa"),
    ("is not a known currency ({a})", "no es una moneda conocida ({a})"),
    ("is how a program writes nothing: empty the cell", "es como un programa escribe nada: vacíe la celda"),
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
    # what is said of a file that goes in
    (
        "rows of sheet {a} hidden by hand or by a filter, and read like the others: {b}",
        "filas de la hoja {a} ocultas a mano o por un filtro, leídas como las demás: {b}",
    ),
    (
        "formulas of sheet {a} without a value, read as empty cells: {b}; open the file in a spreadsheet and save it",
        "fórmulas de la hoja {a} sin valor, leídas como vacías: {b}; abra el archivo en una planilla y guárdelo",
    ),
    (
        "the file has more than {a} lines: remove the empty ones or split it",
        "el archivo tiene más de {a} líneas: quite las vacías o divídalo",
    ),
    (
        "{a} has more than {b}: is a quotation mark left open?",
        "{a} tiene más de {b}: ¿quedó abierta una comilla?",
    ),
    (
        "{a} is not a name of a mapping: use letters, digits, - and _",
        "{a} no es nombre de un encabezado guardado: use letras, números, - y _",
    ),
    (
        "there is no mapping {a}: write {b} into the mappings folder",
        "no hay encabezado guardado {a}: escriba {b} en la carpeta mappings",
    ),
    ("the mapping {a} cannot be read: {b}", "el encabezado guardado {a} no se puede leer: {b}"),
    ("{a}: {b} is not a field; fields are {c}", "{a}: {b} no es un campo; los campos son {c}"),
    ("{a}: {b} must name a column of the file", "{a}: {b} debe nombrar una columna del archivo"),
    ("is longer than {a} characters", "tiene más de {a} caracteres"),
    ("begins with {a}, but its series is {b}", "empieza con {a}, pero su serie es {b}"),
    ("must say yes or no", "debe decir sí o no"),
)
