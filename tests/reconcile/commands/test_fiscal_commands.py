"""Declared figures and the tie-out on the terminal, over what really lies in the tables."""

import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from click.testing import Result

from consumer.facts.installation import Installation
from consumer.facts.settings import Connection
from consumer.facts.tables.provider import Entity, TaxStatement
from reconcile.books.register_files import import_register
from reconcile.tables.books import InvoiceFile
from sandbox.serve import create_sandbox
from tests.reconcile.books.bad_tax_files import BAD
from tests.reconcile.books.tax_texts import OWN_RUT

if TYPE_CHECKING:
    from tests.reconcile.conftest import World

AT = datetime(2026, 11, 15, 12, tzinfo=UTC)
HEADER = (
    "Nro;Tipo Doc;Rut cliente;Razon Social;Folio;Fecha Docto;Fecha Recepcion;Monto Exento;Monto Neto;Monto IVA;"
    "Monto total;Tipo Docto. Referencia;Folio Docto. Referencia\n"
)
Call = Callable[..., Result]


def rows(answer: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in answer.stdout.splitlines()]


@pytest.mark.both_databases
def test_declared_figures_are_kept_as_versions(call: Call, tmp_path: Path) -> None:
    """Who and when stand with each version; the same figure again is not a new one; nothing of a bad file is kept."""
    assert call("declared", "set", "2026-10", "538", "190000", "--author", "Ana").exit_code == 0
    assert rows(call("declared", "set", "2026-10", "538", "190000", "--author", "Ana", "--json"))[0]["kept"] == 0
    file = tmp_path / "f29.csv"
    file.write_text("period;code;amount\n2026-10;538;191000\n2026-10;537;5000\n")
    assert call("declared", "import", file, "--author", "Luis").exit_code == 0
    file.write_text("period,code,amount\n2026-10,502,1\n2026-10,999,2\n")
    assert call("declared", "import", file).exit_code == 1
    listed = rows(call("declared", "list", "--json"))
    assert [(row["code"], row["amount"], row["version"], row["author"], row["source"]) for row in listed] == [
        ("538", "191000", 2, "Luis", "file"),
        ("538", "190000", 1, "Ana", "typed"),
        ("537", "5000", 1, "Luis", "file"),
    ]


def test_the_declared_figures_of_the_sandbox_come_in(call: Call, tmp_path: Path) -> None:
    """With their currency; a number of documents has none, and a figure in another money is refused."""
    app = create_sandbox("tax-cl", seed=7)
    with httpx.Client(transport=httpx.WSGITransport(app=app), base_url="http://sandbox.test") as client:
        text = client.get("/_sandbox/declared.csv").text
    app.world.close()
    file = tmp_path / "declared.csv"
    file.write_text(text)
    answer = call("declared", "import", file, "--json")
    assert (answer.exit_code, rows(answer)[0]["kept"]) == (0, len(text.splitlines()) - 1)
    currencies = {row["code"]: row["currency"] for row in rows(call("declared", "list", "--json"))}
    assert {code for code, currency in currencies.items() if not currency} == {"110", "503", "509", "512", "758"}
    file.write_text("period,code,amount,currency\n2026-10,538,100,USD\n")
    assert "100 USD is not an amount in CLP" in call("declared", "import", file).stderr
    file.write_text("period,code,amount,currency\n2026-10,538,100\n")
    assert "line 2 has not as many cells as the heading" in call("declared", "import", file).stderr


REFUSED = [
    (("octubre", "538", "1"), "octubre is neither a month as 2026-10 nor a year"),
    (("2026-10", "999", "1"), "there is no code 999 of such a return; there are 110, 111, 115, "),
    (("2026-10", "538", "uno"), "uno is not an amount in CLP"),
    (("2026-10", "538", "-5"), "538 is below zero (-5)"),
    (("2026-10", "538", ""), "'' is not an amount in CLP"),
    (("", "538", "1"), "'' is neither a month as 2026-10 nor a year"),
    (("2026-10", "519", ""), "'' is no number of documents"),
    (("2026-10", "519", "1.5"), "1.5 is no number of documents: write it in digits alone"),
]


