"""Files of exceptions on the pages: kept, listed, sent back as they came, and taken away by who added them."""

from collections.abc import Callable
from io import BytesIO

import pytest
from flask import Flask
from flask.testing import FlaskClient

from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from reconcile.tables.desk import Attachment, ExceptionChange
from reports.access.people import Role, add_user, to_user
from tests.reports.pages.looking import kept, text_in, text_of

CASE = "/exceptions/main/00aa00aa00aa00aa"
PDF = b"%PDF-1.4 transfer receipt"


def send(client: FlaskClient, csrf: Callable[..., str], name: str, content: bytes) -> str:
    form = {"csrf_token": csrf(client, CASE), "file": (BytesIO(content), name)}
    return text_in(client.post(f"{CASE}/files", data=form, follow_redirects=True).get_data(as_text=True))


def remove(client: FlaskClient, csrf: Callable[..., str], number: int) -> str:
    form = {"csrf_token": csrf(client, CASE), "number": number}
    return text_in(client.post(f"{CASE}/detach", data=form, follow_redirects=True).get_data(as_text=True))


@pytest.mark.both_databases
def test_a_file_is_kept_sent_back_and_taken_away(
    client: FlaskClient, csrf: Callable[..., str], reconciled: Installation
) -> None:
    """It stands on the page with its size and who added it, once however often it is sent, and in the history."""
    page = send(client, csrf, "../recibo BCI.pdf", PDF)
    assert "Archivo agregado." in page
    assert "recibo BCI.pdf 1 kB ana@tienda.test" in page
    send(client, csrf, "recibo BCI.pdf", PDF)
    (row,) = kept(reconciled, Attachment)
    answer = client.get(f"{CASE}/files/{row.id}")
    assert (answer.data, answer.mimetype) == (PDF, "application/pdf")
    assert answer.headers["Content-Disposition"] == 'attachment; filename="recibo BCI.pdf"'
    path = reconciled.settings.files_dir / "attachments" / row.sha256
    assert path.read_bytes() == PDF
    assert "Archivo quitado." in remove(client, csrf, row.id)
    assert not path.exists()
    assert client.get(f"{CASE}/files/{row.id}").status_code == 404
    changes = [(one.change, one.before, one.after) for one in kept(reconciled, ExceptionChange)]
    assert changes == [("attachment", "", "recibo BCI.pdf"), ("attachment", "recibo BCI.pdf", "")]
    assert "Ese archivo ya no está" in remove(client, csrf, row.id)


def test_what_is_no_file_to_keep_is_refused_in_the_readers_language(
    client: FlaskClient, csrf: Callable[..., str], reconciled: Installation
) -> None:
    """An empty file, a program, a page and no file at all: a sentence each, and nothing is kept."""
    assert "vacio.pdf está vacío o pasa de 10 MB" in send(client, csrf, "vacio.pdf", b"")
    for name, content in (("a.exe", b"MZ\x90"), ("a.html", b"<script>"), ("a.pdf", b"<script>"), ("a.csv", b"\x00")):
        assert f"{name} no es un PDF, una imagen (JPG, PNG), una planilla XLSX" in send(client, csrf, name, content)
    assert "Elija primero un archivo" in send(client, csrf, "", b"x")
    assert kept(reconciled, Attachment) == []
    assert not (reconciled.settings.files_dir / "attachments").exists()


def test_only_who_added_a_file_takes_it_away(
    client: FlaskClient, csrf: Callable[..., str], reconciled: Installation, login: Callable[..., FlaskClient]
) -> None:
    """Another person of finance sees no button and is refused; a viewer reads it and adds none."""
    with reconciled.store.transaction() as session:
        for name, role in (("luz", Role.FINANCE), ("vera", Role.VIEWER)):
            add_user(session, to_user(f"{name}@tienda.test", "otra clave larga", role, now=utc_now()))
    send(client, csrf, "nota.txt", b"called at noon")
    (row,) = kept(reconciled, Attachment)
    luz = login(client.application, "luz@tienda.test", "otra clave larga")
    assert "Quitar" not in text_of(luz, CASE)
    assert "nota.txt lo agregó ana@tienda.test: solo esa persona puede quitarlo" in remove(luz, csrf, row.id)
    vera = login(client.application, "vera@tienda.test", "otra clave larga")
    assert vera.get(f"{CASE}/files/{row.id}").data == b"called at noon"
    token = {"csrf_token": csrf(vera, "/payouts")}
    assert vera.post(f"{CASE}/files", data=token).status_code == 403
    assert len(kept(reconciled, Attachment)) == 1


def test_a_file_that_changed_on_the_disk_is_not_sent(
    client: FlaskClient, csrf: Callable[..., str], reconciled: Installation
) -> None:
    """The page says so instead, and the exception stays to be worked."""
    send(client, csrf, "recibo.pdf", PDF)
    (row,) = kept(reconciled, Attachment)
    (reconciled.settings.files_dir / "attachments" / row.sha256).write_bytes(b"%PDF-other")
    answer = client.get(f"{CASE}/files/{row.id}", follow_redirects=True).get_data(as_text=True)
    assert "recibo.pdf ya no es el archivo que se guardó" in text_in(answer)


def test_a_file_that_another_added_stays_theirs(
    client: FlaskClient,
    csrf: Callable[..., str],
    reconciled: Installation,
    app: Flask,
    login: Callable[..., FlaskClient],
) -> None:
    """The same bytes from a second person are refused: when the first took them away, both would lose them."""
    with reconciled.store.transaction() as session:
        add_user(session, to_user("luz@tienda.test", "otra clave larga", Role.FINANCE, now=utc_now()))
    send(client, csrf, "recibo.pdf", PDF)
    luz = login(app, "luz@tienda.test", "otra clave larga")
    assert "Este archivo ya está aquí como recibo.pdf: lo agregó ana@tienda.test." in send(luz, csrf, "copia.pdf", PDF)
    (row,) = kept(reconciled, Attachment)
    assert (row.name, row.who) == ("recibo.pdf", "ana@tienda.test")
