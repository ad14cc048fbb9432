"""CFDI 3.3 and 4.0 with their payment complements, read by local names; pure."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from uuid import UUID
from xml.etree.ElementTree import Element
from zoneinfo import ZoneInfo

from consumer.facts.countries import COUNTRIES
from consumer.facts.money import is_currency
from reconcile.books.tax_documents import (
    SUBSTITUTES,
    Attributes,
    NoStampError,
    NotForUsError,
    Relation,
    Settlement,
    TaxDocument,
    TaxXmlError,
    all_of,
    children,
    local_name,
    to_moment,
    to_money,
    to_party,
    to_rate,
    to_stated_money,
)
from reconcile.books.vat_rates import EXEMPT, RateSum, write_rates

ROOT = "Comprobante"
_VERSIONS = ("3.3", "4.0")
# Sales, notes and payments; goods moved and wages are no matter of the books.
_KINDS = ("I", "E", "P")
_VAT, _EXEMPT = "002", "Exento"
# The currency of a payment complement itself, which states no amount.
_NO_CURRENCY = "XXX"
_NOTES = ("01", "02", "03", "07")
_MEXICO = COUNTRIES["mx"]
_ZONE = ZoneInfo(_MEXICO.zone)
_SERIES, _FOLIO, _NAME, _CODE, _OPERATION = 25, 40, 300, 10, 100
_INSTALMENT = re.compile(r"[0-9]{1,3}")


def read_cfdi(root: Element) -> TaxDocument:
    """Read one document; raise TaxXmlError if it is not stamped, not of a kind that is kept, or cannot be read."""
    said, parts = root.attrib, children(root)
    if said.get("Version") not in _VERSIONS:
        raise TaxXmlError("tax.version", version=said.get("Version") or said.get("version") or "?")
    kind = said.get("TipoDeComprobante", "")
    if kind not in _KINDS:
        raise NotForUsError("tax.kind_not_kept", kind=kind or "?")
    inside = [part for complement in all_of(root, "Complemento") for part in complement]
    stamp = next((part.attrib for part in inside if local_name(part) == "TimbreFiscalDigital"), None)
    if stamp is None or not stamp.get("UUID"):
        raise NoStampError("tax.no_stamp")
    if kind != "P" and said.get("Moneda") == _NO_CURRENCY:
        raise TaxXmlError("facts.unknown_currency", currency=_NO_CURRENCY)
    uuid, currency = _to_uuid(stamp["UUID"]), _to_currency(said.get("Moneda", ""))
    issuer, receiver = (_attributes(parts, name) for name in ("Emisor", "Receptor"))
    issued_at = to_moment(said.get("Fecha", ""), _ZONE, "Fecha")
    relations = tuple(_list_relations(root))
    ref_number = _choose_reference(kind, relations)
    net, exempt, vat, rates = _read_parts(root, parts, currency)
    total = to_stated_money(said.get("Total"), currency, "Total")
    return TaxDocument(
        doc_key=f"mx:uuid:{uuid}", country="mx", kind=kind,
        issuer_tax_id=to_party(issuer.get("Rfc", ""), "mx"), issuer_name=issuer.get("Nombre", "")[:_NAME],
        receiver_tax_id=to_party(receiver.get("Rfc", ""), "mx"), receiver_name=receiver.get("Nombre", "")[:_NAME],
        series=said.get("Serie", "")[:_SERIES], folio=said.get("Folio", "")[:_FOLIO], uuid=uuid,
        issued_at=issued_at, issue_date=issued_at.date(), currency=currency,
        rate=to_rate(said.get("TipoCambio", ""), "TipoCambio"), net=net, exempt=exempt, vat=vat,
        withheld=to_money(_attributes(parts, "Impuestos").get("TotalImpuestosRetenidos"), currency, "Impuestos"),
        total=total, payable=total, payment_method=said.get("MetodoPago", "")[:_CODE],
        payment_form=said.get("FormaPago", "")[:_CODE], due_date=None, global_of=_read_global(parts),
        third_party=_sum_third_party(parts, currency), no_debit_right=False, order_ref="",
        ref_type="", ref_number=ref_number, seal=said.get("Sello", ""), relations=relations,
        payments=tuple(_list_payments(inside)) if kind == "P" else (), rates=rates,
    )  # fmt: skip


def _attributes(parts: Mapping[str, Element], name: str) -> Attributes:
    element = parts.get(name)
    return {} if element is None else element.attrib


def _to_uuid(text: str) -> str:
    try:
        return str(UUID(text.strip()))
    except ValueError:
        raise TaxXmlError("tax.not_a_uuid", value=text[:40]) from None


def _to_currency(text: str) -> str:
    if text in ("", _NO_CURRENCY):
        return _MEXICO.currency
    if not is_currency(text):
        raise TaxXmlError("facts.unknown_currency", currency=text[:20])
    return text.upper()


def _list_relations(root: Element) -> Iterator[Relation]:
    """Yield what every node says, of which version 4.0 may have several."""
    for node in all_of(root, "CfdiRelacionados"):
        kind = node.get("TipoRelacion", "")
        for other in all_of(node, "CfdiRelacionado"):
            uuid = _to_uuid(other.get("UUID", ""))
            yield Relation(kind, "", f"mx:uuid:{uuid}", uuid)


def _choose_reference(kind: str, relations: tuple[Relation, ...]) -> str:
    """Return the one document that a note corrects or an invoice takes the place of; of several none is certain."""
    wanted = {"E": _NOTES, "I": (SUBSTITUTES,)}.get(kind, ())
    named = {one.other_number for one in relations if one.kind in wanted}
    return named.pop() if len(named) == 1 else ""


def _read_parts(root: Element, parts: Mapping[str, Element], currency: str) -> tuple[int, int, int, str]:
    """Return net, exempt, value added tax, and its rates; version 3.3 states bases with its lines alone."""
    said = root.attrib
    taxes = list(_list_taxes(parts.get("Impuestos")))
    vat = sum(to_money(tax.get("Importe"), currency, "Importe") for tax in taxes if tax.get("Impuesto") == _VAT)
    if said["Version"] != _VERSIONS[-1]:
        lines = (children(line).get("Impuestos") for line in all_of(parts.get("Conceptos"), "Concepto"))
        taxes = [tax for line in lines for tax in _list_taxes(line)]
    sums = [_to_sum(tax, currency) for tax in taxes if tax.get("Impuesto") == _VAT]
    exempt = sum(one.base for one in sums if one.rate == EXEMPT)
    before = to_stated_money(said.get("SubTotal"), currency, "SubTotal")
    net = before - to_money(said.get("Descuento"), currency, "Descuento") - exempt
    return net, exempt, vat, write_rates((one for one in sums if one.rate != EXEMPT), net, vat)


def _to_sum(tax: Attributes, currency: str, of: str = "") -> RateSum:
    """Return what one node states of a rate; names of attributes in a complement end with `of`."""
    base, vat = (to_money(tax.get(f"{name}{of}"), currency, name) for name in ("Base", "Importe"))
    is_exempt = tax.get(f"TipoFactor{of}") == _EXEMPT
    return RateSum(EXEMPT if is_exempt else _to_percent(tax.get(f"TasaOCuota{of}", "")), base, vat)


@lru_cache(maxsize=64)
def _to_percent(text: str) -> str:
    """Return a rate in percent without needless digits, as 16 for 0.160000."""
    return f"{(Decimal(to_rate(text, 'TasaOCuota', is_zero_known=True) or 0) * 100).normalize():f}"


def _list_taxes(taxes: Element | None) -> Iterator[Attributes]:
    for part in all_of(taxes, "Traslados"):
        yield from (tax.attrib for tax in all_of(part, "Traslado"))


def _read_global(parts: Mapping[str, Element]) -> str:
    """Return the period that a global invoice sums up: year and months, two of which are written as one number."""
    said = _attributes(parts, "InformacionGlobal")
    return f"{said.get('Año', '?')[:4]}-{said.get('Meses', '?')[:2]}" if said else ""


def _sum_third_party(parts: Mapping[str, Element], currency: str) -> int:
    lines = all_of(parts.get("Conceptos"), "Concepto")
    return sum(
        to_money(line.get("Importe"), currency, "Importe") - to_money(line.get("Descuento"), currency, "Descuento")
        for line in lines
        if any(local_name(part) == "ACuentaTerceros" for part in line)
    )


def _list_payments(inside: list[Element]) -> Iterator[Settlement]:
    number = 0
    for node in inside:
        for payment in all_of(node, "Pago") if local_name(node) == "Pagos" else ():
            number += 1
            yield from _list_settled(payment, number)


def _list_settled(payment: Element, number: int) -> Iterator[Settlement]:
    said = payment.attrib
    currency = _to_currency(said.get("MonedaP", ""))
    paid_at = to_moment(said.get("FechaPago", ""), _ZONE, "FechaPago")
    amount = to_money(said.get("Monto"), currency, "Monto")
    documents = [one for one in payment if local_name(one) == "DoctoRelacionado"]
    for line, document in enumerate(documents or [None], start=1):
        one = _to_settlement(said, document, number=number, line=line, paid_at=paid_at, amount=amount)
        # Version 1.0 may leave out the part of a payment that pays one document alone.
        is_whole = document is not None and "ImpPagado" not in document.attrib and len(documents) == 1
        yield replace(one, paid=amount) if is_whole and one.paid_currency == currency else one


def _to_settlement(
    said: Attributes, document: Element | None, *, number: int, line: int, paid_at: datetime, amount: int
) -> Settlement:
    paid: Attributes = {} if document is None else document.attrib
    currency, owed = (_to_currency(text) for text in (said.get("MonedaP", ""), paid.get("MonedaDR", "")))
    uuid = _to_uuid(paid["IdDocumento"]) if paid.get("IdDocumento") else ""
    before, part, after = (
        to_money(paid.get(name), owed, name) for name in ("ImpSaldoAnt", "ImpPagado", "ImpSaldoInsoluto")
    )
    instalment = paid.get("NumParcialidad", "1")
    sums = list(_list_paid_rates(document, owed))
    vat = sum(one.vat for one in sums)
    equivalence = "EquivalenciaDR" if paid.get("EquivalenciaDR") else "TipoCambioDR"
    return Settlement(
        payment_number=number, line=line, paid_at=paid_at, payment_form=said.get("FormaDePagoP", "")[:_CODE],
        currency=currency, rate=to_rate(said.get("TipoCambioP", ""), "TipoCambioP"), amount=amount,
        operation=said.get("NumOperacion", "").strip()[:_OPERATION], paid_uuid=uuid,
        paid_key=f"mx:uuid:{uuid}" if uuid else "", series=paid.get("Serie", "")[:_SERIES],
        folio=paid.get("Folio", "")[:_FOLIO], instalment=int(instalment) if _INSTALMENT.fullmatch(instalment) else 0,
        paid_currency=owed, balance_before=before, paid=part, balance_after=after,
        equivalence=to_rate(paid.get(equivalence, ""), equivalence), vat=vat,
        # Version 1.0 states no taxes of what it settles.
        rates=write_rates(sums, part - vat, vat) if "ObjetoImpDR" in paid else "",
    )  # fmt: skip


def _list_paid_rates(document: Element | None, currency: str) -> Iterator[RateSum]:
    for part in [] if document is None else all_of(document, "ImpuestosDR"):
        for group in all_of(part, "TrasladosDR"):
            yield from (_to_sum(tax.attrib, currency, "DR") for tax in all_of(group, "TrasladoDR")
                        if tax.get("ImpuestoDR") == _VAT)  # fmt: skip
