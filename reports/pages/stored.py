"""Words for what is stored as a key, in both languages: states, outcomes, kinds, headings of lists, short notices."""

from reports.wording.vocabulary import WORDS

# English first, then Spanish.
_TEXTS = {
    "role.viewer": ("Viewer", "Lectura"),
    "role.finance": ("Finance", "Finanzas"),
    "role.admin": ("Admin", "Administración"),
    "people.lead": (
        "They are added and removed with cuadre users and cuadre tokens.",
        "Se agregan y quitan con cuadre users y cuadre tokens.",
    ),
    "login.failed": (
        "Wrong email or password. After five failed attempts an account is locked for 15 minutes.",
        "Correo o contraseña incorrectos. Tras cinco intentos fallidos, la cuenta se bloquea 15 minutos.",
    ),
    "login.shut": (
        "Too many failed attempts from this address. Wait a quarter of an hour.",
        "Demasiados intentos fallidos desde esta dirección. Espere un cuarto de hora.",
    ),
    "welcome.lead": (
        "Nobody can log in here yet. Who opens this link first becomes the administrator.",
        "Todavía nadie puede entrar aquí. Quien abre primero este enlace queda como administrador.",
    ),
    "done.assign": ("Assigned.", "Asignada."),
    "done.note": ("The note is kept.", "Nota guardada."),
    "done.resolve": ("Resolved.", "Resuelta."),
    "done.reopen": ("Open again.", "Abierta otra vez."),
    "done.match": ("Matched by hand; the next run shows it.", "Conciliado a mano; se verá en la próxima corrida."),
    "done.unmatch": ("Kept apart; the next run shows it.", "Separado; se verá en la próxima corrida."),
    "done.withdraw": ("Taken back; the next run shows it.", "Deshecho; se verá en la próxima corrida."),
    "done.adjust": ("Accepted; the next run shows it.", "Aceptado; se verá en la próxima corrida."),
    "done.decline": ("This pair will not be proposed again.", "Este par no se propondrá más."),
    "done.import": (
        "{name} is in the books. The next run counts with it.",
        "{name} quedó en los libros. La próxima corrida lo toma en cuenta.",
    ),
    "done.close": ("The days are closed.", "Los días quedaron cerrados."),
    "done.reopen period": ("The period is open again.", "El período quedó abierto otra vez."),
    "upload.gone": (
        "There is no such file to confirm: it was confirmed already, or it waited too long. Bring it again.",
        "No hay tal archivo por confirmar: ya se confirmó o esperó demasiado. Tráigalo otra vez.",
    ),
    "upload.lead": (
        "CSV or XLSX of your own system; from the bank also MT940 or camt.053. It goes in whole or not at all.",
        "CSV o XLSX de su sistema; del banco también MT940 o camt.053. Entra completo o no entra.",
    ),
    "undo.note": (
        "Undo gives the word back to the rules. Unmatch keeps the two apart on every later run.",
        "Deshacer devuelve la palabra a las reglas. Separar los mantiene aparte en todas las corridas siguientes.",
    ),
    "keep.note": (
        "A kept file is not undone: runs, closings and decisions may rest on its rows. Compare before you confirm.",
        "Un archivo guardado no se deshace: corridas, cierres y decisiones pueden apoyarse en él. Compare antes.",
    ),
    "periods.lead": (
        "A closed day keeps its figures. What arrives later becomes an adjustment beside them; the figures stay.",
        "Un día cerrado conserva sus cifras. Lo que llega después queda al lado como ajuste; las cifras no cambian.",
    ),
    "close.note": (
        "The books are reconciled once more first: up to a minute. After it nobody matches or accepts in these days.",
        "Antes se concilia una vez más, lo que puede tomar un minuto. Después nadie concilia ni acepta en esos días.",
    ),
    "reopen.note": (
        "Only an administrator can. The closing stays in the history with its reason.",
        "Solo puede un administrador. El cierre queda en la historia con su motivo.",
    ),
    "list.decisions": (
        "What people decided about payments and documents, and whether it still holds.",
        "Lo que las personas decidieron sobre pagos y documentos, y si sigue vigente.",
    ),
    "list.closed-figures": (
        "Each payout, item and document as it stood when its days were closed. A number searches for a period.",
        "Cada liquidación, movimiento y documento como estaba al cerrar sus días. Un número busca un período.",
    ),
    "list.adjustments": (
        "What later runs found otherwise in closed days. A number searches for a period.",
        "Lo que corridas posteriores encontraron distinto en días cerrados. Un número busca un período.",
    ),
    "list.gaps": (
        "What was asked for and has not come in full. What a run lacks besides is among the exceptions: Data missing.",
        "Lo que se pidió y no llegó completo. Lo demás que le falta a una corrida está en Excepciones: Faltan datos.",
    ),
    "accept.totals": (
        "The parts of these documents do not add up to their totals. If the totals are right all the same, tick it.",
        "Las partes de estos documentos no suman su total. Si los totales igual están bien, márquelo.",
    ),
    "counted.added": ("New", "Nuevas"),
    "counted.changed": ("Changed", "Cambiadas"),
    "counted.unchanged": ("As known", "Ya conocidas"),
    "total.fee_total": ("Fees with VAT", "Comisiones con IVA"),
    "total.fee_total_before": ("Fees known so far", "Comisiones hasta ahora"),
    "total.net": ("Net", "Neto"),
    "total.exempt": ("Exempt", "Exento"),
    "total.vat": ("VAT", "IVA"),
    "total.total": ("Total", "Total"),
    "total.opening": ("Opening", "Saldo inicial"),
    "total.inbound": ("In", "Abonos"),
    "total.outbound": ("Out", "Cargos"),
    "total.closing": ("Closing, added up", "Saldo final sumado"),
    "total.closing_stated": ("Closing, as the bank says", "Saldo final del banco"),
    "sheet.lead": (
        "Fill in owner, state with its resolution, note, or the document to match. A stale row is refused alone.",
        "Llene responsable, estado con su resolución, nota, o el documento. Una fila atrasada se rechaza sola.",
    ),
    "sheet.owner": ("owner", "responsable"),
    "sheet.note": ("note", "nota"),
    "sheet.state": ("state", "estado"),
    "sheet.match_to": ("matched by hand", "conciliada a mano"),
    "trouble.conflicts": (
        "{n} known events came again with another meaning: the first was kept; look at each.",
        "{n} eventos conocidos llegaron otra vez con otro contenido: se conservó el primero; revise cada uno.",
    ),
    "trouble.events": (
        "{n} events could not be applied and were set aside: mend the cause and apply them again.",
        "{n} eventos no se pudieron aplicar y quedaron apartados: corrija la causa y aplíquelos de nuevo.",
    ),
    "errand.pull": ("Started. It is in this list until it is done.", "Empezó. Está en esta lista hasta que termine."),
    "errand.backfill": (
        "Started. It is in this list until it is done.",
        "Empezó. Está en esta lista hasta que termine.",
    ),
    "trail.lead": (
        "who logged in, downloaded, decided or set something going.",
        "quién entró, descargó, decidió o puso algo en marcha.",
    ),
    "late.note": (
        "From the time the event names to its arrival here. A history that is sent again, as in a demo, looks late.",
        "Desde la hora que dice el evento hasta su llegada. Una historia reenviada, como en una demo, se ve tarde.",
    ),
    "reports.lead": (
        "Files are made when you download them, from the data of the latest run.",
        "Los archivos se generan al descargarlos, con los datos de la última corrida.",
    ),
    "frozen.payout": ("Payouts", "Liquidaciones"),
    "frozen.item": ("Items", "Movimientos"),
    "frozen.document": ("Documents", "Documentos"),
    "change.opened": ("opened", "se abrió"),
    "change.gone": ("gone from the data", "ya no aparece en los datos"),
    "change.reopened": ("opened again", "se abrió otra vez"),
    "change.amount": ("amount at risk", "cambió el monto en riesgo"),
    "change.owner": ("owner", "responsable"),
    "change.note": ("note", "nota"),
    "change.state": ("state", "estado"),
    "change.resolution": ("resolution", "motivo"),
    "change.resolved_on": ("resolved on", "fecha de cierre"),
    "settings.lead": (
        "Secrets are not shown. They are changed in the environment or in cuadre.toml.",
        "Los secretos no se muestran. Se cambian en el entorno o en cuadre.toml.",
    ),
    "state.open": ("Open", "Abiertas"),
    "state.closed": ("Resolved", "Resueltas"),
    "state.all": ("All", "Todas"),
}

STORED = {**_TEXTS, **{f"{group}.{key}": words for group, known in WORDS.items() for key, words in known.items()}}
