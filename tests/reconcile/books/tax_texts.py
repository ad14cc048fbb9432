"""Tax documents written by hand, as their issuers write them: CFDI with stamp, payment complements, DTE."""

MERCHANT, CUSTOMER = "EKU9003173C9", "XIA190128J61"
OWN_RUT, OTHER_RUT = "76192083-9", "77777777-7"
UUIDS = {letter: f"{letter * 8}-1111-4222-8333-{letter * 12}" for letter in "abcdef"}
CFDI = (
    '<?xml version="1.0" encoding="UTF-8"?><cfdi:Comprobante xmlns:cfdi="http://www.sat.gob.mx/cfd/4" '
    'Version="4.0" Serie="A" Folio="{folio}" Fecha="2026-10-05T23:30:00" Sello="{seal}" {terms} '
    'SubTotal="{net}" Moneda="{currency}" Total="{total}" TipoDeComprobante="{kind}" LugarExpedicion="06000">{related}'
    '<cfdi:Emisor Rfc="{issuer}" Nombre="COMERCIO UNO" RegimenFiscal="601"/>'
    '<cfdi:Receptor Rfc="{receiver}" Nombre="XENON INDUSTRIAL" UsoCFDI="G03"/>'
    '<cfdi:Conceptos><cfdi:Concepto Importe="{net}"/></cfdi:Conceptos>{taxes}'
    "<cfdi:Complemento>{complement}{stamp}</cfdi:Complemento></cfdi:Comprobante>"
)
TAXES = (
    '<cfdi:Impuestos TotalImpuestosTrasladados="{vat}"><cfdi:Traslados><cfdi:Traslado Base="{net}" Impuesto="002" '
    'TipoFactor="Tasa" TasaOCuota="0.160000" Importe="{vat}"/></cfdi:Traslados></cfdi:Impuestos>'
)
STAMP = '<tfd:TimbreFiscalDigital xmlns:tfd="http://www.sat.gob.mx/TimbreFiscalDigital" UUID="{uuid}"/>'
PUE = 'FormaPago="03" MetodoPago="PUE"'
PPD = 'FormaPago="99" MetodoPago="PPD"'


def cfdi(
    letter: str, *, kind: str = "I", total: str = "1160.00", net: str = "1000.00", vat: str = "160.00",
    issuer: str = MERCHANT, receiver: str = CUSTOMER, terms: str = PUE, related: str = "", stamp: bool = True,
    seal: str = "c2VhbA==", folio: str = "17",
) -> str:  # fmt: skip
    """Return a stamped document whose UUID is made of one letter; `related` are its nodes of relations."""
    return CFDI.format(
        kind=kind, total=total, net=net, issuer=issuer, receiver=receiver, terms=terms, related=related, seal=seal,
        folio=folio, currency="MXN", taxes=TAXES.format(net=net, vat=vat), complement="",
        stamp=STAMP.format(uuid=UUIDS[letter].upper()) if stamp else "",
    )  # fmt: skip


def related(kind: str, *letters: str) -> str:
    """Return one node of relations."""
    others = "".join(f'<cfdi:CfdiRelacionado UUID="{UUIDS[letter].upper()}"/>' for letter in letters)
    return f'<cfdi:CfdiRelacionados TipoRelacion="{kind}">{others}</cfdi:CfdiRelacionados>'


