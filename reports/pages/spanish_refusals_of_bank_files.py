"""Why a bank file cannot go into the books, in Spanish: English with holes, as the books say it, beside its Spanish."""

SPANISH_REFUSALS_OF_BANK_FILES = (
    (
        "no row names a date and an amount (or credit and debit) column: save a mapping, or use MT940 or camt.053",
        "ninguna fila nombra una fecha y un monto (o abono y cargo): guarde un mapeo, o use MT940 o camt.053",
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
        "no payout we know goes to this account; payouts go to another one with the same last digits",
        "ninguna liquidación conocida llega a esta cuenta; llegan a otra con los mismos últimos dígitos",
    ),
    (
        "no payout we know goes to this account; payouts go to accounts ending in {a}",
        "ninguna liquidación conocida llega a esta cuenta; llegan a cuentas terminadas en {a}",
    ),
    (
        "a statement states no {a} balance, so nobody can tell whether lines are missing",
        "una cartola no dice el saldo {a}, así que no se puede saber si faltan líneas",
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
    (
        "stands beside a charge: a line is one of the two",
        "está junto a un cargo: una línea es abono o cargo, no ambos",
    ),
    (
        "a statement states no {a} balance ({b}), so nobody can tell whether lines are missing",
        "una cartola no dice el saldo {a} ({b}), así que no se puede saber si faltan líneas",
    ),
    (
        "the file is not a bank statement (camt.053): it has no BkToCstmrStmt",
        "el archivo no es una cartola camt.053: no tiene BkToCstmrStmt",
    ),
    ("the file holds no statement (Stmt)", "el archivo no trae ninguna cartola (Stmt)"),
    ("a balance or an entry has no amount (Amt)", "un saldo o un movimiento no trae monto (Amt)"),
    (
        "it says no day ({a}): ask the bank for statements that do",
        "no dice el día ({a}): pida al banco cartolas que lo digan",
    ),
    (
        "the file declares entities or a document type, which no bank file needs",
        "el archivo declara entidades o un tipo de documento, que ningún archivo de banco necesita",
    ),
    ("the file is not XML that can be read: {a}", "el archivo no es un XML que se pueda leer: {a}"),
    ("the file is not MT940 that can be read: {a}", "el archivo no es un MT940 que se pueda leer: {a}"),
    (
        "the file has {a} lines (:61:) and {b} can be read: one is not written as MT940",
        "el archivo tiene {a} líneas (:61:) y se pueden leer {b}: alguna no está escrita como MT940",
    ),
    ("{a} {b} is not a day", "{a} {b} no es un día"),
    ("an amount is in {a} in a statement of {b}", "un monto está en {a} en una cartola de {b}"),
    ("an amount says {a} where CRDT or DBIT must stand", "un monto dice {a} donde va CRDT o DBIT"),
    ("an amount cannot be read: {a}", "un monto no se puede leer: {a}"),
)
