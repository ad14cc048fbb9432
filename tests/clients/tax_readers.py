"""Read the tax papers of an archive with a library of others, alone in its folder; print what it reads as JSON."""

import json
import sys
import zipfile
from collections.abc import Iterator
from importlib import import_module
from typing import Any

Figures = dict[str, Any]


def read_mexico(content: bytes) -> Iterator[tuple[str, Figures]]:
    """Yield name and figures of each CFDI."""
    read = import_module("satcfdi.cfdi").CFDI.from_string(content)
    taxes = (read.get("Impuestos") or {}).get("Traslados") or {}
    stated = (str(tax["Importe"]) for tax in taxes.values() if tax["Impuesto"].code == "002" and "Importe" in tax)
    yield read["Complemento"]["TimbreFiscalDigital"]["UUID"].lower(), {
        "kind": read["TipoDeComprobante"].code, "issuer": read["Emisor"]["Rfc"], "receiver": read["Receptor"]["Rfc"],
        "total": str(read["Total"]), "vat": list(stated),
        "relations": sorted([[node["TipoRelacion"].code, uuid.lower()]
                             for node in read.get("CfdiRelacionados") or () for uuid in node["CfdiRelacionado"]]),
        "payments": [
            [payment["FechaPago"].isoformat(), payment["FormaDePagoP"].code, str(payment["Monto"]),
             payment.get("NumOperacion", ""), paid["IdDocumento"].lower(), int(paid["NumParcialidad"]),
             str(paid["ImpSaldoAnt"]), str(paid["ImpPagado"]), str(paid["ImpSaldoInsoluto"])]
            for payment in (read["Complemento"].get("Pagos") or {}).get("Pago", ())
            for paid in payment["DoctoRelacionado"]
        ],
    }  # fmt: skip


def read_chile(content: bytes) -> Iterator[tuple[str, Figures]]:
    """Yield name and figures of each DTE of a file, alone or in a set."""
    etree, parser = import_module("lxml.etree"), import_module("cl_sii.dte.parse")
    to_xml = import_module("cl_sii.libs.xml_utils").parse_untrusted_xml
    root = etree.fromstring(content)
    space = "{http://www.sii.cl/SiiDte}"
    for element in [root] if root.tag.endswith("DTE") and "Envio" not in root.tag else root.iter(f"{space}DTE"):
        try:
            read = parser.parse_dte_xml(to_xml(etree.tostring(element)))
        except Exception as error:  # noqa: BLE001 - whatever it refuses a document with is its answer
            yield "refused", {"error": f"{type(error).__name__}: {error}"[:200]}
            continue
        yield f"{read.tipo_dte.value}:{read.folio}", {
            "issuer": read.emisor_rut.canonical, "receiver": read.receptor_rut.canonical,
            "total": str(read.monto_total), "on": read.fecha_emision_date.isoformat(),
            "due_on": read.fecha_vencimiento_date and read.fecha_vencimiento_date.isoformat(),
        }  # fmt: skip


if __name__ == "__main__":
    read_one = {"mx": read_mexico, "cl": read_chile}[sys.argv[1]]
    with zipfile.ZipFile(sys.argv[2]) as archive:
        found = [one for name in archive.namelist() for one in read_one(archive.read(name))]
    sys.stdout.write(json.dumps(found))
