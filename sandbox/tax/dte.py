"""Chilean tax documents as XML: one DTE as a portal hands it out, and the sets that were sent to the tax office."""

import hashlib
from base64 import b64encode
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from xml.etree.ElementTree import Element, SubElement, tostring

from sandbox.scenarios.books import to_major
from sandbox.state.papers import CORRECTS, PUBLIC, VOIDS, Paper, Relation

SII, DSIG = "http://www.sii.cl/SiiDte", "http://www.w3.org/2000/09/xmldsig#"
RECEIPTS, EXPORTS, LIQUIDATION = ("39", "41"), ("110", "111", "112"), "43"
DOLLARS = {"CLP": "PESO CL", "USD": "DOLAR USA"}
TAX_OFFICE = "60803000-K"
LARGEST_SET = 500
Tree = Mapping[str, "str | Tree | Sequence[Tree] | None"]


def write_dte(paper: Paper) -> bytes:
    """Return one document on its own and without a namespace, as the portal for small companies does."""
    return _write(_to_element(paper))


def write_set(papers: Sequence[Paper]) -> bytes:
    """Return the set in which documents of one kind of form were sent: EnvioBOLETA of receipts, else EnvioDTE."""
    is_receipts = papers[0].kind in RECEIPTS
    root = Element("EnvioBOLETA" if is_receipts else "EnvioDTE", version="1.0")
    body = SubElement(root, "SetDTE", ID="SetDoc")
    kinds = sorted(Counter(paper.kind for paper in papers).items(), key=lambda pair: int(pair[0]))
    cover: Tree = {
        "RutEmisor": papers[0].issuer.tax_id, "RutEnvia": papers[0].issuer.tax_id, "RutReceptor": TAX_OFFICE,
        "FchResol": "2019-03-01", "NroResol": "80", "TmstFirmaEnv": _clock(papers[-1].issued_at),
        "SubTotDTE": [{"TpoDTE": kind, "NroDTE": str(count)} for kind, count in kinds],
    }  # fmt: skip
    _grow(SubElement(body, "Caratula", version="1.0"), cover)
    body.extend(_to_element(paper) for paper in papers)
    root.append(_sign("#SetDoc"))
    root.set("xmlns", SII)
    return _write(root)


def _write(root: Element) -> bytes:
    written: bytes = tostring(root, encoding="ISO-8859-1", xml_declaration=True)
    return written


def _to_element(paper: Paper) -> Element:
    root = Element("DTE", version="1.0")
    form = "Exportaciones" if paper.kind in EXPORTS else "Liquidacion" if paper.kind == LIQUIDATION else "Documento"
    name = f"T{paper.kind}F{paper.folio}"
    document = SubElement(root, form, ID=name)
    heading: Tree = {"IdDoc": _identify(paper), "Emisor": _describe_issuer(paper), "Receptor": _describe_buyer(paper),
                     "Totales": _total(paper)}  # fmt: skip
    references = [_refer(paper, number, one) for number, one in enumerate(paper.relations, start=1)]
    _grow(document, {"Encabezado": heading, "Detalle": _list_lines(paper), "Referencia": references})
    if form == "Liquidacion":
        _grow(document, {"Comisiones": {"NroLinCom": "1", "TipoMovim": "C", "Glosa": "Comision",
                                        "ValComNeto": "0", "ValComExe": "0"}})  # fmt: skip
    document.append(_bar_code(paper))
    _grow(document, {"TmstFirma": _clock(paper.issued_at)})
    root.append(_sign(f"#{name}"))
    return root


def _identify(paper: Paper) -> Tree:
    if paper.kind in RECEIPTS:
        return {"TipoDTE": paper.kind, "Folio": paper.folio, "FchEmis": _day(paper.issued_at), "IndServicio": "3"}
    is_credit = paper.due_on is not None and paper.kind in {"33", "34"}
    return {
        "TipoDTE": paper.kind, "Folio": paper.folio, "FchEmis": _day(paper.issued_at),
        "IndNoRebaja": "1" if paper.no_debit_right else None, "IndTraslado": "1" if paper.kind == "52" else None,
        "FmaPago": "2" if is_credit else None,
        "FchVenc": paper.due_on.isoformat() if is_credit and paper.due_on else None,
    }  # fmt: skip


def _describe_issuer(paper: Paper) -> Tree:
    if paper.kind in RECEIPTS:
        return {"RUTEmisor": paper.issuer.tax_id, "RznSocEmisor": paper.issuer.name, "GiroEmisor": "Comercio"}
    issuer = {"RUTEmisor": paper.issuer.tax_id, "RznSoc": paper.issuer.name, "GiroEmis": "Comercio", "Acteco": "479100"}
    return issuer | {"DirOrigen": "Avenida Uno 100", "CmnaOrigen": "Santiago"}


def _describe_buyer(paper: Paper) -> Tree:
    if paper.kind in RECEIPTS:
        return {"RUTRecep": paper.receiver.tax_id, "RznSocRecep": paper.receiver.name[:40]}
    buyer = {"RUTRecep": paper.receiver.tax_id, "RznSocRecep": paper.receiver.name, "GiroRecep": "Comercio"}
    return buyer | {"DirRecep": "Calle Dos 200", "CmnaRecep": "Santiago"}


