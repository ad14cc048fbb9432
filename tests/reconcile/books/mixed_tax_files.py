"""Two hundred files as a merchant's folder holds them: good ones of both countries, and all that may lie between."""

from collections.abc import Iterator
from typing import NamedTuple

from tests.reconcile.books.bad_tax_files import LAUGHS, OUTSIDE, REGISTER, zipped
from tests.reconcile.books.tax_texts import (
    CUSTOMER,
    MERCHANT,
    OTHER_RUT,
    OWN_RUT,
    TOTALS,
    UUIDS,
    body,
    cfdi,
    complement,
    dte,
    related,
)

LATIN = '<?xml version="1.0" encoding="ISO-8859-1"?>'
STRANGER = "60803000-K"
TAKEN, KNOWN, OTHER, UNREADABLE, NOT_FOR_US, NO_STAMP = (
    "taken", "known", "other_issuer", "unreadable", "not_for_us", "without_stamp"
)  # fmt: skip
ENTITIES = "the file declares entities or a document type, which no tax document needs"
ENCODING = "the bytes are in another encoding than the XML declares"
NO_XML = "is no XML: import it by itself"
UNSTAMPED = "the document has no stamp of the tax office: bring in the stamped file"
RECEIPT = (
    f"the receipt of 2026-10-07 says that {MERCHANT} asked to cancel 1 documents ({UUIDS['a']} (201)) and not that "
    "they are cancelled: bring in the list of the SAT as a register, which does"
)


class Laid(NamedTuple):
    """A file, and of each document in it the verdict and sentence of the merchant of Chile and that of Mexico."""

    name: str
    content: bytes
    chile: list[tuple[str, str]]
    mexico: list[tuple[str, str]]


def _chilean(name: str, content: str | bytes, verdict: str = TAKEN, reason: str = "", documents: int = 1) -> Laid:
    """Return a file that a Mexican merchant does not own."""
    raw = content if isinstance(content, bytes) else content.encode("latin-1")
    foreign = f"issued by {OWN_RUT} to another company; the merchant is {MERCHANT}"
    other = [(verdict, reason) if verdict not in {TAKEN, KNOWN} else (OTHER, foreign)]
    return Laid(name, raw, [(verdict, reason)] * documents, other * documents)


def _mexican(name: str, content: str, verdict: str = TAKEN, reason: str = "") -> Laid:
    foreign = f"issued by {MERCHANT} to another company; the merchant is {OWN_RUT}"
    other = (verdict, reason) if verdict not in {TAKEN, KNOWN} else (OTHER, foreign)
    return Laid(name, content.encode(), [other], [(verdict, reason)])


def _alike(name: str, content: bytes, verdict: str, *reasons: str) -> Laid:
    said = [(verdict, reason) for reason in reasons]
    return Laid(name, content, said, said)


def _numbered(text: str, number: int, letter: str = "a") -> str:
    return text.replace(UUIDS[letter].upper(), f"{number:08d}-1111-4222-8333-000000000000")


def list_files() -> list[Laid]:
    return sorted(_list_files(), key=lambda one: one.name)


