"""Evidence of an exception in a reader's words: names said, whole numbers told apart as amounts or counts. Pure."""

import re
from datetime import date, datetime
from typing import Any

import msgspec

from consumer.facts.columns import Kind, kind_of
from reports.shapes import notation
from reports.shapes.dialects import local
from reports.wording import phrases
from reports.wording.codes import code_title
from reports.wording.vocabulary import word

_RULES = {"rule", "key"}
# Texts that rules write; all others are names, which stay as they are whatever they look like.
_SENTENCES = {"failed", "would_decide", "document_state", "reason", "sets", "parts"}
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
_GROUPS = {
    "direction": "direction", "dispute_state": "dispute", "fee_source": "fee", "return_reason": "return",
    "status": "transfer",
}  # fmt: skip
_decode = msgspec.json.Decoder(dict[str, Any]).decode
_SPANISH = {
    "adjustments": "ajustes",
    "amount_difference": "diferencia de monto",
    "calendar": "calendario",
    "dates": "fechas",
    "direction": "sentido",
    "doc_type": "tipo de documento",
    "failed": "lo que falla",
    "folio": "folio",
    "order_id": "pedido",
    "order_ref": "pedido",
    "paid_by": "pagado por",
    "paid_on": "pagado el",
    "return_code": "código de devolución",
    "return_reason": "motivo de la devolución",
    "returned_at": "devuelta el",
    "window_ends": "la ventana termina el",
    "window_starts": "la ventana empieza el",
    "withheld": "se retiene",
    "year": "año",
    "currency": "moneda",
    "day": "día",
    "named_documents": "documentos nombrados",
    "only_in_the_report": "solo en el archivo del proveedor",
    "reason": "motivo",
    "since": "desde",
    "until": "hasta",
    "account": "cuenta",
    "amount": "monto",
    "another_payment_wants_one": "otro pago quiere uno de ellos",
    "bank_amount": "monto en el banco",
    "bank_date": "fecha en el banco",
    "bank_days_left": "días hábiles que quedan",
    "candidates": "candidatos",
    "charges": "cargos",
    "computed": "calculado",
    "credit_note": "nota de crédito",
    "credit_notes": "notas de crédito",
    "credited": "acreditado",
    "customer": "cliente",
    "difference": "diferencia",
    "dispute_state": "estado de la disputa",
    "disputes": "disputas",
    "document": "documento",
    "document_currency": "moneda del documento",
    "document_state": "estado del documento",
    "documents": "documentos",
    "due": "vence",
    "due_date_given": "vencimiento informado",
    "due_on": "plazo",
    "ended_on": "terminó el",
    "equal_open_documents": "documentos iguales abiertos",
    "file_lines": "líneas del archivo",
    "line": "línea",
    "movement_lines": "líneas de los movimientos",
    "only_in_files": "solo en los archivos del banco",
    "only_in_movements": "solo en los movimientos de la cuenta",
    "expected_by": "se esperaba a más tardar",
    "expected_on": "se esperaba el",
    "fee": "comisión",
    "fee_agreed": "comisión acordada",
    "fee_payers": "pagadores de la comisión",
    "fee_source": "origen de la comisión",
    "fee_taken": "comisión cobrada",
    "first_payout": "primera liquidación",
    "freed_by_a_dead_payout": "liberado por una liquidación fallida",
    "gaps": "vacíos",
    "issued": "emitida",
    "key": "clave usada",
    "keys_in_the_payment": "claves en el pago",
    "nearest": "lo más cercano",
    "open_balance": "saldo abierto",
    "paid": "pagado",
    "parts": "pagos que sumen un documento",
    "payer": "pagador",
    "payment": "pago",
    "item_currency": "moneda del movimiento",
    "payment_currency": "moneda del pago",
    "payout_currency": "moneda de la liquidación",
    "payments": "pagos",
    "payout": "liquidación",
    "refund": "reembolso",
    "refunded": "reembolsado",
    "refunds": "reembolsos",
    "rest": "resto",
    "rivals": "rivales",
    "rivals_count": "número de rivales",
    "rule": "regla",
    "second_payout": "segunda liquidación",
    "sets": "conjuntos",
    "sets_by_chance": "conjuntos que calzarían por casualidad",
    "sets_found": "conjuntos hallados",
    "shares": "partes",
    "status": "estado",
    "still_open": "sigue abierto",
    "suggestion": "sugerencia",
    "sums_by_chance": "sumas que calzarían por casualidad",
    "sums_found": "sumas halladas",
    "taken_back": "quitado a los documentos",
    "total": "total",
    "void_documents": "documentos anulados",
    "valid_reissue": "reemisión válida",
    "waiting_since": "espera desde",
    "would_decide": "lo decidiría",
}


def told(text: str, language: str, currency: str) -> str:
    """Say all of it in one line, part by part; what is no JSON object stays as it is."""
    try:
        parts = _decode(text)
    except msgspec.DecodeError:
        return text
    return " · ".join(
        f"{name_of(name, language)}: {shown(name, part, currency, language)}" for name, part in parts.items()
    )


def name_of(name: str, language: str) -> str:
    words = name.replace("_", " ")
    return words if language == "en" else local(_SPANISH.get(name, words), language)


def shown(name: str, value: Any, currency: str, language: str) -> str:
    """Show one piece of evidence: amounts as amounts, days as days, lists and tables as their parts."""
    match value:
        case bool():
            return {"en": ("no", "yes")}.get(language, ("no", "sí"))[value]
        case int() if name == "year":
            return str(value)
        case int() if kind_of(name) is Kind.INT:
            return notation.format_count(value, language)
        case int():
            return notation.format_amount(value, currency, language)
        case dict():
            parts = (f"{name_of(key, language)}: {shown(key, part, currency, language)}" for key, part in value.items())
            return ", ".join(parts)
        case list() if value and all(isinstance(part, list) for part in value):
            sets = (" + ".join(shown(name, one, currency, language) for one in part) for part in value)
            return "; ".join(sets)
        case list():
            return "; ".join(shown(name, part, currency, language) for part in value)
        case None:
            return "–"
    return _text(name, str(value), language)


def _text(name: str, text: str, language: str) -> str:
    if name in _RULES:
        return phrases.rule(text, language)
    if name == "withheld":
        return code_title(text, language)
    if name in _GROUPS:
        return word(_GROUPS[name], text, language)
    if name in _SENTENCES:
        text = phrases.sentence(text, language)
        return _INSTANT.sub(lambda found: _moment(found[0], language), text)
    if _INSTANT.fullmatch(text):
        return _moment(text, language)
    try:
        return notation.format_date(date.fromisoformat(text), language)
    except ValueError:
        return text


def _moment(text: str, language: str) -> str:
    """Write an instant in UTC and say so: evidence is read beside runs of several zones."""
    return f"{notation.format_moment(datetime.fromisoformat(text), language, 'UTC')} UTC"
