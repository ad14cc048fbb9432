"""Chilean tax documents (DTE), alone or in their envelopes, with and without a namespace; pure."""

from collections.abc import Iterator, Mapping
from datetime import datetime, time
from xml.etree.ElementTree import Element
from zoneinfo import ZoneInfo

from consumer.facts.countries import COUNTRIES
from reconcile.books.tax_documents import (
    NoStampError,
    NotForUsError,
    Relation,
    TaxDocument,
    TaxXmlError,
    all_of,
    children,
    local_name,
    text_of,
    to_day,
    to_money,
    to_party,
    to_rate,
    to_stated_money,
)
from reconcile.rules.kinds import CREDIT_NOTES, KINDS, Role

ROOTS = ("DTE", "EnvioDTE", "EnvioBOLETA", "SetDTE")
_BODIES = ("Documento", "Liquidacion", "Exportaciones")
_CHILE = COUNTRIES["cl"]
_ZONE = ZoneInfo(_CHILE.zone)
_KEPT = frozenset({"33", "34", "39", "41", "43", "46", "52", "56", "61", "110", "111", "112"})
_ORDER = "801"
_CURRENCIES = {"": _CHILE.currency, "PESO CL": _CHILE.currency, "DOLAR USA": "USD", "EURO": "EUR"}
_ANNULS, _CORRECTS_AMOUNT = "1", "3"
_CLAIMS = frozenset(code for code, (role, _) in KINDS["cl"].items() if role is not Role.NO_SALE)
_LONGEST, _NAME, _CODE = 90, 300, 10


def list_documents(root: Element) -> Iterator[Element]:
    """Yield the documents of an envelope, or the one that stands alone."""
    for element in root.iter():
        if local_name(element) in _BODIES and any(local_name(child) == "Encabezado" for child in element):
            yield element


def read_dte(body: Element) -> TaxDocument:
    """Read one document; raise TaxXmlError if it is of no kind that is kept, or cannot be read."""
    parts = children(body)
    head = children(parts["Encabezado"])
    about, issuer, receiver, totals = (_parts_of(head, name) for name in ("IdDoc", "Emisor", "Receptor", "Totales"))
    kind, folio = text_of(about, "TipoDTE"), text_of(about, "Folio").lstrip("0")
    if kind not in _KEPT:
        raise NotForUsError("tax.kind_not_kept", kind=kind[:10] or "?")
    if not (folio.isascii() and folio.isdecimal()):
        raise TaxXmlError("tax.no_folio")
    if "TED" not in parts:
        raise NoStampError("tax.no_stamp")
    currency = _read_currency(totals)
    money = {name: to_money(text_of(totals, name), currency, name)
             for name in ("MntNeto", "MntExe", "IVA", "MntTotal", "MontoNF", "MontoPeriodo", "VlrPagar")}  # fmt: skip
    to_stated_money(text_of(totals, "MntTotal"), currency, "MntTotal")
    issue_date = to_day(text_of(about, "FchEmis"), "FchEmis")
    due = text_of(about, "FchVenc")
    relations = tuple(_list_relations(body))
    ref_type, ref_number = _choose_reference(kind, relations)
    names = [text_of(receiver, "RznSocRecep"), text_of(issuer, "RznSoc") or text_of(issuer, "RznSocEmisor")]
    return TaxDocument(
        doc_key=f"cl:{kind}::{folio}", country="cl", kind=kind,
        issuer_tax_id=to_party(text_of(issuer, "RUTEmisor"), "cl"), issuer_name=names[1][:_NAME],
        receiver_tax_id=to_party(text_of(receiver, "RUTRecep"), "cl"), receiver_name=names[0][:_NAME],
        series="", folio=folio, uuid="", issued_at=datetime.combine(issue_date, time(), _ZONE),
        issue_date=issue_date, currency=currency,
        rate=to_rate(text_of(_parts_of(head, "OtraMoneda"), "TpoCambio"), "TpoCambio"),
        net=money["MntNeto"], exempt=money["MntExe"], vat=money["IVA"], withheld=_sum_withheld(head, currency),
        total=money["MntTotal"], payable=_read_payable(totals, money),
        payment_method=text_of(about, "FmaPago")[:_CODE], payment_form=text_of(about, "MedioPago")[:_CODE],
        due_date=to_day(due, "FchVenc") if due else None, global_of="",
        third_party=0, no_debit_right=text_of(about, "IndNoRebaja") == "1",
        order_ref=next((one.other_number for one in relations if one.other_type == _ORDER), ""),
        ref_type=ref_type, ref_number=ref_number, seal=text_of(children(parts["TED"]), "FRMT"), relations=relations,
    )  # fmt: skip


def _parts_of(head: Mapping[str, Element], name: str) -> dict[str, Element]:
    return children(head[name]) if name in head else {}


def _read_currency(totals: Mapping[str, Element]) -> str:
    """Return the currency that export documents name; all others are in pesos."""
    name = text_of(totals, "TpoMoneda").upper()
    if name not in _CURRENCIES:
        raise TaxXmlError("facts.unknown_currency", currency=name[:20])
    return _CURRENCIES[name]


def _read_payable(totals: Mapping[str, Element], money: Mapping[str, int]) -> int:
    """Return what the customer is asked to pay: the stated sum, else the total with what is not invoiceable."""
    if "VlrPagar" in totals:
        return money["VlrPagar"]
    return money["MontoPeriodo"] if "MontoPeriodo" in totals else money["MntTotal"] + money["MontoNF"]


def _sum_withheld(head: Mapping[str, Element], currency: str) -> int:
    """Add up taxes that the buyer keeps back; additional taxes of the same list are added to the total instead."""
    if "Totales" not in head:
        return 0
    taxes = [children(tax) for tax in all_of(head["Totales"], "ImptoReten")]
    kept_back = (tax for tax in taxes if text_of(tax, "TipoImp") in _WITHHELD)
    return sum(to_money(text_of(tax, "MontoImp"), currency, "MontoImp") for tax in kept_back)


# Value added tax that the buyer withholds, whole or in part.
_WITHHELD = frozenset({"15", "30", "31", "32", "33", "34", "36", "37", "38", "39", "41", "47", "48"})


def _list_relations(body: Element) -> Iterator[Relation]:
    for element in all_of(body, "Referencia"):
        parts = children(element)
        kind, number = text_of(parts, "TpoDocRef"), text_of(parts, "FolioRef")
        folio = number.lstrip("0")
        is_document = kind in _CLAIMS and folio.isascii() and folio.isdecimal()
        on = text_of(parts, "FchRef")
        yield Relation(
            kind=text_of(parts, "CodRef"), other_type=kind[:10], other_key=f"cl:{kind}::{folio}" if is_document else "",
            other_number=folio if is_document else number[:_LONGEST], other_on=to_day(on, "FchRef") if on else None,
            reason=text_of(parts, "RazonRef")[:_LONGEST],
        )  # fmt: skip


def _choose_reference(kind: str, relations: tuple[Relation, ...]) -> tuple[str, str]:
    """Return type and folio of the one document that this one voids, corrects or takes the place of.

    Of several none is certain.
    """
    named = [one for one in relations if one.other_key]
    if kind in CREDIT_NOTES:
        named = [one for one in named if one.kind in (_ANNULS, _CORRECTS_AMOUNT)] or named
    found = {(one.other_type, one.other_number) for one in named}
    return found.pop() if len(found) == 1 else ("", "")
