"""Sentences and names that rules leave in the rows, in a reader's words; what nobody met yet stays as it is. Pure."""

import re

from consumer.facts.messages import is_translated, translate
from reports.shapes.definitions import CATALOGUE
from reports.shapes.dialects import local
from reports.wording.vocabulary import word

# What the rules write in whole sentences and single words.
_SENTENCES = {
    "the document the customer meant, or a key in the payment's metadata": (
        "el documento que el cliente quiso pagar, o una clave en los metadatos del pago"
    ),
    "fully credited before the payment": "acreditado por completo antes del pago",
    "void": "anulado",
    "the document is void": "el documento está anulado",
    "declined by a person": "una persona lo descartó",
    "currency": "la moneda",
    "no tax id": "el pago no trae RUT o RFC",
    "customer": "el cliente",
    "amount": "el monto",
    "date": "la fecha",
    "not the only candidate": "no es el único candidato",
    "the payment names another sale": "el pago nombra otra venta",
    "its payout was canceled or returned; the item waits again": (
        "su liquidación fue cancelada o devuelta; el movimiento espera otra"
    ),
    "its payout was canceled or returned": "su liquidación fue cancelada o devuelta",
    "the item waits again": "el movimiento espera otra",
    "freed by a payout that was canceled or returned": "liberado por una liquidación cancelada o devuelta",
    "paid from another's account": "pagado desde la cuenta de otro",
    "open dispute": "disputa abierta",
    "lost dispute": "disputa perdida",
    "refunded": "reembolsado",
    "gone": "ya no aparece en los datos",
    "resolved": "resuelta",
    "open": "abierta",
    "its worker stopped before the end": "su proceso se detuvo antes de terminar",
    "not read to its end": "no se leyó hasta el final",
    "not complete from its beginning": "no está completo desde su comienzo",
    "never read: cuadre backfill and cuadre pull all": "nunca se leyó: complete los eventos y traiga todo",
}
# What runs write into the history of an exception.
_HISTORY = {"gone", "resolved", "open"}
_BEFORE_A_NAME = {"lost dispute of ": "disputa perdida de ", "read only up to ": "leído solo hasta el "}
_NOT_SEARCHED = re.compile(r"not searched: (\d+) (open documents|payments of one day)")
_TOO_MANY = {"open documents": "documentos abiertos", "payments of one day": "pagos de un mismo día"}
_ENGLISH = {"gone": "no longer in the data"}
# Parts of a rule's name, as `key:order_ref:part`; English first.
_RULES = {
    "key": ("key", "clave"),
    "reference": ("reference in the text", "referencia en el texto"),
    "customer": ("customer", "cliente"),
    "set": ("set of documents", "conjunto de documentos"),
    "parts": ("payments of one day together", "pagos de un mismo día en conjunto"),
    "suggestion": ("suggestion", "sugerencia"),
    "manual": ("by hand", "a mano"),
    "none": ("no rule", "ninguna regla"),
    "above": ("paid more than the balance", "se pagó más que el saldo"),
    "all": ("all its documents together", "todos sus documentos juntos"),
    "already_paid": ("the document was paid already", "el documento ya estaba pagado"),
    "another_equal": ("another document equals the amount", "otro documento tiene justo ese monto"),
    "cancelled": ("the document is void", "el documento está anulado"),
    "currency": ("another currency", "otra moneda"),
    "equal": ("equal amount", "monto igual"),
    "other_customer": ("another customer", "otro cliente"),
    "part": ("a part of the balance", "una parte del saldo"),
    "rounding": ("one unit off", "una unidad de diferencia"),
    "several": ("several fit", "calzan varios"),
    "interchangeable": ("interchangeable documents", "documentos intercambiables"),
    "tax_id+amount+window": ("tax id, amount and dates", "RUT o RFC, monto y fechas"),
    "amount+window": ("amount and dates", "monto y fechas"),
    "amount+day": ("amount and the day itself", "monto y el mismo día"),
    "void_equal": ("a void document has that amount too", "también un documento anulado tiene ese monto"),
    "amount_only": ("only the amount agrees", "solo coincide el monto"),
    "nothing": ("nothing agrees", "nada coincide"),
    "by_chance": ("the only one, and could be chance", "el único, y puede ser casualidad"),
    "only_one": ("the only one that sums", "el único que suma"),
    "only_candidate": ("the only candidate", "el único candidato"),
    "tax_id": ("same tax id", "mismo RUT o RFC"),
    "match": ("matched", "conciliado"),
    "unmatch": ("kept apart", "separado"),
    "adjust": ("accepted", "aceptado"),
    "doc_type+folio": ("type and number of the document", "tipo y folio del documento"),
    "order_ref": ("order", "pedido"),
    "order_id": ("order", "pedido"),
    "invoice": ("invoice named in the payment", "documento nombrado en el pago"),
    "uuid": ("UUID", "folio fiscal (UUID)"),
}
_FIGURES = {
    "payments": "pagos", "charges": "cargos", "refunds": "reembolsos", "refund adjustments": "reembolsos fallidos",
    "disputes": "disputas", "items": "movimientos", "payouts": "liquidaciones", "receivables": "por cobrar",
    "funds in transit": "fondos en tránsito", "credit balances of customers": "saldos a favor de clientes",
}  # fmt: skip
_SIGNS = (" + ", " - ")


def sentence(text: str, language: str) -> str:
    """Say a stored sentence, or several joined by semicolons."""
    known = _ENGLISH if language == "en" else _SENTENCES
    told = known.get(text) or "; ".join(known.get(part) or _named(part, language) for part in text.split("; "))
    return local(told, language) if told != text else text


def _named(text: str, language: str) -> str:
    """Say what names an item at its end, or how much there was."""
    if language != "en" and (found := _NOT_SEARCHED.fullmatch(text)):
        return f"no se buscó: {found[1]} {_TOO_MANY[found[2]]}"
    words = {} if language == "en" else _BEFORE_A_NAME
    return next((told + text.removeprefix(said) for said, told in words.items() if text.startswith(said)), text)


def history(text: str, language: str) -> str:
    """Say a word of the work list; what people wrote into it stays as they wrote it."""
    return sentence(text, language) if text in _HISTORY else text


def rule(text: str, language: str) -> str:
    """Say how a rule decided: `key:order_ref:part` is a key, by the order, of a part of the balance."""
    place = 0 if language == "en" else 1
    said = (local(_RULES[part][place], language) if part in _RULES else part for part in text.split(":"))
    first, *rest = said
    return f"{first}: {', '.join(rest)}" if rest else first


def figure(text: str, language: str) -> str:
    """Say what a total of the control is about."""
    if language == "en":
        return text
    name, is_gross = text.removesuffix(", gross"), text.endswith(", gross")
    return _FIGURES.get(name, name) + (", bruto" if is_gross else "")


def source(text: str, language: str) -> str:
    """Say `payout-summary fee_total` by the report's title and its column's heading."""
    report, _, names = text.partition(" ")
    if report not in CATALOGUE:
        return text
    title = CATALOGUE[report].title(language)
    told = "".join(part if part in _SIGNS else _column(part, language) for part in re.split(r"( [+-] )", names))
    return f"{title}: {told}" if names else title


def _column(name: str, language: str) -> str:
    heading = f"column.{name}"
    return translate(heading, language) if is_translated(heading, language) else word("type", name, language)
