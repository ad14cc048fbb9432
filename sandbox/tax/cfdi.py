"""Mexican tax documents as XML: CFDI 4.0 of income, of discount, and of payments with their complement 2.0."""

import hashlib
from base64 import b64encode
from datetime import datetime
from xml.etree.ElementTree import Element, SubElement, register_namespace, tostring

from sandbox.scenarios.books import to_major
from sandbox.state.papers import PUBLIC, Paper, Party, Settlement

CFDI, PAGOS = "http://www.sat.gob.mx/cfd/4", "http://www.sat.gob.mx/Pagos20"
TFD, XSI = "http://www.sat.gob.mx/TimbreFiscalDigital", "http://www.w3.org/2001/XMLSchema-instance"
SCHEMAS = {
    CFDI: "http://www.sat.gob.mx/sitio_internet/cfd/4/cfdv40.xsd",
    PAGOS: "http://www.sat.gob.mx/sitio_internet/cfd/Pagos/Pagos20.xsd",
    TFD: "http://www.sat.gob.mx/sitio_internet/cfd/TimbreFiscalDigital/TimbreFiscalDigitalv11.xsd",
}
for _prefix, _uri in (("cfdi", CFDI), ("pago20", PAGOS), ("tfd", TFD), ("xsi", XSI)):
    register_namespace(_prefix, _uri)
POSTCODE, COMPANY, CONSUMER = "06700", "601", "616"
CERTIFIER, CERTIFICATE = "SPR190613I52", "30001000000500003416"
RATE = {"TipoFactor": "Tasa", "TasaOCuota": "0.160000"}


def write_cfdi(paper: Paper) -> bytes:
    """Return the document as a stamped file; seals are made up, their form is right."""
    uses_payments = paper.kind == "P"
    root = Element(_name(CFDI, "Comprobante"), _head(paper))
    names = [CFDI, PAGOS] if uses_payments else [CFDI]
    root.set(_name(XSI, "schemaLocation"), " ".join(f"{name} {SCHEMAS[name]}" for name in names))
    if paper.global_month:
        year, month = paper.global_month.split("-")
        _add(root, "InformacionGlobal", Periodicidad="04", Meses=month, Año=year)
    for relation in paper.relations:
        group = _add(root, "CfdiRelacionados", TipoRelacion=relation.code)
        _add(group, "CfdiRelacionado", UUID=relation.number)
    _add(root, "Emisor", Rfc=paper.issuer.tax_id, Nombre=_upper(paper.issuer), RegimenFiscal=COMPANY)
    is_public = paper.receiver.tax_id == PUBLIC["mx"]
    _add(root, "Receptor", Rfc=paper.receiver.tax_id, Nombre=_upper(paper.receiver),
         DomicilioFiscalReceptor=POSTCODE, RegimenFiscalReceptor=CONSUMER if is_public else COMPANY,
         UsoCFDI="CP01" if uses_payments else "S01" if is_public else "G03")  # fmt: skip
    _add_lines(root, paper)
    complement = _add(root, "Complemento")
    if uses_payments:
        _add_payments(complement, paper)
    _stamp(complement, paper)
    written: bytes = tostring(root, encoding="UTF-8", xml_declaration=True)
    return written


def _head(paper: Paper) -> dict[str, str]:
    head: dict[str, str] = {"Version": "4.0"}
    head |= {"Serie": paper.series} if paper.series else {}
    head |= {"Folio": paper.folio, "Fecha": _clock(paper.issued_at), "Sello": _seal(paper.uuid)}
    common = {"NoCertificado": CERTIFICATE, "Certificado": _seal("certificate"), "TipoDeComprobante": paper.kind,
              "Exportacion": "01", "LugarExpedicion": POSTCODE}  # fmt: skip
    if paper.kind == "P":
        return head | common | {"SubTotal": "0", "Moneda": "XXX", "Total": "0"}
    money = {"SubTotal": _major(paper, paper.net + paper.exempt), "Moneda": paper.currency,
             "Total": _major(paper, paper.total), "MetodoPago": paper.method or "PUE"}  # fmt: skip
    money |= {} if paper.currency == "MXN" else {"TipoCambio": "18.500000"}
    return head | common | {"FormaPago": paper.form or "03"} | money


