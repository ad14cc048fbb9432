"""What a workbook for people says it was made from: facts, tolerances and digests in words; pure."""

from reports.shapes.dialects import say
from reports.wording.machinery import stream
from reports.wording.vocabulary import word

# What a report was made from; English, then Spanish.
_FACTS = {
    "runs": ("Runs (id)", "Corridas (id)"),
    "run_numbers": ("Runs", "Corridas"),
    "connections": ("Connections", "Conexiones"),
    "countries": ("Countries", "Países"),
    "modes": ("Mode", "Modo"),
    "zones": ("Time zones", "Zonas horarias"),
    "calendars": ("Calendars", "Calendarios"),
    "incomplete": ("Incomplete runs", "Corridas incompletas"),
    "missing": ("Without a run", "Sin corrida"),
    "rounding": ("Rounding", "Redondeo"),
    "tolerance": ("Rule", "Regla"),
    "sha256": ("SHA-256 of the data", "SHA-256 de los datos"),
}
_COUNTRIES = {"cl": ("Chile", "Chile"), "mx": ("Mexico", "México")}
# By a rule's name, with the unit of its number; one whose name ends in bps is a share.
_RULES = {
    "amount_tolerance": (
        "amounts differ by at most, smallest units",
        "diferencia de monto aceptada, en unidades menores",
    ),
    "bank_amount_bps": ("the bank's amount is near up to", "diferencia con el banco para ser el mismo abono"),
    "days_after_due": ("payments count after the due day, bank days", "pagos tras el vencimiento, en días bancarios"),
    "days_before_issue": ("payments count before the issue, bank days", "pagos antes de la emisión, en días bancarios"),
    "days_to_bank": (
        "a payout is missing at the bank after, bank days",
        "plazo para llegar al banco, en días bancarios",
    ),
    "days_to_deadline": (
        "a dispute is urgent before its deadline, bank days",
        "una disputa urge antes de su plazo, en días bancarios",
    ),
    "days_to_late": ("a payout is late after, bank days", "plazo para estar atrasada, en días bancarios"),
    "days_to_payout": ("an item is paid out within, bank days", "plazo para ser liquidado, en días bancarios"),
    "due_days": ("days to the due day where none is written", "días al vencimiento cuando no está escrito"),
    "fee_band_bps": ("fees are expected up to", "comisión esperada hasta"),
    "fee_tolerance": ("fees differ by at most, smallest units", "diferencia de comisión aceptada, en unidades menores"),
    "set_chance_bps": ("a set may fit by chance up to", "azar admitido en que calce un conjunto, hasta"),
    "set_pool": ("documents among which sets are looked for", "documentos entre los que se busca un conjunto"),
    "set_size": ("documents of a set, at most", "documentos de un conjunto, a lo más"),
    "short_payment_bps": ("a short payment is told up to", "pago de menos que se avisa, hasta"),
}
_INPUTS = {
    "bank": ("Bank lines", "Movimientos bancarios"),
    "conflicts": ("Events with two versions", "Eventos con dos versiones"),
    "decisions": ("Decisions", "Decisiones"),
    "documents": ("Documents", "Documentos"),
    "fees": ("Fees of the provider's reports", "Comisiones de los reportes del proveedor"),
    "gaps": ("Gaps", "Vacíos"),
    "items": ("Items", "Movimientos"),
    "rates": ("Exchange rates", "Tipos de cambio"),
    "unknown_customers": ("Payments whose customer is not here", "Pagos cuyo cliente no está aquí"),
}


def fact(key: str, language: str) -> str:
    """Name a fact; what follows its first word names the connection and the part that it is about."""
    first, _, rest = key.partition(" ")
    connection, _, part = rest.partition(" ")
    name = say(_RULES, part, language) if first == "tolerance" else _input(part, language)
    return ", ".join(filter(None, (say(_FACTS, first, language), connection, name)))


def told(key: str, value: str, language: str) -> str:
    """Say what a fact holds."""
    match key.partition(" ")[0]:
        case "modes":
            return ", ".join(word("mode", mode, language) for mode in value.split())
        case "countries":
            return ", ".join(say(_COUNTRIES, code, language) for code in value.split("-"))
        case "calendars":
            return _calendars(value, language)
        case "tolerance" if key.endswith("_bps"):
            return _share(value, language)
        case "rounding" if language != "en":
            return "mitades hacia arriba, a la unidad menor de la moneda"
    return value


def _calendars(value: str, language: str) -> str:
    """Say of each `holidays 0.109 cl` the country before the edition of its bank days."""
    parts = (calendar.rpartition(" ") for calendar in value.split("; "))
    return "; ".join(f"{say(_COUNTRIES, code, language)} ({edition})".replace(" ()", "") for edition, _, code in parts)


def _share(text: str, language: str) -> str:
    """Say hundredths of a percent."""
    whole, part = divmod(int(text), 100)
    share = f"{whole}.{part:02d}".rstrip("0").rstrip(".") if part else str(whole)
    return f"{share.replace('.', ',') if language == 'es-CL' else share} %"


def _input(name: str, language: str) -> str:
    return say(_INPUTS, name, language) if name in _INPUTS else stream(name, language)
