"""Tax files and registers that are refused, and the sentence of each in English, in Chile and in Mexico."""

import io
import zipfile

from tests.reconcile.books.tax_texts import OTHER_RUT, TOTALS, dte

LAUGHS = b'<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]><DTE>&b;</DTE>'
OUTSIDE = b'<!DOCTYPE l [<!ENTITY x SYSTEM "file:///etc/passwd">]><DTE>&x;</DTE>'
GOOD = dte("33", 15, totals=TOTALS)
REGISTER = (
    "Nro;Tipo Doc;Rut cliente;Razon Social;Folio;Fecha Docto;Fecha Recepcion;Monto Exento;Monto Neto;Monto IVA;"
    "Monto total;Tipo Docto. Referencia;Folio Docto. Referencia\n"
    "1;33;76222222-1;Uno;1;05/10/2026;05/10/2026 10:00:00;0;1000;190;1190;;\n"
)


def zipped(**files: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "."), content)
    return packed.getvalue()


BAD = [
    ("invoices/broken.xml", GOOD[:200].encode("latin-1"),
     ("broken.xml: the XML is broken at line 1, column 194",
      "broken.xml: el XML está dañado en la línea 1, columna 194",
      "broken.xml: el XML está dañado en la línea 1, columna 194")),
    ("invoices/bytes.xml", GOOD.replace("ISO-8859-1", "UTF-8").replace("Ñuñoa", "Ñ").encode("latin-1"),
     ("bytes.xml: the bytes are in another encoding than the XML declares",
      "bytes.xml: los bytes están en otra codificación que la que declara el XML",
      "bytes.xml: los bytes están en otra codificación que la que declara el XML")),
    ("invoices/laughs.xml", LAUGHS,
     ("laughs.xml: the file declares entities or a document type, which no tax document needs",
      "laughs.xml: el archivo declara entidades o un tipo de documento, que ningún documento tributario necesita",
      "laughs.xml: el archivo declara entidades o un tipo de documento, que ningún documento tributario necesita")),
    ("invoices/outside.xml", OUTSIDE,
     ("outside.xml: the file declares entities or a document type, which no tax document needs",
      "outside.xml: el archivo declara entidades o un tipo de documento, que ningún documento tributario necesita",
      "outside.xml: el archivo declara entidades o un tipo de documento, que ningún documento tributario necesita")),
    ("invoices/bomb.zip", zipped(a__xml=b" " * 2_000_000),
     ("bomb.zip/a.xml: the file shrinks more than any document does: not unpacked",
      "bomb.zip/a.xml: el archivo se comprime más que cualquier documento; no se descomprimió",
      "bomb.zip/a.xml: el archivo se comprime más que cualquier documento; no se descomprimió")),
    ("invoices/other.xml", dte("33", 15, totals=TOTALS, issuer=OTHER_RUT, receiver="60803000-K").encode("latin-1"),
     ("other.xml: issued by 77777777-7 to another company; the merchant is 76192083-9",
      "other.xml: emitido por 77777777-7 a otra empresa; el comercio es 76192083-9",
      "other.xml: emitido por 77777777-7 a otra empresa; el comercio es 76192083-9")),
    ("register/RCV_VENTA_202609.csv", REGISTER.encode(),
     ("it is of 2026-09, and 2026-10 was asked for",
      "es de 2026-09 y se pidió 2026-10",
      "es de 2026-09 y se pidió 2026-10")),
    ("register/RCV_VENTA_76222222-1_202610.csv", REGISTER.encode(),
     ("it is a register of 76222222-1; this connection is 76192083-9",
      "es un registro de 76222222-1; esta conexión es de 76192083-9",
      "es una lista de 76222222-1; esta conexión es de 76192083-9")),
    ("register/otra.csv", b"a;b;c;d;e\n1;2;3;4;5\n",
     ("no row has the headings of a register: an RCV file, its summary, or the list of the SAT",
      "ninguna fila trae los encabezados del registro: un archivo del RCV o su resumen",
      "ninguna fila trae los encabezados de la lista de metadatos del SAT")),
]  # fmt: skip