def _total(paper: Paper) -> Tree:
    net, exempt, vat = (str(amount) if amount else None for amount in (paper.net, paper.exempt, paper.vat))
    rate = "19" if paper.vat and paper.kind not in RECEIPTS else None
    if paper.kind in EXPORTS:
        total = _major(paper, paper.total)
        return {"TpoMoneda": DOLLARS[paper.currency], "MntExe": total, "MntTotal": total}
    others = {"IVAProp": "0", "IVATerc": vat} if paper.kind == LIQUIDATION else {}
    return {"MntNeto": net, "MntExe": exempt, "TasaIVA": rate, "IVA": vat, **others, "MntTotal": str(paper.total)}


def _list_lines(paper: Paper) -> Sequence[Tree]:
    """Return the lines: of receipts with VAT, of all others without."""
    name = paper.order_ref or "Venta"
    taxed = paper.net + (paper.vat if paper.kind in RECEIPTS else 0)
    rows = [(taxed, None), (paper.exempt, "1")]
    if paper.kind in EXPORTS:
        rows = [(paper.exempt, "1")]
    first = {"TpoDocLiq": "33"} if paper.kind == LIQUIDATION else {}
    return [
        {"NroLinDet": str(number), **first, "IndExe": mark, "NmbItem": name, "MontoItem": _major(paper, amount)}
        for number, (amount, mark) in enumerate((row for row in rows if row[0]), start=1)
    ]


def _refer(paper: Paper, number: int, one: Relation) -> Tree:
    about: Tree = {"CodRef": one.code if one.code in {VOIDS, "2", CORRECTS} else None, "RazonRef": one.reason or None}
    if paper.kind in RECEIPTS:
        return {"NroLinRef": str(number), "TpoDocRef": one.kind, "FolioRef": one.number, **about}
    return {"NroLinRef": str(number), "TpoDocRef": one.kind, "FolioRef": one.number, "FchRef": one.on.isoformat(),
            **about}  # fmt: skip


def _bar_code(paper: Paper) -> Element:
    day, seal = _day(paper.issued_at), _seal(paper.key)
    root = Element("TED", version="1.0")
    data = SubElement(root, "DD")
    _grow(data, {"RE": paper.issuer.tax_id, "TD": paper.kind, "F": paper.folio, "FE": day,
                 "RR": paper.receiver.tax_id or PUBLIC["cl"], "RSR": paper.receiver.name[:40],
                 "MNT": _major(paper, paper.total), "IT1": "Venta"})  # fmt: skip
    permit = SubElement(data, "CAF", version="1.0")
    _grow(permit, {"DA": {"RE": paper.issuer.tax_id, "RS": paper.issuer.name[:40], "TD": paper.kind,
                          "RNG": {"D": "1", "H": "9999999"}, "FA": "2026-01-05",
                          "RSAPK": {"M": seal, "E": "Aw=="}, "IDK": "300"}})  # fmt: skip
    SubElement(permit, "FRMA", algoritmo="SHA1withRSA").text = seal
    _grow(data, {"TSTED": _clock(paper.issued_at)})
    SubElement(root, "FRMT", algoritmo="SHA1withRSA").text = seal
    return root


def _sign(uri: str) -> Element:
    """Return a signature of the right form; its values are made up."""
    root = Element("Signature", xmlns=DSIG)
    info = SubElement(root, "SignedInfo")
    SubElement(info, "CanonicalizationMethod", Algorithm="http://www.w3.org/TR/2001/REC-xml-c14n-20010315")
    SubElement(info, "SignatureMethod", Algorithm=f"{DSIG}rsa-sha1")
    reference = SubElement(info, "Reference", URI=uri)
    SubElement(reference, "DigestMethod", Algorithm=f"{DSIG}sha1")
    SubElement(reference, "DigestValue").text = b64encode(
        hashlib.sha1(uri.encode(), usedforsecurity=False).digest()
    ).decode()
    seal = _seal(uri)
    _grow(root, {"SignatureValue": seal, "KeyInfo": {"KeyValue": {"RSAKeyValue": {"Modulus": seal, "Exponent": "AQAB"}},
                                                     "X509Data": {"X509Certificate": seal}}})  # fmt: skip
    return root


def _grow(parent: Element, tree: Tree) -> None:
    """Add the tree below the parent; what is None is left out, a sequence is repeated under its name."""
    for name, value in tree.items():
        if value is None:
            continue
        for one in [value] if isinstance(value, str | Mapping) else value:
            child = SubElement(parent, name)
            if isinstance(one, str):
                child.text = one
            else:
                _grow(child, one)


def _day(at: datetime) -> str:
    return at.date().isoformat()


def _clock(at: datetime) -> str:
    return at.replace(tzinfo=None).isoformat(timespec="seconds")


def _major(paper: Paper, amount: int) -> str:
    return to_major(amount, paper.currency)


def _seal(text: str) -> str:
    return b64encode(hashlib.sha512(text.encode()).digest()).decode()
