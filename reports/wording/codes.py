"""What each exception means and asks for, in a reader's words; pure."""

from dataclasses import dataclass

from reports.shapes.dialects import local


@dataclass(frozen=True, slots=True)
class Words:
    """Titles in both languages; the Spanish action, since the English one comes with the exception."""

    en: str
    es: str
    action_es: str


CODES = {
    "PAYOUT_IDENTITY": Words(
        "The payout does not add up",
        "La liquidación no suma",
        "Comparar con el reporte del proveedor y preguntarle por la diferencia",
    ),
    "PAYOUT_LATE": Words("Payout late", "Liquidación atrasada", "Preguntar al proveedor cuándo llegará"),
    "PAYOUT_NOT_IN_BANK": Words(
        "Payout not in the bank",
        "Liquidación no llegó al banco",
        "Revisar la cuenta receptora y pedir al proveedor el comprobante",
    ),
    "PAYOUT_RETURNED": Words(
        "Payout returned",
        "Liquidación devuelta",
        "Revisar los datos de la cuenta con el proveedor; los movimientos esperan otra liquidación",
    ),
    "BANK_AMOUNT_DIFF": Words(
        "Bank received another amount",
        "El banco recibió otro monto",
        "Comparar con la cartola y preguntar al banco por cargos",
    ),
    "BANK_SOURCES_DIFFER": Words(
        "Movements and bank file differ",
        "Los movimientos y la cartola difieren",
        "Comparar las líneas con la cartola del banco; traer de nuevo los movimientos o importar el archivo correcto",
    ),
    "FEE_OUT_OF_BAND": Words(
        "Fee out of the ordinary",
        "Comisión fuera de rango",
        "Comparar la comisión con el contrato y pedir la corrección",
    ),
    "PAYMENT_NO_INVOICE": Words(
        "Payment without a document",
        "Pago sin documento",
        "Buscar o emitir el documento, importarlo, o conciliar a mano",
    ),
    "INVOICE_NO_PAYMENT": Words(
        "Overdue document without payment", "Documento vencido sin pago", "Cobrar al cliente o conciliar un pago a mano"
    ),
    "AMOUNT_DIFF": Words(
        "Amount differs from the document",
        "Monto distinto al documento",
        "Cobrar o devolver la diferencia, o aceptarla con un motivo",
    ),
    "CURRENCY_DIFF": Words(
        "Another currency than the document or the payout",
        "Moneda distinta al documento o a la liquidación",
        "Conciliar a mano con el tipo de cambio acordado o corregir el documento; "
        "preguntar al proveedor cuánto pagó la liquidación por él",
    ),
    "CUSTOMER_DIFF": Words(
        "Another customer than the document", "Cliente distinto al documento", "Revisar si uno paga por el otro"
    ),
    "AMBIGUOUS": Words(
        "Several documents fit", "Varios documentos calzan", "Preguntar al cliente cuál pagó y conciliar a mano"
    ),
    "DUPLICATE_PAYMENT": Words(
        "Document paid twice", "Documento pagado dos veces", "Reembolsar el pago o conciliarlo con otro documento"
    ),
    "PAID_CANCELLED_DOC": Words(
        "Payment of a void document",
        "Pago de un documento anulado",
        "Emitir de nuevo el documento o reembolsar el pago",
    ),
    "REFUND_NO_CREDIT_NOTE": Words(
        "Refund without a credit note", "Reembolso sin nota de crédito", "Emitir la nota de crédito"
    ),
    "CREDIT_NOTE_NO_REFUND": Words(
        "Credit note without a refund",
        "Nota de crédito sin reembolso",
        "Reembolsar al cliente o aplicar la nota a otro documento",
    ),
    "SPLIT_MISMATCH": Words(
        "Split does not add up", "La división del pago no suma", "Preguntar al proveedor cómo se dividió el pago"
    ),
    "ITEM_IN_TWO_PAYOUTS": Words(
        "Item in two payouts", "Movimiento en dos liquidaciones", "Avisar al proveedor: una de las dos será descontada"
    ),
    "ITEM_IN_NO_PAYOUT": Words(
        "Item in no payout", "Movimiento sin liquidación", "Preguntar al proveedor en qué liquidación quedó"
    ),
    "TRANSFER_RETURNED": Words(
        "Transfer returned", "Transferencia devuelta", "Revisar los datos de la cuenta y enviar otra vez"
    ),
    "DISPUTE_LOST": Words(
        "Dispute lost",
        "Disputa perdida",
        "Cobrar otra vez el documento, emitir su nota de crédito o aceptar la pérdida con un motivo",
    ),
    "DISPUTE_OPEN": Words(
        "Dispute open",
        "Disputa abierta",
        "Enviar al proveedor lo que prueba la venta antes del plazo; en revisión, esperar su respuesta",
    ),
    "EVENT_CONFLICT": Words(
        "Event told in two ways",
        "Evento con dos versiones",
        "Comparar ambas versiones con el proveedor y repetir la correcta",
    ),
    "DATA_GAP": Words("Data missing", "Faltan datos", "Completar los datos y conciliar otra vez"),
    "RATE_MISSING": Words("Exchange rate missing", "Falta tipo de cambio", "Cargar el tipo de cambio"),
    "CALENDAR_GAP": Words(
        "Day missing in the calendar", "Falta un día en el calendario", "Completar el calendario bancario"
    ),
}

# Actions that one case of a code asks for, by the English one.
_OTHER_ACTIONS = {
    "Refund the payment, or issue the document again: the customer's document of this amount is void": (
        "Reembolsar el pago o emitir de nuevo el documento: el del cliente por este monto está anulado"
    ),
}


def code_title(code: str, language: str) -> str:
    if code not in CODES:
        return code
    return CODES[code].en if language == "en" else local(CODES[code].es, language)


def title_of(stored: str, language: str, code: str) -> str:
    """Say a stored title, which is English; what a code of tomorrow says stays in English."""
    return stored if language == "en" or code not in CODES else local(CODES[code].es, language)


def action_of(stored: str, language: str, code: str) -> str:
    if language == "en" or code not in CODES:
        return stored
    return local(_OTHER_ACTIONS.get(stored, CODES[code].action_es), language)