def complement(
    letter: str, *settled: tuple[str, int, str, str, str], operation: str = "", amount: str = "500.00"
) -> str:
    """Return a payment complement of one payment; of each document letter, instalment, balance, part and rest."""
    documents = "".join(
        f'<pago20:DoctoRelacionado IdDocumento="{UUIDS[paid].upper()}" Serie="A" Folio="17" MonedaDR="MXN" '
        f'EquivalenciaDR="1" NumParcialidad="{number}" ImpSaldoAnt="{before}" ImpPagado="{part}" '
        f'ImpSaldoInsoluto="{after}" ObjetoImpDR="02"><pago20:ImpuestosDR><pago20:TrasladosDR><pago20:TrasladoDR '
        'BaseDR="431.034483" ImpuestoDR="002" TipoFactorDR="Tasa" TasaOCuotaDR="0.160000" ImporteDR="68.965517"/>'
        "</pago20:TrasladosDR></pago20:ImpuestosDR></pago20:DoctoRelacionado>"
        for paid, number, before, part, after in settled
    )
    said = f' NumOperacion="{operation}"' if operation else ""
    payments = (
        '<pago20:Pagos xmlns:pago20="http://www.sat.gob.mx/Pagos20" Version="2.0"><pago20:Totales '
        f'MontoTotalPagos="{amount}"/><pago20:Pago FechaPago="2026-10-20T12:00:00" FormaDePagoP="03" MonedaP="MXN" '
        f'TipoCambioP="1" Monto="{amount}"{said}>{documents}</pago20:Pago></pago20:Pagos>'
    )
    return CFDI.format(
        kind="P", total="0", net="0", issuer=MERCHANT, receiver=CUSTOMER, terms="", related="", seal="cA==", folio="3",
        currency="XXX", taxes="", complement=payments, stamp=STAMP.format(uuid=UUIDS[letter].upper()),
    )  # fmt: skip


def dte(
    kind: str, folio: int, *, totals: str, issuer: str = OWN_RUT, receiver: str = OTHER_RUT, about: str = "",
    references: str = "", namespace: bool = True, name: str = "Ferretería Ñuñoa", stamp: bool = True,
) -> str:  # fmt: skip
    """Return a document alone, as the portal of the tax office gives it; text, so that a test chooses the bytes."""
    space = ' xmlns="http://www.sii.cl/SiiDte"' if namespace else ""
    inside = body(
        kind, folio, totals=totals, issuer=issuer, receiver=receiver, about=about, references=references, name=name,
        stamp=stamp,
    )  # fmt: skip
    return f'<?xml version="1.0" encoding="ISO-8859-1"?><DTE{space} version="1.0">{inside}</DTE>'


def body(
    kind: str, folio: int, *, totals: str, issuer: str = OWN_RUT, receiver: str = OTHER_RUT, about: str = "",
    references: str = "", name: str = "Ferretería Ñuñoa", stamp: bool = True,
) -> str:  # fmt: skip
    """Return the part of a document that an envelope holds many of."""
    ted = f'<TED version="1.0"><DD/><FRMT algoritmo="SHA1withRSA">{kind}{folio}</FRMT></TED>' if stamp else ""
    return (
        f'<Documento ID="T{kind}F{folio}"><Encabezado><IdDoc><TipoDTE>{kind}</TipoDTE><Folio>{folio}</Folio>'
        f"<FchEmis>2026-10-05</FchEmis>{about}</IdDoc><Emisor><RUTEmisor>{issuer}</RUTEmisor>"
        f"<RznSoc>Comercio Uno</RznSoc></Emisor><Receptor><RUTRecep>{receiver}</RUTRecep>"
        f"<RznSocRecep>{name}</RznSocRecep></Receptor><Totales>{totals}</Totales></Encabezado>"
        f"<Detalle><NmbItem>Caja</NmbItem></Detalle>{references}{ted}</Documento>"
    )


TOTALS = "<MntNeto>100000</MntNeto><TasaIVA>19</TasaIVA><IVA>19000</IVA><MntTotal>119000</MntTotal>"


def reference(kind: str, folio: str, code: str = "", reason: str = "") -> str:
    said = f"<CodRef>{code}</CodRef>" if code else ""
    return (
        f"<Referencia><NroLinRef>1</NroLinRef><TpoDocRef>{kind}</TpoDocRef><FolioRef>{folio}</FolioRef>"
        f"<FchRef>2026-10-01</FchRef>{said}<RazonRef>{reason}</RazonRef></Referencia>"
    )
