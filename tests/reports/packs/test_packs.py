"""The month in one archive: what is in it, and that it is the same bytes on another day, database and process."""

import hashlib
import io
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from flask import Flask
from flask.testing import FlaskClient

from consumer.facts.installation import Installation
from consumer.facts.store import Store
from cuadre import Commands
from reconcile.desk import attachments
from reconcile.desk.decisions import DecisionError, Signature
from reconcile.runs.close_period import close_period
from reports.access.people import Role, add_user, to_user
from reports.commands import packs
from reports.packs.verifying import verify
from reports.pages import packs as pages
from tests.databases import Databases
from tests.merchant import ROOT, environ_of, row_of, settings_of
from tests.reconcile.conftest import Prepare, World
from tests.reports.conftest import EMAIL, PASSWORD

CLOSED_AT = datetime(2026, 9, 12, 9, 30, tzinfo=UTC)
LATER = datetime(2026, 10, 30, 9, 30, tzinfo=UTC)
TABLES = [
    "bank.csv", "clearing-rollforward.csv", "control.csv", "decisions.csv", "exception-files.csv",
    "exception-history.csv", "exceptions.csv", "in-transit.csv", "inputs.json",
    "payout-detail.csv", "payout-summary.csv", "receivables.csv",
]  # fmt: skip


def call(installation: Installation, *words: object) -> Result:
    return CliRunner().invoke(Commands(), [str(word) for word in words], obj=lambda: installation)


def close(installation: Installation) -> str:
    """Close 10 September, with a payment, its document and one without, decided about by a person."""
    world = World(installation.store)
    world.payment("pi_1", 1190)
    world.payment("pi_2", 500)
    world.payout("po_1", 1650, ("payment_intent", "pi_1", 1190), ("payment_intent", "pi_2", 500))
    world.invoice("7", 1190, order_ref="PED-1", due_date=date(2026, 10, 30), customer_name="Peña e Hijos")
    world.complete(datetime(2026, 9, 12, 6, tzinfo=UTC))
    installation.settings.config_dir.joinpath("accounts.toml").write_text('chart = "cl"\n', encoding="utf-8")
    main = installation.settings.connection("main")
    signed = Signature("ana", "fin de mes, con Peña", CLOSED_AT)
    close_period(installation, main, until=date(2026, 9, 10), as_of=date(2026, 9, 10), signed=signed)
    return ""


def pack(installation: Installation, folder: Path, *more: str) -> Path:
    row = row_of(call(installation, "periods", "pack", "1", "--out", folder, "--json", "--author", "ana", *more))
    return Path(row["file"])


