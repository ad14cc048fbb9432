"""What is read of tax documents of both countries, figure by figure, and what is refused with one sentence."""

import re
from dataclasses import dataclass, fields, replace
from datetime import date
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from reconcile.books.tax_documents import Relation, TaxDocument, TaxXmlError
from reconcile.books.tax_xml import read_tax_xml
from tests.reconcile.books.tax_texts import (
    OTHER_RUT,
    OWN_RUT,
    PPD,
    TOTALS,
    UUIDS,
    body,
    cfdi,
    complement,
    dte,
    reference,
    related,
)

MEXICO = ZoneInfo("America/Mexico_City")


def read(text: str | bytes, encoding: str = "utf-8") -> TaxDocument:
    content = text if isinstance(text, bytes) else text.encode(encoding)
    (found,) = read_tax_xml(content)
    assert isinstance(found, TaxDocument), str(found)
    return found


def why(text: str | bytes) -> str:
    """Return the one sentence that a file is refused with."""
    try:
        (found,) = read_tax_xml(text if isinstance(text, bytes) else text.encode())
    except TaxXmlError as error:
        return str(error)
    return str(found)


def test_a_mexican_sale_is_read_by_its_stamp() -> None:
    """The UUID folded, amounts in centavos, the day as written though it is the next one in UTC."""
    found = read(cfdi("a", terms=PPD))
    assert (found.doc_key, found.kind, found.folio) == (f"mx:uuid:{UUIDS['a']}", "I", "17")
    assert (found.net, found.exempt, found.vat, found.total, found.payable) == (100000, 0, 16000, 116000, 116000)
    assert (found.issue_date, found.issued_at.astimezone(MEXICO).hour) == (date(2026, 10, 5), 23)
    assert (found.issuer_tax_id, found.receiver_tax_id, found.payment_method) == ("EKU9003173C9", "XIA190128J61", "PPD")


def test_every_node_of_relations_counts() -> None:
    """Version 4.0 has a node for each kind of relation; a note on two documents refers to no one of them alone."""
    found = read(cfdi("c", kind="E", related=related("01", "a") + related("07", "b")))
    assert [(one.kind, one.other_number) for one in found.relations] == [("01", UUIDS["a"]), ("07", UUIDS["b"])]
    assert found.ref_number == ""
    assert read(cfdi("c", kind="E", related=related("01", "a"))).ref_number == UUIDS["a"]


def test_an_invoice_refers_to_the_one_it_takes_the_place_of_alone() -> None:
    """An advance that an invoice applies is no document that it replaces."""
    assert read(cfdi("b", related=related("04", "a"))).ref_number == UUIDS["a"]
    assert read(cfdi("b", related=related("07", "a"))).ref_number == ""


def test_a_complement_has_its_money_in_its_payments() -> None:
    """Total 0 is no empty document: payment, operation, instalment, the chain of balances and the tax of the part."""
    found = read(complement("d", ("a", 1, "1160.00", "500.00", "660.00"), operation="MBAN01002610200087"))
    assert (found.kind, found.total, found.currency) == ("P", 0, "MXN")
    (payment,) = found.payments
    assert (payment.amount, payment.operation, payment.payment_form) == (50000, "MBAN01002610200087", "03")
    assert (payment.paid_key, payment.instalment) == (f"mx:uuid:{UUIDS['a']}", 1)
    assert (payment.balance_before, payment.paid, payment.balance_after) == (116000, 50000, 66000)
    assert (payment.vat, payment.paid_at.astimezone(MEXICO).isoformat()) == (6897, "2026-10-20T12:00:00-06:00")


