"""Bring in CFDI as fast as they can be parsed: the import against a bare parse of the same files in the same run.

    .venv/bin/python tests/benchmarks/books/bench_tax_documents.py [DOCUMENTS]

prints seconds of both, their ratio and how much memory the import added.
"""

import resource
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

from defusedxml.ElementTree import fromstring
from pydantic import SecretStr

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from consumer.facts.installation import Installation
from consumer.facts.schema import upgrade
from consumer.facts.settings import Connection, Settings
from consumer.facts.store import Store
from reconcile.books.tax_intake import import_tax_files
from tests.reconcile.books.tax_texts import MERCHANT, UUIDS, cfdi

DOCUMENTS, A_FOLDER, LINES = 20_000, 1_000, 4
LINE = (
    '<cfdi:Concepto ClaveProdServ="01010101" Cantidad="1" ClaveUnidad="H87" Descripcion="Caja de herramientas" '
    'ValorUnitario="500.00" Importe="500.00" ObjetoImp="02"><cfdi:Impuestos><cfdi:Traslados><cfdi:Traslado '
    'Base="500.00" Impuesto="002" TipoFactor="Tasa" TasaOCuota="0.160000" Importe="80.00"/></cfdi:Traslados>'
    "</cfdi:Impuestos></cfdi:Concepto>"
)


def write(folder: Path, count: int) -> None:
    """Write documents of four lines with seals as long as real ones."""
    for number in range(count):
        text = cfdi("a", seal="Q" * 344, folio=str(number))
        text = text.replace(UUIDS["a"].upper(), str(UUID(int=number + 1)))
        text = text.replace("</cfdi:Conceptos>", LINE * LINES + "</cfdi:Conceptos>")
        text = text.replace(" LugarExpedicion", f' Certificado="{"M" * 2_400}" LugarExpedicion')
        place = folder / f"{number // A_FOLDER:04}"
        place.mkdir(exist_ok=True)
        (place / f"{number}.xml").write_text(text, encoding="utf-8")


def main(count: int) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name) / "xml"
        folder.mkdir()
        write(folder, count)
        began = time.perf_counter()
        for path in folder.rglob("*.xml"):
            fromstring(path.read_bytes(), forbid_dtd=True)
        bare = time.perf_counter() - began
        store = Store(f"sqlite:///{name}/cuadre.db")
        upgrade(store)
        terms = {"name": "main", "api_key": "sk_test_one", "country": "mx", "tax_id": MERCHANT}
        settings = Settings.model_construct(data_dir=Path(name), secret_key=SecretStr("benchmark"))
        before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
        outcome = import_tax_files(
            Installation(settings=settings, store=store), Connection.model_validate(terms), [folder]
        )
        seconds = time.perf_counter() - began
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        print(f"{outcome.kept:,} documents: bare parse {bare:.1f} s, import {seconds:.1f} s")
        print(f"ratio {seconds / bare:.2f}, memory grew by {grown:.0f} MB")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else DOCUMENTS)
