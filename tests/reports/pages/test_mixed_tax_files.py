"""Two hundred mixed files by command, page and watched folder: a verdict each, and the second time no change."""

import io
import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner
from flask import Flask
from flask.testing import FlaskClient
from sqlmodel import select

from consumer.facts.installation import Installation
from consumer.facts.store import Store
from cuadre import Commands
from reconcile.books.folder import QUIET_SECONDS, FolderWatch
from reconcile.tables.fiscal import FiscalDocument
from reports.access.people import Role, add_user, to_user
from tests.merchant import settings_of
from tests.reconcile.books.bad_tax_files import zipped
from tests.reconcile.books.mixed_tax_files import Laid, list_files
from tests.reconcile.books.tax_texts import MERCHANT, OWN_RUT
from tests.reports.conftest import EMAIL, FINISHED, PASSWORD
from tests.reports.pages.looking import text_in

COUNTRIES = {"cl": (OWN_RUT, "chile"), "mx": (MERCHANT, "mexico")}
COUNTED = {
    "cl": {"taken": 71, "known": 10, "other_issuer": 81, "unreadable": 30, "not_for_us": 17, "without_stamp": 5},
    "mx": {"taken": 61, "known": 10, "other_issuer": 91, "unreadable": 30, "not_for_us": 17, "without_stamp": 5},
}
FILES = list_files()
# What a file comes to by the verdicts of its documents, the first that it has.
OF_FILE = {"taken": "taken", "known": "known", "other_issuer": "refused", "unreadable": "refused",
           "without_stamp": "refused", "not_for_us": "refused"}  # fmt: skip


@pytest.fixture(params=["cl", "mx"])
def merchant(request: pytest.FixtureRequest, store: Store, tmp_path: Path) -> Installation:
    """A merchant of each country with its own tax id, without books."""
    country: str = request.param
    settings = settings_of("http://provider.test", tmp_path, country=country, tax_id=COUNTRIES[country][0])
    return Installation(settings=settings, store=store)


def country_of(merchant: Installation) -> str:
    return merchant.settings.connection("main").country_code


def said_of(laid: Laid, country: str) -> list[tuple[str, str]]:
    said: list[tuple[str, str]] = getattr(laid, COUNTRIES[country][1])
    return said


def keys_of(merchant: Installation) -> Sequence[str]:
    with merchant.store.reading() as session:
        return session.exec(select(FiscalDocument.doc_key)).all()


def test_the_command_names_every_file(merchant: Installation, tmp_path: Path) -> None:
    """Each document with its verdict and sentence, in the order of names; again all that came in is known."""
    country, folder = country_of(merchant), tmp_path / "carpeta"
    folder.mkdir()
    for laid in FILES:
        (folder / laid.name).write_bytes(laid.content)
    assert len(FILES) == 200

    def bring() -> list[tuple[str, str, str]]:
        call = ["invoices", "import", str(folder), "--json"]
        answer = CliRunner().invoke(Commands(), call, obj=lambda: merchant)
        assert answer.exit_code == 3
        rows = [json.loads(line) for line in answer.stdout.splitlines()]
        return [(row["file"].partition("/")[0], row["verdict"], row["reason"]) for row in rows]

    wanted = [(laid.name, *said) for laid in FILES for said in said_of(laid, country)]
    first = bring()
    assert first == wanted
    assert dict(Counter(verdict for _, verdict, _ in first)) == COUNTED[country]
    kept = keys_of(merchant)
    assert len(kept) == COUNTED[country]["taken"]
    assert bring() == [(name, "known" if verdict == "taken" else verdict, said) for name, verdict, said in wanted]
    assert keys_of(merchant) == kept


def test_the_watched_folder_files_each_with_its_sentence(merchant: Installation, tmp_path: Path) -> None:
    """A good file goes to `done`, any other to `refused` with one reason; the same content again is known."""
    country, watch, now = country_of(merchant), FolderWatch(merchant, tmp_path / "books"), 1000.0
    place = tmp_path / "books" / "main" / "invoices"
    place.mkdir(parents=True)

    def bring() -> dict[str, tuple[str, list[str]]]:
        nonlocal now
        for laid in FILES:
            (place / laid.name).write_bytes(laid.content)
        watch.look(now)
        now += QUIET_SECONDS
        assert watch.look(now) == 200
        found = {}
        for path in sorted(place.glob("*/*.verdict.json")):
            answer = json.loads(path.read_text(encoding="utf-8"))
            assert (path.parent.name == "refused") == (answer["verdict"] == "refused")
            found[answer["file"]] = answer["verdict"], [one["reason"] for one in answer["rejects"]]
            path.unlink()
        return found

    for is_again in (False, True):
        found = bring()
        for laid in FILES:
            verdict = next(one for one in OF_FILE if one in dict(said_of(laid, country)))
            expected = "known" if is_again and verdict == "taken" else OF_FILE[verdict]
            assert found[laid.name][0] == expected, laid.name
            assert bool(found[laid.name][1]) == (expected == "refused"), laid.name
        assert len(keys_of(merchant)) == COUNTED[country]["taken"]


def test_the_page_takes_them_in_one_archive(
    merchant: Installation, make_app: Callable[..., Flask], login: Callable[..., FlaskClient], csrf: Callable[..., str]
) -> None:
    """What cannot be taken is told file by file before it is kept; the archive brought in again is known."""
    country = country_of(merchant)
    plain = [laid for laid in FILES if not laid.name.endswith(".zip")]
    packed = zipped(**{laid.name.replace(".", "__"): laid.content for laid in plain})
    with merchant.store.transaction() as session:
        add_user(session, to_user(EMAIL, PASSWORD, Role.ADMIN, now=FINISHED))
    client = login(make_app(merchant))

    def look() -> str:
        form = {"csrf_token": csrf(client, "/books"), "connection": "main", "kind": "invoices"}
        sent = {**form, "file": (io.BytesIO(packed), "carpeta.zip")}
        return client.post("/books/look", data=sent, follow_redirects=True).get_data(as_text=True)

    page = look()
    taken = COUNTED[country]["taken"] - 1
    assert f"Nuevas {taken} Cambiadas 0 Ya conocidas 10" in text_in(page)
    refused = [laid.name for laid in plain if OF_FILE[said_of(laid, country)[0][0]] == "refused"]
    passed_over = [name for name in refused if dict(said_of(_find(name), country)).keys() == {"not_for_us"}]
    told = [name for name in refused if f"carpeta.zip/{name}: " in text_in(page)]
    assert told == [name for name in refused if name not in passed_over[1:]]
    other = (
        "12 archivos no son asunto de los libros, como carpeta.zip/p0_recibo.pdf: no es un XML; impórtelo por separado."
    )
    assert other in text_in(page)
    form = {"csrf_token": csrf(client, "/books"), "key": page.split('name="key" value="', 1)[1].split('"', 1)[0]}
    client.post("/books/keep", data=form, follow_redirects=True)
    assert len(keys_of(merchant)) == taken
    page = text_in(look())
    assert f"Los {taken + 10} documentos ya estaban; no cambió nada" in page


def _find(name: str) -> Laid:
    return next(laid for laid in FILES if laid.name == name)