def to_version_1(text: str) -> str:
    """Return a complement as CFDI 3.3 holds it: no totals, no taxes of documents, another name for the rate."""
    text = re.sub(r"<pago20:Totales[^>]*/>|<pago20:ImpuestosDR>.*?</pago20:ImpuestosDR>| ObjetoImpDR=\"..\"", "", text)
    text = (
        text.replace('EquivalenciaDR="1"', 'MetodoDePagoDR="PPD"')
        .replace("/Pagos20", "/Pagos")
        .replace("pago20:", "pago10:")
    )
    return text.replace("xmlns:pago20", "xmlns:pago10").replace('Version="2.0"', 'Version="1.0"').replace(
        "/cfd/4", "/cfd/3").replace('Version="4.0"', 'Version="3.3"')  # fmt: skip


def test_a_complement_of_version_1_says_the_same() -> None:
    """But for the VAT, which it does not state; of one document alone it may leave the part out, which is all."""
    text = complement("d", ("a", 2, "660.00", "500.00", "160.00"), operation="87")
    new, old = read(text).payments, read(to_version_1(text)).payments
    assert old == tuple(replace(one, vat=0, equivalence="") for one in new)
    bare = to_version_1(text).replace(' ImpPagado="500.00"', "").replace(' ImpSaldoAnt="660.00"', "")
    (payment,) = read(bare).payments
    assert (payment.paid, payment.balance_before, payment.operation) == (50000, 0, "87")


def test_a_global_invoice_and_sales_for_others_are_marked() -> None:
    """What sums up a period says which; what is sold for another company is stated apart."""
    text = cfdi("a").replace(
        "<cfdi:Emisor", '<cfdi:InformacionGlobal Periodicidad="04" Meses="10" Año="2026"/><cfdi:Emisor'
    )
    other = '<cfdi:Concepto Importe="300.00"><cfdi:ACuentaTerceros RfcACuentaTerceros="JUFA7608212V6"/></cfdi:Concepto>'
    assert read(text).global_of == "2026-10"
    assert read(cfdi("a").replace("</cfdi:Conceptos>", f"{other}</cfdi:Conceptos>")).third_party == 30000


@pytest.mark.parametrize("namespace", [True, False])
def test_a_chilean_document_is_read_with_and_without_a_namespace(*, namespace: bool) -> None:
    """By local names, in the bytes it declares: names keep their letters."""
    found = read(dte("33", 15, totals=TOTALS, namespace=namespace), "iso-8859-1")
    assert (found.doc_key, found.issuer_tax_id, found.receiver_tax_id) == ("cl:33::15", OWN_RUT, OTHER_RUT)
    assert (found.net, found.vat, found.total, found.receiver_name) == (100000, 19000, 119000, "Ferretería Ñuñoa")


def test_a_file_that_says_latin_and_is_utf8_keeps_its_letters() -> None:
    """Many systems declare ISO-8859-1 and write UTF-8."""
    assert read(dte("33", 15, totals=TOTALS), "utf-8").receiver_name == "Ferretería Ñuñoa"


def test_what_the_customer_pays_is_what_the_form_says() -> None:
    """`VlrPagar` where it is stated, else the total with what is not invoiceable."""
    stated = read(dte("33", 1, totals=f"{TOTALS}<MontoNF>1000</MontoNF><VlrPagar>150000</VlrPagar>"))
    assert (stated.total, stated.payable) == (119000, 150000)
    assert read(dte("33", 1, totals=f"{TOTALS}<MontoNF>1000</MontoNF>")).payable == 120000


def test_references_name_the_corrected_document_and_the_order() -> None:
    """A note's voided invoice beside its delivery note; a purchase order is the order of the sale."""
    note = read(dte("61", 4, totals=TOTALS, references=reference("52", "900") + reference("33", "0015", "1", "Anula")))
    assert (note.ref_type, note.ref_number) == ("33", "15")
    assert note.relations[1] == Relation("1", "33", "cl:33::15", "15", date(2026, 10, 1), "Anula")
    order = read(dte("33", 1, totals=TOTALS, references=reference("801", "OC-77")))
    assert (order.order_ref, order.ref_number, order.relations[0].other_key) == ("OC-77", "", "")