def _list_files() -> Iterator[Laid]:
    for number in range(40):
        yield _chilean(f"a{number:02}_factura.xml", dte("33", 100 + number, totals=TOTALS, namespace=number % 2 == 0))
        yield _mexican(f"b{number:02}_cfdi.xml", _numbered(cfdi("a", folio=str(number)), number))
    for number in range(10):
        copy = dte("33", 100 + number, totals=TOTALS, namespace=number % 2 == 0)
        yield _chilean(f"c{number:02}_copia.xml", copy, KNOWN)
        yield _mexican(f"d{number:02}_copia.xml", _numbered(cfdi("a", folio=str(number)), number), KNOWN)
        paid = complement("b", ("c", 1, "1160.00", "500.00", "660.00"), operation=f"MX{number}")
        paid = _numbered(paid, 100 + number, "b")
        yield _mexican(f"e{number:02}_pago.xml", _numbered(paid, number, "c"))
        bill = dte("34", 50 + number, totals="<MntExe>9</MntExe><MntTotal>9</MntTotal>").encode("utf-8")
        yield _chilean(f"f{number:02}_utf8_dicho_latin.xml", bill)
        note = cfdi("d", kind="E", related=related("01", "e"))
        yield _mexican(f"g{number:02}_nota.xml", _numbered(_numbered(note, 200 + number, "d"), number, "e"))
        receipts = "".join(f"<DTE>{body('39', 10 * number + one, totals=TOTALS)}</DTE>" for one in (1, 2))
        envelope = f"{LATIN}<EnvioBOLETA><SetDTE><Caratula/>{receipts}</SetDTE></EnvioBOLETA>"
        yield _chilean(f"h{number:02}_boletas.xml", envelope, documents=2)
    for number in range(5):
        yield _chilean(f"i{number}_rota.xml", dte("33", 900, totals=TOTALS)[:200], UNREADABLE,
                       "the XML is broken at line 1, column 196")  # fmt: skip
        yield _mexican(f"j{number}_rota.xml", cfdi("a")[:150], UNREADABLE, "the XML is broken at line 1, column 38")
        wrong = cfdi("a").replace("XENON", "PEÑA").encode("latin-1")
        yield _alike(f"k{number}_codificacion.xml", wrong, UNREADABLE, ENCODING)
        yield _alike(f"l{number}_bomba.xml", LAUGHS, UNREADABLE, ENTITIES)
        yield _alike(f"m{number}_externa.xml", OUTSIDE, UNREADABLE, ENTITIES)
        theirs = dte("33", 7, totals=TOTALS, issuer=OTHER_RUT, receiver=STRANGER)
        said = "issued by 77777777-7 to another company; the merchant is {}"
        yield Laid(f"n{number}_ajena.xml", theirs.encode("latin-1"), [(OTHER, said.format(OWN_RUT))],
                   [(OTHER, said.format(MERCHANT))])  # fmt: skip
        theirs = cfdi("f", issuer=CUSTOMER, receiver="AAA010101AAA")
        said = f"issued by {CUSTOMER} to another company; the merchant is {{}}"
        yield Laid(f"o{number}_ajena.xml", theirs.encode(), [(OTHER, said.format(OWN_RUT))],
                   [(OTHER, said.format(MERCHANT))])  # fmt: skip
        yield _alike(f"p{number}_recibo.pdf", b"%PDF-1.4", NOT_FOR_US, NO_XML)
        yield _alike(f"q{number}_sin_timbre.xml", cfdi("f", stamp=False).encode(), NO_STAMP, UNSTAMPED)
        yield _alike(f"r{number}_nomina.xml", cfdi("f", kind="N").encode(), NOT_FOR_US,
                     "documents of kind N are no sales, purchases or payments")  # fmt: skip
    for number in range(2):
        yield _alike(f"s{number}_vacio.xml", b"", UNREADABLE, "the file is empty")
        yield _alike(f"t{number}_acuse.xml", ACUSE.encode(), NOT_FOR_US, RECEIPT)
        packed = zipped(RCV_VENTA_202609__csv=REGISTER.encode(), RCV_VENTA_202610__csv=REGISTER.encode())
        yield _alike(f"u{number}_registros.zip", packed, NOT_FOR_US, NO_XML, NO_XML)
        packed = zipped(a__xml=b" " * 2_000_000)
        yield _alike(f"v{number}_bomba.zip", packed, UNREADABLE,
                     "the file shrinks more than any document does: not unpacked")  # fmt: skip
    yield _alike("w_cortado.zip", packed[:60], UNREADABLE, "the ZIP is damaged")
    first, second = _chilean("", dte("33", 700, totals=TOTALS)), _mexican("", _numbered(cfdi("a"), 300))
    packed, rest = zipped(a__xml=first.content, b__xml=second.content, c__csv=b"a;b"), (NOT_FOR_US, NO_XML)
    yield Laid("x_mixto.zip", packed, [*first.chile, *second.chile, rest], [*first.mexico, *second.mexico, rest])


ACUSE = (
    f'<Acuse xmlns="http://cancelacfd.sat.gob.mx" Fecha="2026-10-07T13:48:45" RfcEmisor="{MERCHANT}"><Folios>'
    f"<UUID>{UUIDS['a'].upper()}</UUID><EstatusUUID>201</EstatusUUID></Folios></Acuse>"
)