def _add_lines(root: Element, paper: Paper) -> None:
    lines = _add(root, "Conceptos")
    if paper.kind == "P":
        _add(lines, "Concepto", ClaveProdServ="84111506", Cantidad="1", ClaveUnidad="ACT", Descripcion="Pago",
             ValorUnitario="0", Importe="0", ObjetoImp="01")  # fmt: skip
        return
    tax = {"Impuesto": "002", **RATE, "Base": _major(paper, paper.net), "Importe": _major(paper, paper.vat)}
    for amount, is_taxed in ((paper.net, True), (paper.exempt, False)):
        if not amount:
            continue
        line = _add(lines, "Concepto", ClaveProdServ="01010101", Cantidad="1", ClaveUnidad="ACT",
                    Descripcion=paper.order_ref or "Venta", ValorUnitario=_major(paper, amount),
                    Importe=_major(paper, amount), ObjetoImp="02" if is_taxed else "01")  # fmt: skip
        if is_taxed:
            _add(_add(_add(line, "Impuestos"), "Traslados"), "Traslado", **tax)
        if paper.third_party is not None:
            _add(line, "ACuentaTerceros", RfcACuentaTerceros=paper.third_party.tax_id,
                 NombreACuentaTerceros=_upper(paper.third_party), RegimenFiscalACuentaTerceros=COMPANY,
                 DomicilioFiscalACuentaTerceros=POSTCODE)  # fmt: skip
    if paper.net:
        taxes = _add(root, "Impuestos", TotalImpuestosTrasladados=_major(paper, paper.vat))
        _add(_add(taxes, "Traslados"), "Traslado", **tax)


def _add_payments(complement: Element, paper: Paper) -> None:
    root = SubElement(complement, _name(PAGOS, "Pagos"), Version="2.0")
    lines = [line for one in paper.settlements for line in one.settled]
    vat, paid = sum(line.vat for line in lines), sum(line.paid for line in lines)
    SubElement(root, _name(PAGOS, "Totales"), TotalTrasladosBaseIVA16=_pesos(paid - vat),
               TotalTrasladosImpuestoIVA16=_pesos(vat),
               MontoTotalPagos=_pesos(sum(one.amount for one in paper.settlements)))  # fmt: skip
    for one in paper.settlements:
        _add_payment(root, one)


def _add_payment(root: Element, one: Settlement) -> None:
    payment = SubElement(root, _name(PAGOS, "Pago"), FechaPago=_clock(one.paid_at), FormaDePagoP=one.form,
                         MonedaP="MXN", TipoCambioP="1", Monto=_pesos(one.amount))  # fmt: skip
    if one.operation:
        payment.set("NumOperacion", one.operation)
    for line in one.settled:
        paid = SubElement(payment, _name(PAGOS, "DoctoRelacionado"), IdDocumento=line.uuid, Folio=line.folio,
                          MonedaDR="MXN", EquivalenciaDR="1", NumParcialidad=str(line.instalment),
                          ImpSaldoAnt=_pesos(line.before), ImpPagado=_pesos(line.paid),
                          ImpSaldoInsoluto=_pesos(line.after), ObjetoImpDR="02")  # fmt: skip
        if line.series:
            paid.set("Serie", line.series)
        _add_tax(paid, "DR", line.paid - line.vat, line.vat)
    vat = sum(line.vat for line in one.settled)
    _add_tax(payment, "P", sum(line.paid for line in one.settled) - vat, vat)


def _add_tax(parent: Element, level: str, base: int, vat: int) -> None:
    taxes = SubElement(SubElement(parent, _name(PAGOS, f"Impuestos{level}")), _name(PAGOS, f"Traslados{level}"))
    tax = {f"Base{level}": _pesos(base), f"Impuesto{level}": "002", f"Importe{level}": _pesos(vat)}
    SubElement(taxes, _name(PAGOS, f"Traslado{level}"), tax | {f"{name}{level}": text for name, text in RATE.items()})


def _stamp(complement: Element, paper: Paper) -> None:
    stamp = SubElement(complement, _name(TFD, "TimbreFiscalDigital"), Version="1.1", UUID=paper.uuid,
                       FechaTimbrado=_clock(paper.issued_at), RfcProvCertif=CERTIFIER, SelloCFD=_seal(paper.uuid),
                       NoCertificadoSAT=CERTIFICATE, SelloSAT=_seal(f"{paper.uuid} sat"))  # fmt: skip
    stamp.set(_name(XSI, "schemaLocation"), f"{TFD} {SCHEMAS[TFD]}")


def _name(namespace: str, name: str) -> str:
    return f"{{{namespace}}}{name}"


def _add(parent: Element, name: str, **attributes: str) -> Element:
    return SubElement(parent, _name(CFDI, name), attributes)


def _upper(party: Party) -> str:
    return party.name.upper()


def _clock(at: datetime) -> str:
    return at.replace(tzinfo=None).isoformat(timespec="seconds")


def _major(paper: Paper, amount: int) -> str:
    return to_major(amount, paper.currency)


def _pesos(amount: int) -> str:
    return to_major(amount, "MXN")


def _seal(text: str) -> str:
    return b64encode(hashlib.sha512(text.encode()).digest()).decode()