def test_an_envelope_holds_many_documents() -> None:
    """One that cannot be read keeps no other out."""
    good, bad = body("39", 1, totals=TOTALS), body("39", 2, totals=TOTALS.replace("119000", "much"))
    text = f"<EnvioBOLETA><SetDTE><DTE>{good}</DTE><DTE>{bad}</DTE></SetDTE></EnvioBOLETA>"
    first, second = read_tax_xml(text.encode())
    assert isinstance(first, TaxDocument)
    assert (first.doc_key, str(second)) == ("cl:39::1", "MntTotal is no amount: much")


def test_an_export_invoice_is_in_its_own_currency() -> None:
    """Dollars with cents, and an unknown currency is refused."""
    totals = "<TpoMoneda>DOLAR USA</TpoMoneda><MntExe>10.50</MntExe><MntTotal>10.50</MntTotal>"
    found = read(dte("110", 3, totals=totals))
    assert (found.currency, found.exempt, found.total) == ("USD", 1050, 1050)
    assert why(dte("110", 3, totals=totals.replace("DOLAR USA", "YEN X"))) == "currency 'YEN X' is not one of ISO 4217"


@dataclass(frozen=True, slots=True)
class LaterDocument(TaxDocument):
    """A document of a later version, which states more."""

    purpose: str = "G03"


def test_a_field_that_is_added_later_leaves_digests_as_they_are() -> None:
    """A digest covers a list of fields, so that a known document stays known; all but one added later count."""
    found = read(complement("d", ("a", 1, "1160.00", "500.00", "660.00")))
    values = {field.name: getattr(found, field.name) for field in fields(found)}
    assert LaterDocument(**values).digest() == found.digest()
    for name, value in values.items():
        other: Any = () if isinstance(value, tuple) else "other"
        is_left_out = value == other or name == "rates"
        assert (replace(found, **{name: other}).digest() == found.digest()) == is_left_out
    (paid,) = found.payments
    for field in fields(paid):
        changed: Any = {field.name: "other"}
        assert (replace(found, payments=(replace(paid, **changed),)).digest() == found.digest()) == (
            field.name == "rates"
        )


PAID = complement("d", ("a", 1, "1160.00", "500.00", "660.00"))
LAUGHS = '<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]><Comprobante>&b;</Comprobante>'
# As the SAT's service answers, without its signature.
ACUSE = ('<Acuse xmlns="http://cancelacfd.sat.gob.mx" Fecha="2026-10-07T13:48:45.7034617" RfcEmisor="EKU9003173C9">'
         "{folios}</Acuse>")  # fmt: skip
ANSWER = ('<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body><CancelaCFDResponse '
          'xmlns="http://cancelacfd.sat.gob.mx"><CancelaCFDResult Fecha="2026-10-07T11:46:42" RfcEmisor="EKU9003173C9">'
          "{folios}</CancelaCFDResult></CancelaCFDResponse></s:Body></s:Envelope>")  # fmt: skip
