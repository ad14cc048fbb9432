"""The closed words of results, such as outcomes and states, in both languages; pure.

Programs read the keys; people's files in Spanish and the pages read the words. A key nobody has met yet stays as it is.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from reports.build import Report
from reports.codes import CODES
from reports.columns import Kind

# Why a bank gave a transfer back, by our own English label.
RETURNED = {
    "account does not exist": "la cuenta no existe",
    "account blocked": "cuenta bloqueada",
    "account cancelled": "cuenta cerrada",
    "account in another currency": "la cuenta es de otra moneda",
    "account is not of that institution": "la cuenta no es de esa institución",
    "mandatory data missing": "falta un dato obligatorio",
    "payment type wrong": "tipo de pago erróneo",
    "operation type wrong": "tipo de operación erróneo",
    "account type does not take it": "el tipo de cuenta no lo recibe",
    "invalid character": "carácter inválido",
    "balance limit exceeded": "supera el límite de saldo",
    "monthly deposit limit exceeded": "supera el límite mensual de depósitos",
    "mobile number not registered": "el número de celular no está registrado",
    "additional data wrong": "datos adicionales erróneos",
    "payment restricted": "pago restringido",
    "protection agreement of the sender's bank": "convenio de protección del banco emisor",
    "optional payment type not accepted": "tipo de pago opcional no aceptado",
    "credit notice late": "aviso de abono tardío",
    "duplicate tracking key of the issuer that day": "clave de rastreo repetida del emisor ese día",
    "issuer's certificate expired": "certificado del emisor vencido",
}
# Group, key, English, Spanish.
WORDS: dict[str, dict[str, tuple[str, str]]] = {
    "status": {
        "closed": ("Ties out", "Cuadra"),
        "open": ("Open", "Abierta"),
        "not_due": ("Not due yet", "Aún no vence"),
        "incomplete": ("Incomplete", "Incompleta"),
        "canceled": ("Canceled", "Cancelada"),
        "returned": ("Returned", "Devuelta"),
    },
    "exception": {
        "open": ("open", "abierta"),
        "resolved": ("resolved", "resuelta"),
    },
    "severity": {
        "high": ("High", "Alta"),
        "medium": ("Medium", "Media"),
        "low": ("Low", "Baja"),
        "info": ("Information", "Informativa"),
    },
    "outcome": {
        "matched": ("Matched", "Conciliado"),
        "matched_with_difference": ("Matched with difference", "Conciliado con diferencia"),
        "partial": ("Partial", "Parcial"),
        "set": ("Set", "Conjunto"),
        "interchangeable": ("Interchangeable", "Intercambiable"),
        "ambiguous": ("Ambiguous", "Ambiguo"),
        "suggested": ("Suggested", "Sugerido"),
        "no_document": ("No document", "Sin documento"),
        "duplicate": ("Duplicate", "Duplicado"),
        "refund": ("Refund", "Reembolso"),
        "adjustment": ("Adjustment", "Ajuste"),
        "unexplained": ("Unexplained", "Sin explicar"),
    },
    "document": {
        "paid": ("Paid", "Pagado"),
        "partly_paid": ("Partly paid", "Pagado en parte"),
        "overpaid": ("Overpaid", "Pagado de más"),
        "open_not_due": ("Not due", "Por vencer"),
        "overdue": ("Overdue", "Vencido"),
        "void": ("Void", "Anulado"),
        "credited": ("Credited", "Acreditado"),
    },
    "stage": {
        "key": ("Key", "Clave"),
        "reference": ("Reference", "Referencia"),
        "customer": ("Customer", "Cliente"),
        "set": ("Set", "Conjunto"),
        "manual": ("By hand", "A mano"),
        "suggestion": ("Suggestion", "Sugerencia"),
        "none": ("None", "Ninguna"),
    },
    "payout": {
        "created": ("created", "creada"),
        "in_progress": ("in progress", "en curso"),
        "succeeded": ("succeeded", "exitosa"),
        "canceled": ("canceled", "cancelada"),
        "returned": ("returned", "devuelta"),
    },
    "fee": {
        "provider_csv": ("provider's file", "archivo del proveedor"),
        "tariff": ("tariff", "tarifa"),
        "residual": ("what is left over", "por diferencia"),
    },
    "type": {
        "payment_intent": ("Payment", "Pago"),
        "charge": ("Charge", "Cargo"),
        "refund": ("Refund", "Reembolso"),
        "refund_adjustment": ("Failed refund", "Reembolso fallido"),
        "dispute": ("Dispute", "Disputa"),
    },
    "verdict": {
        "ties": ("Ties", "Cuadra"),
        "differs": ("Differs", "No cuadra"),
    },
    "bucket": {
        "not due": ("not due", "por vencer"),
        "over 30": ("over 30", "más de 30"),
        "over 90": ("over 90", "más de 90"),
    },
    "direction": {
        "inbound": ("Inbound", "Recibida"),
        "outbound": ("Outbound", "Enviada"),
    },
    "transfer": {
        "pending": ("pending", "pendiente"),
        "succeeded": ("succeeded", "exitosa"),
        "failed": ("failed", "fallida"),
        "returned": ("returned", "devuelta"),
        "return_pending": ("being returned", "en devolución"),
        "rejected": ("rejected", "rechazada"),
        "reject_failed": ("rejection failed", "rechazo fallido"),
        "reverse_pending": ("being reversed", "en reversa"),
        "reversed": ("reversed", "revertida"),
    },
    "means": {
        "bank_transfer": ("Bank transfer", "Transferencia"),
        "credit_card": ("Credit card", "Tarjeta de crédito"),
        "debit_card": ("Debit card", "Tarjeta de débito"),
        "prepaid_card": ("Prepaid card", "Tarjeta de prepago"),
        "installment": ("Instalments", "Cuotas"),
        "pac": ("Direct debit (PAC)", "Cargo automático (PAC)"),
        "refund": ("Refund", "Reembolso"),
    },
    "return": {label: (label, spanish) for label, spanish in RETURNED.items()},
}
# Which group a column's keys belong to, where a report does not say otherwise.
GROUPS = {
    "status_recon": "status",
    "severity": "severity",
    "outcome": "outcome",
    "match_stage": "stage",
    "fee_source": "fee",
    "resource_type": "type",
    "verdict": "verdict",
    "bucket": "bucket",
    "age_bucket": "bucket",
    "direction": "direction",
}
_OF_REPORTS = {
    ("payout-summary", "status"): "payout",
    ("documents", "outcome"): "document",
    ("receivables", "state"): "document",
    ("exceptions", "state"): "exception",
    ("exceptions-sheet", "state"): "exception",
    ("transfers", "status"): "transfer",
    ("transfers", "return_label"): "return",
    ("payout-detail", "resource_subtype"): "means",
}


def in_words(report: Report, language: str) -> Report:
    """Write the closed words of a report in Spanish; in English they read well enough as they are stored."""
    if language == "en":
        return report
    table = report.table
    for column in report.definition.columns:
        group = _OF_REPORTS.get((report.definition.name, column.name)) or GROUPS.get(column.name)
        if group is not None and column.kind is Kind.TEXT:
            words = WORDS[group]
            table = _replaced(table, column.name, lambda key, words=words: words[key][1] if key in words else key)  # type: ignore[misc]
    if "code" in report.definition.names:
        table = _by_code(_by_code(table, "title", lambda code: CODES[code].es), "suggested_action", _action)
    return replace(report, table=table)


def _action(code: str) -> str:
    return CODES[code].action_es


def _replaced(table: pa.Table, name: str, word: Callable[[str], str]) -> pa.Table:
    """Translate each different key once, whatever the number of rows."""
    keys = table.column(name).combine_chunks().dictionary_encode()
    words = pa.array([word(key) for key in keys.dictionary.to_pylist()], pa.string())
    return table.set_column(table.schema.get_field_index(name), name, pc.take(words, keys.indices))


def _by_code(table: pa.Table, name: str, words: Callable[[str], str]) -> pa.Table:
    """Give what an exception's code says in Spanish; what a code of tomorrow says stays in English."""
    known: Mapping[str, str] = {code: words(code) for code in CODES}
    codes = table.column("code").to_pylist()
    found = [known.get(code, text) for code, text in zip(codes, table.column(name).to_pylist(), strict=True)]
    return table.set_column(table.schema.get_field_index(name), name, pa.array(found, pa.string()))
