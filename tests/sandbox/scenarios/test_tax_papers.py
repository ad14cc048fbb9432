"""Tax papers of a world: XML of both countries, registers, declared figures, and the causes planted in them.

The official schemas are not installed with the tests, so these check our reading of them only: names, order and sums.
"""

import io
import zipfile
from collections import Counter
from xml.etree.ElementTree import Element

import httpx
import pytest
from defusedxml.ElementTree import fromstring

from sandbox.scenarios import build
from sandbox.serve import create_sandbox
from tests.sandbox.conftest import START

BOTH = ["amount_differs", "fee_invoice_differs", "fee_invoice_other_period", "fee_not_invoiced", "not_in_books",
        "not_in_register", "period_shift", "rounding", "tax_split_differs", "third_party_income"]  # fmt: skip
CHILE = ["both_voucher_and_boleta", "claimed", "note_late", "note_without_debit_right", "transfer_without_document"]
MEXICO = ["cancelled_alive", "cancelled_alive", "payment_form_wrong", "payment_form_wrong", "ppd_form_not_99",
          "pue_unpaid", "rep_chain_broken", "rep_duplicate", "rep_late", "rep_missing", "rep_on_cancelled",
          "rep_on_pue", "replaced"]  # fmt: skip


def read_files(scenario: str, name: str) -> dict[str, bytes]:
    app = create_sandbox(scenario, seed=7)
    with httpx.Client(transport=httpx.WSGITransport(app=app), base_url="http://sandbox.test") as client:
        content = client.get(f"/_sandbox/{name}").content
    app.world.close()
    archive = zipfile.ZipFile(io.BytesIO(content))
    return {name: archive.read(name) for name in archive.namelist()}


def read_text(scenario: str, name: str) -> str:
    app = create_sandbox(scenario, seed=7)
    with httpx.Client(transport=httpx.WSGITransport(app=app), base_url="http://sandbox.test") as client:
        text = client.get(f"/_sandbox/{name}").text
    app.world.close()
    return text


def local(root: Element, name: str) -> list[Element]:
    return [element for element in root.iter() if element.tag.rpartition("}")[2] == name]


@pytest.mark.parametrize(("name", "causes"), [("tax-cl", CHILE), ("tax-mx", MEXICO)])
@pytest.mark.parametrize("seed", [1, 7])
def test_every_cause_is_planted_once(name: str, causes: list[str], seed: int) -> None:
    """Each cause of a country is a line of the truth, of the middle month unless it is of fees or of a late paper."""
    rows = [row for row in build(name, seed=seed, scale=1.0, start=START).truth(START) if row.kind == "tax_cause"]
    assert sorted(row.outcome for row in rows) == sorted([*BOTH, *causes])
    other = {row.outcome for row in rows if row.links[0] != "2026-08"}
    assert other == {"fee_not_invoiced", "fee_invoice_differs"} | ({"rep_late"} if name == "tax-mx" else set())


def test_the_archive_of_mexico_is_one_stamped_file_a_document() -> None:
    """Every CFDI bears its stamp; a complement has total 0 and its money in the payment."""
    roots = [fromstring(content) for content in read_files("tax-mx", "invoices.xml.zip").values()]
    assert {root.tag for root in roots} == {"{http://www.sat.gob.mx/cfd/4}Comprobante"}
    assert all(len(local(root, "TimbreFiscalDigital")) == 1 for root in roots)
    kinds = Counter(root.get("TipoDeComprobante") for root in roots)
    assert kinds == {"I": 45, "P": 11, "E": 2}
    complements = [root for root in roots if root.get("TipoDeComprobante") == "P"]
    assert {(root.get("Total"), root.get("Moneda")) for root in complements} == {("0", "XXX")}
    assert all(local(root, "Pago")[0].get("NumOperacion", "").startswith("MX") for root in complements)
    relations = Counter(node.get("TipoRelacion") for root in roots for node in local(root, "CfdiRelacionados"))
    assert relations == {"01": 1, "04": 1, "07": 2}
    assert sum(len(local(root, "InformacionGlobal")) for root in roots) == 1
    assert sum(len(local(root, "ACuentaTerceros")) for root in roots) == 1


def test_the_archive_of_chile_holds_sets_and_single_documents() -> None:
    """Issued documents come in sets whose cover counts them, the provider's bills alone and without a namespace."""
    files = read_files("tax-cl", "invoices.xml.zip")
    issued = {name: fromstring(content) for name, content in files.items() if name.startswith("emitidos/")}
    received = [fromstring(content) for name, content in files.items() if name.startswith("recibidos/")]
    assert [root.tag for root in received] == ["DTE", "DTE"]
    assert {root.tag.rpartition("}")[2] for root in issued.values()} == {"EnvioDTE", "EnvioBOLETA"}
    for root in issued.values():
        counted = Counter(node.text for node in local(root, "TipoDTE"))
        cover = {row[0].text: int(row[1].text or "") for row in local(root, "SubTotDTE")}
        assert counted == cover
    kinds = {node.text for root in issued.values() for node in local(root, "TipoDTE")}
    assert kinds == {"33", "34", "39", "41", "43", "46", "52", "56", "61", "110", "111", "112"}


def test_an_ordinary_world_has_papers_that_say_what_its_books_say() -> None:
    """In `mexico` every document of the books is a file and a row of the metadata; a void one is cancelled there."""
    books = read_text("mexico", "invoices.csv").splitlines()
    papers = read_files("mexico", "invoices.xml.zip")
    metadata = next(iter(read_files("mexico", "register.zip").values())).decode().split("\r\n")
    assert len(papers) == len(books) - 1 == len(metadata) - 2
    voids = sum(",void," in row for row in books)
    assert voids == sum(row.split("~")[10] == "0" for row in metadata[1:-1]) == 1


def test_the_register_of_chile_is_written_as_its_site_writes_it() -> None:
    """43 columns of sales and 27 of purchases; a row has one field more; receipts and vouchers are sums alone."""
    files = {name: content.decode("latin-1") for name, content in read_files("tax-cl", "register.zip").items()}
    sales = files["RCV_VENTA_76543210-3_202608.csv"].splitlines()
    bought = files["RCV_COMPRA_REGISTRO_76543210-3_202609.csv"].splitlines()
    assert [len(row.split(";")) for row in (sales[0], sales[1], bought[0], bought[1])] == [43, 44, 27, 28]
    kinds = {row.split(";")[1] for row in sales[1:]}
    assert kinds == {"33", "34", "43", "56", "61", "110", "111", "112"}
    sums = {row.split(";")[0] for row in files["RCV_RESUMEN_VENTA_76543210-3_202608.csv"].splitlines()[1:]}
    assert sums == kinds | {"39", "41", "48"}


def test_declared_figures_follow_from_the_register() -> None:
    """Debits add up to line 538, and notes that lower no debit are left out of it."""
    rows = [row.split(",") for row in read_text("tax-cl", "declared.csv").splitlines()[1:]]
    august = {code: int(amount) for period, code, amount, _ in rows if period == "2026-08"}
    assert august["538"] == august["502"] + august["111"] + august["759"] + august["513"] - august["510"]
    sums = read_files("tax-cl", "register.zip")["RCV_RESUMEN_VENTA_76543210-3_202608.csv"].decode("latin-1")
    registered = {row.split(";")[0]: int(row.split(";")[4]) for row in sums.splitlines()[1:]}
    assert august["502"] == registered["33"]
    assert registered["61"] - august["510"] == 130_579
    assert {period for period, *_ in rows} == {"2026-01", "2026-07", "2026-08"}
