"""What the tax offices keep: Chile's register of sales and purchases, Mexico's metadata, a return's figures."""

import csv
import io
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from sandbox.scenarios.books import to_major
from sandbox.scenarios.fees import divide_half_up
from sandbox.state.papers import Entry, Paper, TaxView

_SELLING = (
    "Nro|Tipo Doc|Tipo Venta|Rut cliente|Razon Social|Folio|Fecha Docto|Fecha Recepcion|Fecha Acuse Recibo|"
    "Fecha Reclamo|Monto Exento|Monto Neto|Monto IVA|Monto total|IVA Retenido Total|IVA Retenido Parcial|"
    "IVA no retenido|IVA propio|IVA Terceros|RUT Emisor Liquid. Factura|Neto Comision Liquid. Factura|"
    "Exento Comision Liquid. Factura|IVA Comision Liquid. Factura|IVA fuera de plazo|Tipo Docto. Referencia|"
    "Folio Docto. Referencia|Num. Ident. Receptor Extranjero|Nacionalidad Receptor Extranjero|"
    "Credito empresa constructora|Impto. Zona Franca (Ley 18211)|Garantia Dep. Envases|"
    "Indicador Venta sin Costo|Indicador Servicio Periodico|Monto No facturable|Total Monto Periodo|"
    "Venta Pasajes Transporte Nacional|Venta Pasajes Transporte Internacional|Numero Interno|Codigo Sucursal|"
    "NCE o NDE sobre Fact. de Compra|Codigo Otro Imp.|Valor Otro Imp.|Tasa Otro Imp."
)
_BUYING = (
    "Nro|Tipo Doc|Tipo Compra|RUT Proveedor|Razon Social|Folio|Fecha Docto|Fecha Recepcion|{when}Monto Exento|"
    "Monto Neto|Monto IVA Recuperable|Monto Iva No Recuperable|Codigo IVA No Rec.|Monto Total|"
    "Monto Neto Activo Fijo|IVA Activo Fijo|IVA uso Comun|Impto. Sin Derecho a Credito|IVA No Retenido|{tobacco}"
    "NCE o NDE sobre Fact. de Compra|Codigo Otro Impuesto|Valor Otro Impuesto|Tasa Otro Impuesto"
)
_TOBACCO = "Tabacos Puros|Tabacos Cigarrillos|Tabacos Elaborados|"
SALES = tuple(_SELLING.split("|"))
PURCHASES = {
    "registro": tuple(_BUYING.format(when="Fecha Acuse|", tobacco=_TOBACCO).split("|")),
    "pendiente": tuple(_BUYING.format(when="", tobacco=_TOBACCO).split("|")),
    "reclamado": tuple(_BUYING.format(when="Fecha Reclamo|", tobacco=_TOBACCO).split("|")),
    "no_incluir": tuple(_BUYING.format(when="Fecha Acuse|", tobacco="").split("|")),
}
SUMMARY = ("Tipo Documento", "Total Documentos", "Monto Exento", "Monto Neto", "Monto IVA", "Monto Total")
METADATA = (
    "Uuid", "RfcEmisor", "NombreEmisor", "RfcReceptor", "NombreReceptor", "RfcPac", "FechaEmision",
    "FechaCertificacionSat", "Monto", "EfectoComprobante", "Estatus", "FechaCancelacion",
)  # fmt: skip
ON_BEHALF = ("Uuid", "RfcACuentaTerceros", "NombreACuentaTerceros")
OF_TOTALS = ("39", "41")  # only sums of them are shown
VOUCHERS, LIQUIDATION = "48", "43"
EXPORTS = {"110": 1, "111": 1, "112": -1}


@dataclass(frozen=True, slots=True)
class Sums:
    """What one type of document comes to in one period."""

    count: int
    exempt: int
    net: int
    vat: int
    total: int


