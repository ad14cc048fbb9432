"""Why a file of documents or a payout report cannot go into the books, in Spanish beside its English with holes."""

SPANISH_REFUSALS_OF_DOCUMENTS = (
    (
        "the column says that these are purchases: import the register of sales",
        "la columna dice que son compras: traiga el registro de ventas",
    ),
    (
        "the column names {a} issuers: own sales have one, so import those issued alone",
        "la columna nombra {a} emisores: las ventas propias tienen uno, traiga solo lo emitido",
    ),
    (
        "the merchant is {a}, and this issuer is not: import what the merchant issued",
        "el comercio es {a} y este emisor no: traiga lo que emitió el comercio",
    ),
    (
        "the parts add up to {a} ({b}) and the total is {c}",
        "las partes suman {a} ({b}) y el total es {c}",
    ),
    (
        "the column may be the net or the total: name it Monto total, or save a mapping that says total",
        "la columna puede ser el neto o el total: llámela Monto total o guarde un mapeo que diga total",
    ),
    (
        "no row holds four known column names: use the canonical header or save a mapping",
        "ninguna fila trae cuatro encabezados conocidos: use los encabezados usuales o guarde un mapeo",
    ),
    ("the file has no such column; it is often called {a}", "falta esta columna; suele llamarse {a}"),
    ("the file has neither a folio nor a UUID column", "el archivo no trae columna de folio ni de UUID"),
    ("is not a kind of document known in {a} ({b})", "no es una clase de documento conocida en {a} ({b})"),
    (
        "is not a known state: valid (vigente, emitida, aceptada, active) or void (anulada, cancelado)",
        "no es un estado conocido: vigente (emitida, aceptada) o anulada (cancelado)",
    ),
    ("the row has no folio and no UUID", "la fila no trae folio ni UUID"),
    ("is not a UUID of 36 characters", "no es un UUID de 36 caracteres"),
    ("holds no folio number", "no trae un número de folio"),
    ("is 0, which no document has", "es 0, y ningún documento tiene ese folio"),
    (
        "lines {a} state this document differently ({b}): neither is used",
        "las líneas {a} dicen cosas distintas de este documento ({b}): no se usa ninguna",
    ),
    (
        "the total row does not agree: the rows above add up to {a}",
        "la fila de totales no coincide: las filas de arriba suman {a}",
    ),
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
        "documents whose parts do not add up to their total, accepted as they stand: {a}",
        "documentos cuyas partes no suman su total, aceptados como vienen: {a}",
    ),
    (
        "the merchant's own tax id is not known, so nothing shows that the issuer is the merchant: set tax_id",
        "no se conoce el RUT o RFC del comercio, así que no se comprobó que el emisor sea el comercio: defina tax_id",
    ),
    # the provider's report of a payout
    (
        "takes the place of {a} of {b} UTC for {c}",
        "reemplaza a {a} del {b} UTC en {c}",
    ),
    (
        "meanwhile {a} brought the fees of {b}: compare and confirm again",
        "mientras usted miraba, {a} trajo las comisiones de {b}: compare y confirme otra vez",
    ),
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
    (
        "two columns are called {a}: rename or delete the one that is not meant",
        "dos columnas se llaman {a}: cambie el nombre o borre la que sobra",
    ),
)