def read(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def at(monkeypatch: pytest.MonkeyPatch, moment: datetime) -> None:
    monkeypatch.setattr(packs, "utc_now", lambda: moment)


@pytest.fixture
def closed(installation: Installation, prepare: Prepare) -> Installation:
    prepare("closed month of packs", lambda: close(installation))
    return installation


def test_the_archive_holds_the_month(closed: Installation, tmp_path: Path) -> None:
    """Page, tables, journal, hashes of the inputs and the manifest; and each table is the one of the closing."""
    path = pack(closed, tmp_path / "out")
    files = read(path)

    assert path.name == "month_2026-09-10_cl_main_p1.zip"
    assert list(files) == [
        "manifest.json", *TABLES[:9], "journal/2026-09-10_main_journal.csv", *TABLES[9:], "summary.pdf",
    ]  # fmt: skip
    manifest = json.loads(files["manifest.json"])
    assert manifest["about"] | {"run_id": ""} == {
        "connection": "main", "country": "cl", "mode": "test", "period": 1, "since": None, "until": "2026-09-10",
        "as_of": "2026-09-10", "run_id": "", "run_number": 1, "closed_by": "ana", "closed_at": "2026-09-12T09:30:00Z",
        "reason": "fin de mes, con Peña", "profile": "machine", "language": "es-CL",
    }  # fmt: skip
    assert sorted(manifest["versions"]) == ["calendar", "cuadre", "rules"]
    assert b"po_1,main,test,cl,CLP,succeeded" in files["payout-summary.csv"]
    assert files["payout-detail.csv"].count(b"po_1,payment_intent") == 2
    assert b",ties," in files["control.csv"]
    assert b",differs," not in files["control.csv"]
    assert b"Pe\xc3\xb1a e Hijos" in files["receivables.csv"]
    assert sorted(path.parent.iterdir()) == [path]


def test_the_archive_is_the_same_bytes_whatever_came_later(
    closed: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On another day, after decisions, notes, a later run and an export of the journal, nothing of it differs."""
    first = pack(closed, tmp_path / "first")
    before = first.read_bytes()
    (found,) = (
        row for row in _exceptions(closed) if row["code"] == "PAYMENT_NO_INVOICE" and row["resource_id"] == "pi_2"
    )
    words = ("--author", "luis", "--reason", "they called")
    assert call(closed, "exceptions", "assign", found["exception_id"], "luis", "--author", "eva").exit_code == 0
    assert call(closed, "exceptions", "resolve", found["exception_id"], *words).exit_code == 0
    world = World(closed.store)
    world.invoice("8", 500, issue_date=date(2026, 9, 11))
    world.payment("pi_3", 500, succeeded_at=datetime(2026, 9, 11, 15, tzinfo=UTC))
    assert call(closed, "match", "pi_3", "cl:33::8", *words).exit_code == 0
    assert call(closed, "reconcile", "--as-of", "2026-09-11").exit_code == 0
    at(monkeypatch, LATER)

    assert pack(closed, tmp_path / "second").read_bytes() == before
    assert pack(closed, tmp_path / "third", "--author", "eva").read_bytes() == before


def _exceptions(installation: Installation) -> list[dict[str, Any]]:
    listed = call(installation, "exceptions", "list", "--json")
    return [json.loads(line) for line in listed.stdout.splitlines()]


def test_both_databases_give_the_same_bytes(
    closed: Installation, postgresql_databases: Databases, tmp_path: Path
) -> None:
    """The same history on SQLite and on PostgreSQL is one archive."""
    with postgresql_databases.share() as url:
        store = Store(url)
        folder = tmp_path / "other"
        folder.mkdir()
        settings = settings_of(
            "http://provider.test", folder, database_url=url, secret_key="a key that only tests know"
        )
        other = Installation(settings=settings, store=store)
        try:
            close(other)
            there = pack(other, tmp_path / "there").read_bytes()
        finally:
            store.close()
    assert pack(closed, tmp_path / "here").read_bytes() == there


def test_another_process_gives_the_same_bytes(closed: Installation, tmp_path: Path) -> None:
    """A program started anew, in another zone and with other hashes of its own, makes the same archive."""
    here = pack(closed, tmp_path / "here").read_bytes()
    environ = environ_of("http://provider.test", tmp_path, database_url=str(closed.store.engine.url))
    environ |= {"PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo", "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    words = ["periods", "pack", "1", "--out", str(tmp_path / "there"), "--author", "ana"]
    command = [sys.executable, "-m", "cuadre", *words]
    made = subprocess.run(command, check=False, cwd=tmp_path, env=environ, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr

    assert (tmp_path / "there" / "month_2026-09-10_cl_main_p1.zip").read_bytes() == here


def test_people_and_their_decisions_up_to_the_closing_are_in_it(installation: Installation, tmp_path: Path) -> None:
    """Who decided what, who owned an exception and why it was resolved, and nothing of a later day."""
    world = World(installation.store)
    world.payment("pi_1", 1190)
    world.payout("po_1", 1190, ("payment_intent", "pi_1", 1190))
    world.invoice("7", 1190, due_date=date(2026, 10, 30))
    world.complete(datetime(2026, 9, 12, 6, tzinfo=UTC))
    assert call(installation, "reconcile", "--as-of", "2026-09-10").exit_code == 0
    (found,) = (row for row in _exceptions(installation) if row["resource_id"] == "pi_1")
    assert call(installation, "exceptions", "note", found["exception_id"], "llamar", "--author", "eva").exit_code == 0
    assert (
        call(installation, "match", "pi_1", "cl:33::7", "--author", "luis", "--reason", "transferencia").exit_code == 0
    )
    words = ("--to", "2026-09-10", "--as-of", "2026-09-10", "--reason", "fin", "--author", "ana")
    assert call(installation, "periods", "close", *words).exit_code == 0
    installation.settings.config_dir.joinpath("accounts.toml").unlink(missing_ok=True)
    files = read(pack(installation, tmp_path / "out"))

    assert [line.split(b",", 2)[2] for line in files["decisions.csv"].splitlines()[1:]] == [
        b"luis,match,pi_1,cl:33::7,,,,transferencia,standing"
    ]
    assert [line.split(b",")[1:] for line in files["exception-history.csv"].splitlines()[1:]] == [
        [b"eva", found["exception_id"].encode(), b"note", b"", b"llamar", b"main"]
    ]
    assert not any(name.startswith("journal/") for name in files)
    (resolved,) = (
        line for line in files["exceptions.csv"].splitlines() if line.startswith(found["exception_id"].encode())
    )
    assert b",resolved,2026-09-10," in resolved


def test_files_of_exceptions_up_to_the_closing_are_in_it(installation: Installation, tmp_path: Path) -> None:
    """The file with its digest, who added it and when; one that was added later is not, and the kept one stays."""
    close(installation)
    found = _exceptions(installation)[0]["exception_id"]
    for name, content, moment in (("recibo BCI.PDF", b"%PDF-1.4 receipt", CLOSED_AT), ("b.txt", b"later", LATER)):
        with installation.store.transaction() as session:
            attachments.attach(session, installation, "main", found, attachments.Given(name, content, "ana", moment))
    path = pack(installation, tmp_path / "out")
    files, name = read(path), f"attachments/{hashlib.sha256(b'%PDF-1.4 receipt').hexdigest()}.pdf"
    assert [one for one in files if one.startswith("attachments/")] == [name]
    assert files[name] == b"%PDF-1.4 receipt"
    assert files["exception-files.csv"].decode().splitlines()[1:] == [
        f"2026-09-12T09:30:00Z,ana,{found},recibo BCI.PDF,{name},{name[12:76]},main"
    ]
    listed = {one["name"]: one["sha256"] for one in json.loads(files["manifest.json"])["files"]}
    assert listed[name] == name[12:76]
    verify(path)
    with installation.store.transaction() as session, pytest.raises(DecisionError, match="closed up to 2026-09-10"):
        attachments.detach(session, "main", found, 1, Signature("ana", "a file", LATER))
    (installation.settings.files_dir / name[:76]).write_bytes(b"%PDF-1.4 another")
    refused = call(installation, "periods", "pack", "1", "--out", tmp_path / "again")
    assert refused.exit_code != 0
    assert "recibo BCI.PDF is no longer the file that was kept" in refused.stderr


def test_the_journal_in_it_is_remembered_as_exported(closed: Installation, tmp_path: Path) -> None:
    """What went out in an archive is never written otherwise by a later export."""
    pack(closed, tmp_path / "out", "--journal", "hledger,journal")
    made = row_of(call(closed, "accounts", "exports", "--json"))
    assert (made["profiles"], made["author"]) == ("hledger journal", "ana")
    refused = call(closed, "journal", "--out", tmp_path / "again")
    assert "everything up to 2026-09-10 is exported" in refused.stderr


def test_layouts_in_it_take_their_values_and_bring_what_belongs_with_them(closed: Installation, tmp_path: Path) -> None:
    """Values that a layout asks for come from the account map; headers of entries come with their lines."""
    accounts = closed.settings.config_dir / "accounts.toml"
    accounts.write_text('chart = "cl"\n[options]\nJournal = "Diario"\n', encoding="utf-8")
    files = read(pack(closed, tmp_path, "--journal", "odoo,sap-b1"))
    assert [name.rpartition("_main_")[2] for name in files if name.startswith("journal/")] == [
        "odoo.csv", "sap-b1-lines.txt", "sap-b1.txt",
    ]  # fmt: skip
    assert b"Diario" in files["journal/2026-09-10_main_odoo.csv"]


def test_tables_for_people_open_in_their_country(closed: Installation, tmp_path: Path) -> None:
    """With the profile of Chile the tables have its separators and words; the archive verifies like any other."""
    path = pack(closed, tmp_path / "out", "--profile", "cl", "--journal", "none", "--language", "en")
    table = read(path)["receivables.csv"].decode("utf-8-sig")
    assert table.startswith("Documento;RUT del cliente;Cliente;")
    proof = verify(path)
    assert proof.manifest is not None
    assert proof.manifest.about.language == "en"


def test_the_page_alone_can_be_checked(closed: Installation, tmp_path: Path) -> None:
    """The page of the archive says by itself that no byte of it changed."""
    page = tmp_path / "summary.pdf"
    page.write_bytes(read(pack(closed, tmp_path / "out"))["summary.pdf"])
    assert call(closed, "verify", page).stdout.startswith("summary.pdf is as it was made: no byte of the PDF changed")
    page.write_bytes(page.read_bytes().replace(b"Cuadre", b"Cuadro"))
    assert "is a PDF that was changed after it was made" in call(closed, "verify", page).stderr


def test_what_cannot_be_packed_is_refused_and_leaves_nothing(closed: Installation, tmp_path: Path) -> None:
    """No such period, one opened again, an account missing, inputs that are gone: one sentence, and no file."""
    out = tmp_path / "out"
    assert "there is no closed period 2 in connection main: cuadre periods list" in _refused(closed, "2", out)
    assert not out.exists()
    closed.settings.config_dir.joinpath("accounts.toml").write_text("[accounts]\n", encoding="utf-8")
    assert "accounts.toml has no account for" in _refused(closed, "1", out)
    assert "softland-99 is no layout" in _refused(closed, "1", out, "--journal", "softland-99")
    (bank,) = (tmp_path / "instance" / "runs").rglob("bank.parquet")
    bank.unlink()
    assert "period 1 cannot be packed: the kept bank of run" in _refused(closed, "1", out, "--journal", "none")
    assert call(closed, "periods", "reopen", "--reason", "late", "--author", "ana").exit_code == 0
    assert "there is no closed period 1" in _refused(closed, "1", out)
    assert list(out.iterdir()) == []


def _refused(installation: Installation, period: str, out: Path, *more: str) -> str:
    answer = call(installation, "periods", "pack", period, "--out", out, *more)
    assert (answer.exit_code, answer.stdout, answer.stderr.count("\n")) == (1, "", 1), answer.output
    return answer.stderr


@pytest.fixture
def app(closed: Installation, make_app: Callable[..., Flask]) -> Flask:
    """The pages of the closed period."""
    with closed.store.transaction() as session:
        add_user(session, to_user(EMAIL, PASSWORD, Role.ADMIN, now=CLOSED_AT))
    return make_app(closed)


def test_the_button_of_the_closed_period_sends_the_archive(
    client: FlaskClient, closed: Installation, csrf: Callable[..., str], tmp_path: Path
) -> None:
    """The same bytes as the command makes, noted in the trail; for programs or for the country's spreadsheet."""
    form = {"csrf_token": csrf(client, "/books/periods/main/1")}
    with client.post("/books/periods/main/1/pack", data={**form, "profile": "machine"}) as sent:
        assert sent.headers["Content-Disposition"] == "attachment; filename=month_2026-09-10_cl_main_p1.zip"
        assert sent.data == pack(closed, tmp_path / "out").read_bytes()
    with client.post("/books/periods/main/1/pack", data={**form, "profile": "cl"}) as sent:
        assert sent.data == pack(closed, tmp_path / "out", "--profile", "cl").read_bytes()
    assert "empaquetó" in client.get("/operation/trail").get_data(as_text=True)


def test_the_button_says_why_there_is_no_archive(
    client: FlaskClient, closed: Installation, csrf: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An account that is missing and a month too large for a page are said on the page of the period."""
    form = {"csrf_token": csrf(client, "/books/periods/main/1")}
    closed.settings.config_dir.joinpath("accounts.toml").write_text("[accounts]\n", encoding="utf-8")
    page = client.post("/books/periods/main/1/pack", data=form, follow_redirects=True).get_data(as_text=True)
    assert "no tiene cuenta para clearing, fee_pending, in_transit, suspense de la conexión main" in page
    monkeypatch.setattr(pages, "_MOST_LINES", 1)
    page = client.post("/books/periods/main/1/pack", data=form, follow_redirects=True).get_data(as_text=True)
    assert "El período 1 tiene unas 2 líneas, más de las que espera una página: cuadre periods pack 1." in page
    assert client.post("/books/periods/main/9/pack", data=form, follow_redirects=True).status_code == 404


def test_a_viewer_packs_nothing(
    closed: Installation, app: Flask, login: Callable[..., FlaskClient], csrf: Callable[..., str]
) -> None:
    """The button is for finance; whoever may log in may check an archive."""
    with closed.store.transaction() as session:
        add_user(session, to_user("ver@tienda.test", "solo quiero mirar", Role.VIEWER, now=CLOSED_AT))
    viewer = login(app, "ver@tienda.test", "solo quiero mirar")
    assert "/pack" not in viewer.get("/books/periods/main/1").get_data(as_text=True)
    form = {"csrf_token": csrf(viewer, "/verify")}
    assert viewer.post("/books/periods/main/1/pack", data=form).status_code == 403


def test_the_page_checks_an_archive(
    client: FlaskClient, closed: Installation, csrf: Callable[..., str], tmp_path: Path
) -> None:
    """In the reader's words: what a file proves, what was done to it, and that a file must be chosen."""
    content = pack(closed, tmp_path / "out", "--journal", "none").read_bytes()
    form = {"csrf_token": csrf(client, "/verify")}

    def check(content: bytes, name: str) -> str:
        answer = client.post("/verify", data={**form, "file": (io.BytesIO(content), name)})
        return answer.get_data(as_text=True)

    assert "septiembre.zip está tal como se hizo: período 1 de main, del … al 10-09-2026, conciliación 1" in (
        check(content, "septiembre.zip")
    )
    assert "no está firmado: esto prueba integridad, no quién lo hizo" in check(content, "septiembre.zip")
    assert "septiembre.zip está dañado o cortado" in check(content[:-300], "C:\\libros\\septiembre.zip")
    assert "nota.txt no es un paquete mensual ni un PDF de Cuadre." in check(b"hola", "nota.txt")
    assert "Elija primero un archivo." in client.post("/verify", data=form).get_data(as_text=True)
