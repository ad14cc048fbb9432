"""Kinds of documents in Chile and Mexico: what files call each of them, and what it is to the merchant's claims."""

from collections.abc import Mapping
from enum import Enum, auto


class Role(Enum):
    """What a document is to what customers owe."""

    CLAIM = auto()
    RECEIPT = auto()  # a claim, but registers sum them up by month
    PAPER_RECEIPT = auto()  # no claim: only sums of them are known
    DEBIT_NOTE = auto()  # a claim that takes no other document's place
    CREDIT_NOTE = auto()
    NO_SALE = auto()  # money is owed on none: delivery notes, purchases, monthly totals, payment receipts, payroll


# By country and code: the role, and the names as files write them.
KINDS: Mapping[str, Mapping[str, tuple[Role, tuple[str, ...]]]] = {
    "cl": {
        "30": (Role.CLAIM, ("factura",)),
        "32": (Role.CLAIM, ("factura exenta", "factura no afecta o exenta")),
        "33": (Role.CLAIM, ("factura electronica", "factura afecta electronica")),
        "34": (
            Role.CLAIM,
            ("factura exenta electronica", "factura no afecta o exenta electronica", "factura electronica exenta"),
        ),
        "35": (Role.PAPER_RECEIPT, ("boleta",)),
        "38": (Role.PAPER_RECEIPT, ("boleta exenta",)),
        "39": (Role.RECEIPT, ("boleta electronica", "boleta afecta electronica")),
        "41": (
            Role.RECEIPT,
            ("boleta exenta electronica", "boleta electronica exenta", "boleta no afecta o exenta electronica"),
        ),
        "43": (Role.CLAIM, ("liquidacion factura electronica", "liquidacion factura")),
        "46": (Role.NO_SALE, ("factura de compra electronica", "factura de compra")),
        "48": (Role.NO_SALE, ("comprobante de pago electronico", "comprobantes de pago electronico")),
        "50": (Role.NO_SALE, ("guia de despacho",)),
        "52": (Role.NO_SALE, ("guia de despacho electronica",)),
        "55": (Role.DEBIT_NOTE, ("nota de debito",)),
        "56": (Role.DEBIT_NOTE, ("nota de debito electronica",)),
        "60": (Role.CREDIT_NOTE, ("nota de credito",)),
        "61": (Role.CREDIT_NOTE, ("nota de credito electronica",)),
        "110": (Role.CLAIM, ("factura de exportacion electronica", "factura de exportacion")),
        "111": (Role.DEBIT_NOTE, ("nota de debito de exportacion electronica", "nota de debito de exportacion")),
        "112": (Role.CREDIT_NOTE, ("nota de credito de exportacion electronica", "nota de credito de exportacion")),
    },
    "mx": {
        "I": (Role.CLAIM, ("ingreso", "factura", "comprobante de ingreso")),
        "E": (Role.CREDIT_NOTE, ("egreso", "nota de credito", "comprobante de egreso")),
        "P": (Role.NO_SALE, ("pago", "recepcion de pagos", "complemento de pago")),
        "T": (Role.NO_SALE, ("traslado", "carta porte", "remision", "nota de remision")),
        "N": (Role.NO_SALE, ("nomina",)),
    },
}


def _codes_of(*roles: Role) -> frozenset[str]:
    return frozenset(code for kinds in KINDS.values() for code, (role, _) in kinds.items() if role in roles)


CREDIT_NOTES = _codes_of(Role.CREDIT_NOTE)
DEBIT_NOTES = _codes_of(Role.DEBIT_NOTE)
RECEIPTS = _codes_of(Role.RECEIPT, Role.PAPER_RECEIPT)
# Further columns of sales files that no book keeps.
NO_SALES = _codes_of(Role.NO_SALE)
# Chile's kinds without VAT.
EXEMPT_KINDS = frozenset({"32", "34", "38", "41", "110", "111", "112"})
NO_CLAIMS = NO_SALES | _codes_of(Role.PAPER_RECEIPT)
# What Chile's register holds in its summary alone: receipts and vouchers.
SUMMED = _codes_of(Role.RECEIPT, Role.PAPER_RECEIPT) | {"48"}

VALID_STATES = frozenset(
    {
        "valid", "valida", "valido", "vigente", "emitida", "emitido", "aceptada", "aceptado", "active", "activa",
        "activo", "timbrada", "timbrado", "publicada", "publicado", "contabilizada", "contabilizado", "enviada",
        "enviado", "aprobada", "aprobado", "aceptado con reparos", "aceptado con reparo", "aceptada con reparos",
        "aceptado por el sii", "aceptado sii", "aceptada por el sii", "dte aceptado",
        # How it stands with its customer says that it was issued.
        "pagada", "pagado", "cobrada", "cobrado", "por cobrar", "por pagar", "pendiente de pago", "impaga", "impago",
        "no pagada", "no pagado", "vencida", "vencido", "parcialmente pagada", "parcialmente pagado", "pago parcial",
        "saldada", "saldado", "paid", "unpaid", "overdue", "issued", "sent", "posted",
    }
)  # fmt: skip
VOID_STATES = frozenset({"void", "voided", "anulada", "anulado", "cancelada", "cancelado", "cancelled", "canceled"})