def write_register(view: TaxView, at: datetime) -> Iterator[tuple[str, str]]:
    """Return the files of Chile's register as of a moment: each period's sales, purchases by state, and sums."""
    entries = [entry for entry in view.register if entry.received_at is None or entry.received_at <= at]
    periods = sorted({entry.period for entry in entries} | {f"{one.on:%Y-%m}" for one in view.vouchers})
    owner = view.papers[0].issuer.tax_id if view.papers else "0"
    for period in periods:
        stem = f"{owner}_{period.replace('-', '')}"
        own = [entry for entry in entries if entry.period == period]
        sales = [entry for entry in own if entry.side == "sales"]
        detailed = [entry for entry in sales if entry.paper.kind not in OF_TOTALS]
        yield f"RCV_VENTA_{stem}.csv", _table(SALES, map(_sale_row, range(1, len(detailed) + 1), detailed))
        yield f"RCV_RESUMEN_VENTA_{stem}.csv", _table(SUMMARY, _summary(sum_up(view, period, at)), ends_in="")
        for state, columns in PURCHASES.items():
            bought = [entry for entry in own if entry.side == "purchases" and entry.state == state]
            rows = map(_purchase_row, range(1, len(bought) + 1), bought)
            yield f"RCV_COMPRA_{state.upper()}_{stem}.csv", _table(columns, rows)


def sum_up(view: TaxView, period: str, at: datetime) -> dict[str, Sums]:
    """Return the sums of a period's sales by type, claimed documents left out, vouchers included."""
    rows: defaultdict[str, list[Paper]] = defaultdict(list)
    for entry in view.register:
        is_there = entry.received_at is None or entry.received_at <= at
        if entry.side == "sales" and entry.period == period and entry.claimed_at is None and is_there:
            rows[entry.paper.kind].append(entry.paper)
    sums = {kind: _sum(papers) for kind, papers in rows.items()}
    days = [one for one in view.vouchers if f"{one.on:%Y-%m}" == period]
    if days:
        total = sum(one.total for one in days)
        net = divide_half_up(total * 100, 119)
        sums[VOUCHERS] = Sums(sum(one.count for one in days), 0, net, total - net, total)
    return {kind: sums[kind] for kind in sorted(sums, key=int)}


def _sum(papers: list[Paper]) -> Sums:
    pesos = [paper for paper in papers if paper.currency == "CLP"]
    return Sums(len(papers), sum(p.exempt for p in pesos), sum(p.net for p in pesos), sum(p.vat for p in pesos),
                sum(p.total for p in pesos))  # fmt: skip


def declare(view: TaxView, period: str, at: datetime) -> dict[str, int]:
    """Return the figures of the F29 that follow from the register of a period, by code."""
    sums = sum_up(view, period, at)
    papers = [entry.paper for entry in view.register if entry.side == "sales" and entry.period == period]
    kept_out: Counter[str] = Counter()
    for paper in papers:
        kept_out[paper.kind] += paper.vat if paper.key in view.unreported else 0
    bought = [entry.paper for entry in view.register
              if entry.side == "purchases" and entry.period == period and entry.state == "registro"]  # fmt: skip
    figures: Counter[str] = Counter()
    for kind, (count, amount) in {"33": ("503", "502"), "39": ("110", "111"), VOUCHERS: ("758", "759"),
                                  "56": ("512", "513"), "61": ("509", "510")}.items():  # fmt: skip
        if kind in sums:
            figures[count] += sums[kind].count
            figures[amount] += sums[kind].vat - kept_out[kind]
    figures["142"] = sum(one.exempt for kind, one in sums.items() if kind in {"33", "34", "39", "41"})
    figures["20"] = sum(sums[kind].exempt * sign for kind, sign in EXPORTS.items() if kind in sums)
    figures["519"] = sum(paper.kind == "33" for paper in bought)
    figures["520"] = sum(paper.vat for paper in bought if paper.kind == "33")
    figures["538"] = figures["502"] + figures["111"] + figures["759"] + figures["513"] - figures["510"]
    figures["537"] = figures["520"]
    figures["89" if figures["538"] >= figures["537"] else "77"] = abs(figures["538"] - figures["537"])
    return {code: figures[code] for code in sorted(figures, key=int) if figures[code]}


def write_metadata(view: TaxView, at: datetime) -> Iterator[tuple[str, str]]:
    """Return Mexico's metadata as of a moment: every UUID with its state, and for whom goods were sold."""
    papers = [entry.paper for entry in view.register if entry.received_at is None or entry.received_at <= at]
    rows = ["~".join(METADATA), *("~".join(_metadata_row(paper, at)) for paper in papers)]
    yield "A1B2C3D4-0001_01.txt", "".join(f"{row}\r\n" for row in rows)
    others = [(p.uuid.upper(), p.third_party.tax_id, p.third_party.name) for p in papers if p.third_party is not None]
    yield "A1B2C3D4-0001_tercero.txt", "".join("~".join(row) + "\r\n" for row in [ON_BEHALF, *others])