@pytest.mark.parametrize(("given", "reason"), REFUSED)
def test_what_cannot_be_declared_is_refused(call: Call, given: tuple[str, ...], reason: str) -> None:
    """One sentence that names what is wrong."""
    answer = call("declared", "set", *given)
    assert answer.exit_code == 1
    assert reason in answer.stderr


@pytest.mark.parametrize(("place", "content", "said"), BAD)
def test_bad_tax_files_get_their_sentence_at_the_terminal(
    call: Call, world: "World", tmp_path: Path, place: str, content: bytes, said: tuple[str, str, str]
) -> None:  # fmt: skip
    """Broken, in other bytes, bombs, outside entities, another company's, a register of another month."""
    world.keep(Entity(connection="main", id="ent_1", mode="test", version_at=AT,
                      body=json.dumps({"is_root": True, "holder_id": OWN_RUT})))  # fmt: skip
    kind, _, name = place.partition("/")
    (tmp_path / name).write_bytes(content)
    answer = call(kind, "import", tmp_path / name, *(["--period", "2026-10"] if kind == "register" else []), "--json")
    (row,) = rows(answer)
    reasons = [one["reason"] for one in row.get("rejects", [row])]
    assert (answer.exit_code, reasons) == (1, [said[0].removeprefix(f"{row['file']}: ")])


@pytest.mark.both_databases
def test_a_month_is_tied_out_from_all_tables(
    call: Call, installation: Installation, main: Connection, world: "World", tmp_path: Path
) -> None:
    """Books, register and a pulled F29: each difference is a cause, and --check exits 3 while a rest is left."""
    world.keep(
        InvoiceFile(connection="main", sha256="0" * 64, name="ventas.csv", imported_at=AT, rows=2, added=2, changed=0)
    )
    for folio in ("1", "2"):
        world.invoice(folio, 1190, issue_date=date(2026, 10, 5), net=1000, exempt=0, vat=190)
    file = tmp_path / "RCV_VENTA_202610.csv"
    file.write_text(HEADER + "1;33;76222222-1;Uno;1;05/10/2026;05/10/2026 10:00:00;0;1000;190;1190;;\n")
    assert import_register(installation, main, file, at=AT).kept
    form = {"total_debit": 380, "total_credit": None, "total_payment": None}
    body = {"id": "ts_1", "fiscal_year": 2026, "period": "10", "institution_tax_statement": form}
    world.keep(TaxStatement(connection="main", id="ts_1", mode="test", version_at=AT, body=json.dumps(body)))
    answer = call("tie-out", "--period", "2026-10", "--check", "--json")
    found = {(row["figure"], row["witness_a"], row["witness_b"]): row for row in rows(answer)}
    tie = found["502", "books", "register"]
    assert (tie["amount_a"], tie["amount_b"], tie["causes"]) == ("380", "190", {"not_in_register": "190"})
    assert (tie["verdict"], tie["as_of_b"]) == ("explained", "2026-11-15T12:00:00Z")
    # Debits hold receipts too, which only the register's summary counts.
    assert found["538", "register", "declared"]["verdict"] == "not_asked"
    summary = tmp_path / "RCV_RESUMEN_VENTA_202610.csv"
    summary.write_text(
        "Tipo Documento;Total Documentos;Monto Exento;Monto Neto;Monto IVA;Monto Total\n"
        "Factura Electrónica(33);1;0;1000;190;1190\nBoleta Electrónica(39);0;0;0;0;0\n"
    )
    assert import_register(installation, main, summary, at=AT).kept
    answer = call("tie-out", "--period", "2026-10", "--check", "--json")
    found = {(row["figure"], row["witness_a"], row["witness_b"]): row for row in rows(answer)}
    # The document was added to the return by hand, which explains it.
    tie = found["538", "register", "declared"]
    assert (tie["difference"], tie["causes"], tie["rest"]) == ("-190", {"not_in_register": "-190"}, "0")
    assert (answer.exit_code, found["502", "register", "declared"]["verdict"]) == (0, "not_filed")
    assert call("declared", "set", "2026-10", "538", "400").exit_code == 0
    answer = call("tie-out", "--period", "2026-10", "--check")
    assert answer.exit_code == 3
    assert "open" in answer.stdout
    assert call("tie-out", "--period", "ayer").exit_code == 2
    assert "is here yet" not in call("tie-out", "--period", "2026").stderr
    assert call("tie-out", "--period", "").exit_code == 2
