"""Why something cannot be done, in Spanish: English with holes, as the rooms say it, beside its Spanish."""

SPANISH_REFUSALS = (
    (
        "the kept rows of run {a} of {b} (piece {c}, {d}) are damaged: restore the database, or wait for the next run",
        "las filas de la corrida {a} de {b} (parte {c}, {d}) están dañadas: restaure la base, o espere la próxima",
    ),
    ("{a} is void: match the document that replaced it", "{a} está anulado: concilie el documento que lo reemplazó"),
    ("{a} is in {b}, {c} in {d}", "{a} está en {b} y {c} en {d}: son monedas distintas"),
    (
        "the amount must be more than zero and at most that of {a}",
        "el monto debe ser mayor que cero y a lo más el de {a}",
    ),
    ("an adjustment is about one document or one payment", "un ajuste es de un documento o de un pago, no de ambos"),
    (
        "a payment that needs no document is accepted whole: give no amount",
        "un pago que no necesita documento se acepta entero: deje el monto vacío",
    ),
    (
        "an adjustment is more than zero and at most the total of {a}",
        "un ajuste es mayor que cero y a lo más el total de {a}",
    ),
    ("exception {a} is resolved already ({b})", "la excepción {a} ya está resuelta ({b})"),
    (
        "{a} is the word of the runs: say why the exception needs no more work",
        "{a} es palabra de las corridas: diga por qué la excepción ya no requiere trabajo",
    ),
    ("exception {a} is open already", "la excepción {a} ya está abierta"),
    (
        "somebody decided about {a} meanwhile (decision {b}): look again",
        "alguien decidió sobre {a} mientras usted miraba (decisión {b}): mire otra vez",
    ),
    (
        "nothing decided about {a} and {b} holds: there is nothing to take back",
        "no vale ninguna decisión sobre {a} y {b}: no hay nada que deshacer",
    ),
    (
        "nothing decided about {a} holds: there is nothing to take back",
        "no vale ninguna decisión sobre {a}: no hay nada que deshacer",
    ),
    ("{a} of {b} and {c} stands already", "la decisión sobre {b} y {c} ya estaba tomada"),
    ("{a} of {b} stands already", "la decisión sobre {b} ya estaba tomada"),
    (
        "{a} belongs to the days up to {b}, which {c} closed: cuadre periods reopen",
        "{a} pertenece a los días hasta el {b}, que {c} cerró: para cambiarlo hay que reabrir ese período",
    ),
    (
        "exception {a} was changed meanwhile (version {b}, not {c}): look again",
        "otra persona cambió la excepción {a} mientras usted miraba (versión {b}, no {c}): mire otra vez",
    ),
    (
        "exception {a} was changed meanwhile (version {b}): look again",
        "otra persona cambió la excepción {a} después de la descarga (versión {b}): mire otra vez",
    ),
    (
        "exception {a} was changed meanwhile: look again",
        "otra persona cambió la excepción {a} mientras usted miraba: mire otra vez",
    ),
    ("a decision needs its author", "una decisión necesita un autor"),
    ("a decision needs a reason", "falta el motivo"),
    ("a reason has at most {a} characters", "un motivo tiene a lo más {a} caracteres"),
    ("there is no exception {a} in connection {b}", "no existe la excepción {a} en la conexión {b}"),
    ("there is no payment {a} in connection {b}", "no existe el pago {a} en la conexión {b}"),
    ("there is no document {a} in connection {b}", "no existe el documento {a} en la conexión {b}"),
    # the sheet
    ("the row ends before {a}: export the sheet again", "la fila termina antes de {a}: descargue la planilla otra vez"),
    (
        "exception {a} has a resolution and is still {b}: set its state too, or leave it empty",
        "la excepción {a} trae una resolución y sigue abierta: cambie también el estado, o deje la resolución vacía",
    ),
    ("state {a} is neither open nor resolved", "el estado {a} no es «abierta» ni «resuelta»"),
    (
        "exception {a} is about no payment: {b} stays empty",
        "la excepción {a} no es de un pago: deje vacía la columna «Conciliar con (documento)»",
    ),
    (
        "version {a} is not a number: export the sheet again",
        "la versión {a} no es un número: descargue la planilla otra vez",
    ),
    ("there is no connection {a}", "no existe la conexión {a}"),
    ("name its connection: {a}", "diga de qué conexión es: {a}"),
    (
        "the header must name {a}: export the work list and fill that sheet in",
        "este archivo no es la planilla de excepciones (faltan columnas): descárguela y llene esa",
    ),
    # periods
    (
        "the newest run is incomplete (DATA_GAP): a period is closed on complete data only",
        "la última corrida está incompleta (faltan datos): un período solo se cierra con datos completos",
    ),
    (
        "the data of {a} is incomplete (DATA_GAP): a period is closed on complete data only",
        "los datos del {a} están incompletos: un período solo se cierra con datos completos",
    ),
    ("the days up to {a} are closed already", "los días hasta el {a} ya están cerrados"),
    ("no period is closed", "no hay ningún período cerrado"),
    ("closing and reopening need an author", "cerrar y reabrir necesitan un autor"),
    ("closing and reopening need a reason", "falta el motivo"),
    (
        "the data is not complete up to today (DATA_GAP): complete it, or close with --as-of an earlier day that is",
        "los datos no están completos hasta hoy: complételos, o cierre por consola con --as-of un día que lo esté",
    ),
    (
        "{a} is not over yet: close up to {b} at the latest",
        "el {a} todavía no termina: cierre a más tardar hasta el {b}",
    ),
    (
        "a run as of {a} stands for no later day: close up to {b} at the latest",
        "una corrida al {a} no responde por días posteriores: cierre a más tardar hasta el {b}",
    ),
    (
        "facts came in while the period was being closed: close it again",
        "llegaron datos mientras se cerraba el período: ciérrelo otra vez",
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