def _metadata_row(paper: Paper, at: datetime) -> tuple[str, ...]:
    is_cancelled = paper.cancelled_at is not None and paper.cancelled_at <= at
    issued = f"{paper.issued_at:%Y-%m-%d %H:%M:%S}"
    gone = f"{paper.cancelled_at:%Y-%m-%d %H:%M:%S}" if is_cancelled else ""
    return (paper.uuid.upper(), paper.issuer.tax_id, paper.issuer.name, paper.receiver.tax_id, paper.receiver.name,
            "SPR190613I52", issued, issued, to_major(paper.total, paper.currency), paper.kind,
            "0" if is_cancelled else "1", gone)  # fmt: skip


def _sale_row(number: int, entry: Entry) -> dict[str, str]:
    paper = entry.paper
    referred = paper.relations[0] if paper.relations else None
    row = dict.fromkeys(SALES, "0") | dict.fromkeys(SALES[24:28], "")
    return row | {
        "Nro": str(number), "Tipo Doc": paper.kind, "Tipo Venta": "Del Giro", "Rut cliente": paper.receiver.tax_id,
        "Razon Social": paper.receiver.name, "Folio": paper.folio, "Fecha Docto": f"{paper.issued_at:%d/%m/%Y}",
        "Fecha Recepcion": _moment(entry.received_at), "Fecha Acuse Recibo": "",
        "Fecha Reclamo": _moment(entry.claimed_at), "Monto Exento": str(paper.exempt), "Monto Neto": str(paper.net),
        "Monto IVA": str(paper.vat), "Monto total": str(paper.total),
        "IVA Terceros": str(paper.vat if paper.kind == LIQUIDATION else 0),
        "Tipo Docto. Referencia": referred.kind if referred else "",
        "Folio Docto. Referencia": referred.number if referred else "",
        "Numero Interno": "", "Codigo Sucursal": "", "Codigo Otro Imp.": "", "Valor Otro Imp.": "",
        "Tasa Otro Imp.": "",
    }  # fmt: skip


def _purchase_row(number: int, entry: Entry) -> dict[str, str]:
    paper, columns = entry.paper, PURCHASES[entry.state]
    when = {"Fecha Acuse": _moment(entry.received_at), "Fecha Reclamo": _moment(entry.claimed_at)}
    supplier = paper.receiver if paper.kind == "46" else paper.issuer
    row = dict.fromkeys(columns, "0") | {name: when[name] for name in columns if name in when}
    return row | {
        "Nro": str(number), "Tipo Doc": paper.kind, "Tipo Compra": "Del Giro", "RUT Proveedor": supplier.tax_id,
        "Razon Social": supplier.name, "Folio": paper.folio, "Fecha Docto": f"{paper.issued_at:%d/%m/%Y}",
        "Fecha Recepcion": _moment(entry.received_at), "Monto Exento": str(paper.exempt),
        "Monto Neto": str(paper.net), "Monto IVA Recuperable": str(paper.vat), "Codigo IVA No Rec.": "",
        "Monto Total": str(paper.total), "Codigo Otro Impuesto": "", "Valor Otro Impuesto": "",
        "Tasa Otro Impuesto": "",
    }  # fmt: skip


def _summary(sums: dict[str, Sums]) -> Iterator[dict[str, str]]:
    for kind, one in sums.items():
        cells = (kind, one.count, one.exempt, one.net, one.vat, one.total)
        yield dict(zip(SUMMARY, map(str, cells), strict=True))


def _table(columns: tuple[str, ...], rows: Iterable[dict[str, str]], *, ends_in: str = ";") -> str:
    """Return a file of the register; its rows end in one separator more than its heading."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=";", lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([row[name] for name in columns] + ([""] if ends_in else []))
    return text.getvalue()


def _moment(at: datetime | None) -> str:
    return "" if at is None else f"{at:%d/%m/%Y %H:%M:%S}"
