"""Bring in CFDI as fast as they can be parsed: the import against a bare parse of the same files in the same run.

    .venv/bin/python tests/benchmarks/books/bench_tax_documents.py [DOCUMENTS [ROUNDS]]

prints seconds of both, their ratio (median, least and most of the rounds) and how much memory the import added. The
bare parse is that of defusedxml in every case. Documents are of twelve months: last is what the tie-out of one takes,
and with everything read.
"""

import os
import resource
import sys
import time
from datetime import date
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from uuid import UUID

from defusedxml.ElementTree import fromstring

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

# A process that reads files imports the main file anew; the command's is as light as this file is without these.
if __name__ != "__mp_main__":
    from pydantic import SecretStr

    from consumer.facts.installation import Installation
    from consumer.facts.schema import upgrade
    from consumer.facts.settings import Connection, Settings
    from consumer.facts.store import Store
    from reconcile.books.tax_intake import import_tax_files
    from reconcile.fiscal.reading import read_world
    from reconcile.fiscal.tie_out import tie_out
    from tests.reconcile.books.tax_texts import MERCHANT, UUIDS, cfdi

DOCUMENTS, A_FOLDER, LINES = 20_000, 1_000, 4
MONTH = "2026-10"
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
        text = text.replace('Fecha="2026-10-', f'Fecha="2026-{number % 12 + 1:02}-')
        text = text.replace("</cfdi:Conceptos>", LINE * LINES + "</cfdi:Conceptos>")
        text = text.replace(" LugarExpedicion", f' Certificado="{"M" * 2_400}" LugarExpedicion')
        place = folder / f"{number // A_FOLDER:04}"
        place.mkdir(exist_ok=True)
        (place / f"{number}.xml").write_text(text, encoding="utf-8")


def spend() -> float:
    """Return the processor seconds of this process and of those it started."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def time_bare(folder: Path) -> tuple[float, float]:
    """Return seconds of the clock and of the processor that the guarded parser takes for the same files."""
    began, spent = time.perf_counter(), spend()
    for path in folder.rglob("*.xml"):
        fromstring(path.read_bytes(), forbid_dtd=True)
    return time.perf_counter() - began, spend() - spent


def time_import(folder: Path, place: Path, count: int) -> tuple[float, float]:
    """Return seconds of the clock and of the processor that an import into an empty database takes."""
    place.mkdir()
    store = Store(f"sqlite:///{place}/cuadre.db")
    upgrade(store)
    terms = {"name": "main", "api_key": "sk_test_one", "country": "mx", "tax_id": MERCHANT}
    settings = Settings.model_construct(data_dir=place, secret_key=SecretStr("benchmark"))
    began, spent = time.perf_counter(), spend()
    outcome = import_tax_files(Installation(settings=settings, store=store), Connection.model_validate(terms), [folder])
    seconds, processor = time.perf_counter() - began, spend() - spent
    store.engine.dispose()
    assert outcome.kept == count
    return seconds, processor


def time_tie_out(place: Path, periods: list[str] | None) -> float:
    """Return seconds of the processor that reading and tying out one month takes."""
    store = Store(f"sqlite:///{place}/cuadre.db")
    connection = Connection.model_validate({"name": "main", "api_key": "sk_test_one", "country": "mx"})
    spent = spend()
    with store.reading() as session:
        ties = tie_out(read_world(session, connection, today=date(2026, 11, 20), periods=periods), MONTH)
    store.engine.dispose()
    assert any(tie.figure == "vat_caused" and tie.a.amount for tie in ties)
    return spend() - spent


def describe(figures: list[float]) -> str:
    return f"{median(figures):.2f} ({min(figures):.2f} to {max(figures):.2f})"


def main(count: int, rounds: int) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name) / "xml"
        folder.mkdir()
        write(folder, count)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        pairs = [(time_bare(folder), time_import(folder, Path(name) / str(one), count)) for one in range(rounds)]
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        tied = [time_tie_out(Path(name) / "0", periods) for periods in ([MONTH], None)]
        child = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        bare, taken = (median(pair[place][0] for pair in pairs) for place in (0, 1))
        print(f"{count:,} documents: bare parse {bare:.1f} s, import {taken:.1f} s")
        print(f"ratio {describe([ours[0] / theirs[0] for theirs, ours in pairs])} by the clock,")
        ratios = [ours[1] / theirs[1] for theirs, ours in pairs]
        print(f"      {describe(ratios)} of the processor, load {os.getloadavg()[0]:.1f}")
        print(f"tie-out of a month {tied[0]:.1f} s of the processor, {tied[1]:.1f} s with everything read")
        print(f"memory grew by {grown:.0f} MB, the largest reading process had {child:.0f} MB")


if __name__ == "__main__":
    main(*(int(text) for text in (sys.argv[1:] + [str(DOCUMENTS), "5"][len(sys.argv) - 1 :])))