ASKED = "<Folios><UUID>{uuid}</UUID><EstatusUUID>{code}</EstatusUUID></Folios>"
ASKED_FOR = "the receipt of 2026-10-07 says that EKU9003173C9 asked to cancel"
NO_PROOF = "and not that they are cancelled: bring in the list of the SAT as a register, which does"
OUTSIDE = '<!DOCTYPE l [<!ENTITY x SYSTEM "file:///etc/passwd">]><Comprobante>&x;</Comprobante>'


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (LAUGHS, "the file declares entities or a document type, which no tax document needs"),
        (OUTSIDE, "the file declares entities or a document type, which no tax document needs"),
        (cfdi("a")[:150], "the XML is broken at line 1, column 38"),
        (cfdi("a").replace("XENON", "PEÑA").encode("latin-1"),
         "the bytes are in another encoding than the XML declares"),
        ("<a>" * 70 + "</a>" * 70, "the XML is nested deeper than 60 levels"),
        ("<Nomina/>", "a file of Nomina holds no sale, purchase or payment"),
        (ACUSE.format(folios=ASKED.format(uuid=UUIDS["a"].upper(), code=201)),
         f"{ASKED_FOR} 1 documents ({UUIDS['a']} (201)) {NO_PROOF}"),
        (ANSWER.format(folios="".join(ASKED.format(uuid=uuid, code=202) for uuid in UUIDS.values())),
         f"{ASKED_FOR} 6 documents ({', '.join(f'{UUIDS[letter]} (202)' for letter in 'abc')}, …) {NO_PROOF}"),
        ("<Envelope><Body/></Envelope>", "a file of Envelope holds no sale, purchase or payment"),
        (cfdi("a", stamp=False), "the document has no stamp of the tax office: bring in the stamped file"),
        (dte("33", 1, totals=TOTALS, stamp=False),
         "the document has no stamp of the tax office: bring in the stamped file"),
        (cfdi("a", kind="N"), "documents of kind N are no sales, purchases or payments"),
        (cfdi("a", total="1,160.00"), "Total is no amount: 1,160.00"),
        (cfdi("a", total="NaN"), "Total is no amount: NaN"),
        (cfdi("a", total="9" * 24), f"Total is no amount: {'9' * 24}"),
        (cfdi("a", total="-5.00"), "Total is no amount: -5.00"),
        (cfdi("a", total="1e5"), "Total is no amount: 1e5"),
        (cfdi("a", total="１００"), "Total is no amount: １００"),
        (b"PD94bWwgdmVyc2lvbj0iMS4wIj8+",
         "the file does not begin with `<`, so it is no XML: decode it first if it is base64"),
        (cfdi("a", total=""), "Total is missing or empty"),
        (cfdi("a", net=""), "SubTotal is missing or empty"),
        (cfdi("a", terms='Descuento="-1.00"'), "Descuento is no amount: -1.00"),
        (cfdi("a").replace("2026-10-05T", "9999-12-31T"), "Fecha is no date: 9999-12-31T23:30:00"),
        (cfdi("a").replace("2026-10-05T", "0001-01-01T"), "Fecha is no date: 0001-01-01T23:30:00"),
        (cfdi("a").replace("23:30:00", "23:30:00Z"), "Fecha is no date: 2026-10-05T23:30:00Z"),
        (cfdi("a").replace('Moneda="MXN"', 'Moneda="XXX"'), "currency 'XXX' is not one of ISO 4217"),
        (dte("33", 1, totals=""), "MntTotal is missing or empty"),
        (cfdi("a", terms='TipoCambio="NaN"'), "TipoCambio is no rate: NaN"),
        (cfdi("a", terms='TipoCambio="1E+400000"'), "TipoCambio is no rate: 1E+400000"),
        (cfdi("a", terms='TipoCambio="0.00"'), "TipoCambio is no rate: 0.00"),
        (PAID.replace('TipoCambioP="1"', 'TipoCambioP="-1"'), "TipoCambioP is no rate: -1"),
        (PAID.replace('EquivalenciaDR="1"', 'EquivalenciaDR="uno"'), "EquivalenciaDR is no rate: uno"),
        (dte("110", 1, totals=TOTALS).replace(
            "</Encabezado>", "<OtraMoneda><TpoCambio>950,5</TpoCambio></OtraMoneda></Encabezado>"),
         "TpoCambio is no rate: 950,5"),
        (cfdi("a").replace("2026-10-05T", "05/10/2026 "), "Fecha is no date: 05/10/2026 23:30:00"),
        (cfdi("a").replace('Version="4.0"', 'version="3.2"'), "CFDI of version 3.2 are not read, only 3.3 and 4.0"),
        (cfdi("a").replace(UUIDS["a"].upper(), "no"), "a UUID is expected, 36 characters: no"),
    ],
)  # fmt: skip
def test_hostile_and_broken_files_get_one_sentence(text: str | bytes, sentence: str) -> None:
    """Bombs, external entities, broken XML, other bytes than declared, depth, foreign files and wrong figures."""
    assert why(text) == sentence
