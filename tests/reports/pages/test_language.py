"""Every page and refusal in three languages: no English in Spanish, no codes and days of programs, no other country."""

import re
from collections.abc import Callable, Iterator, Sequence
from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from consumer.facts.installation import Installation
from consumer.facts.messages import is_translated
from consumer.facts.store import Store
from consumer.facts.tables.provider import Payout
from reports.access.people import Role, add_user, to_user
from tests.merchant import settings_of
from tests.reports.conftest import EMAIL, FINISHED, PASSWORD, to_mexico
from tests.reports.pages.conftest import pages_of
from tools import catalogues

# Words that only English has; names of formats, commands and settings are the same in every language.
ENGLISH = re.compile(
    r"\b(the|and|of|is|are|was|were|with|without|which|payout|payouts|payment|payments|invoice|invoices|refund|refunds|"
    r"run|runs|missing|unknown|never|nothing|since|until|row|rows|day|days|fee|fees|dispute|disputes|exception|"
    r"exceptions|customer|account|accounts|amount|settings|open|closed|state|overdue)\b",
    re.IGNORECASE,
)
# Words that only Spanish has, without those that name documents, taxes and formats in every language.
SPANISH = re.compile(
    r"\b(el|los|las|del|unos|que|por|para|con|sin|está|están|fue|hay|más|día|días|pago|pagos|liquidación|"
    r"conciliación|cliente|monto|importe|saldo|archivo|abierta|cerrada|buscar|guardar)\b",
    re.IGNORECASE,
)
CODE = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")
DAY = re.compile(r"\b20\d\d-\d\d(?:-\d\d)?\b|T\d\d:\d\d|\d\d:\d\dZ")
# Codes of exceptions, runs by their bare numbers, and a time that is not the reader's.
CAPITALS = re.compile(r"\b(?!CUADRE_)[A-Z]+(?:_[A-Z]+)+\b|\br\d{4}\b|\bUTC\b")
KEY = re.compile(r"\b(?:pi|po|ch|re|tr|mov|evt|dp)_\w+|\b(?:cl|mx):[\w:-]+")
OF_CHILE = re.compile(r"\b(F29|F22|[Bb]oletas?|[Gg]losa|RUT|monto|montos|cartola|cartolas|[Pp]eríodos?)\b")
OF_MEXICO = re.compile(r"\b(CFDI|RFC|importe|importes|SAT|complementos?|[Pp]eriodos?)\b")
# Values, commands, options and files that a sentence quotes.
OF_PROGRAMS = re.compile(r"\{[^}]*\}|`[^`]*`|--?\w[\w-]*|cuadre [a-z -]+|accounts\.toml|\[options\]")
# The name of a setting, and of a file of the program or where it lies.
OF_SETTINGS = re.compile(r"setting \w+|(?<!\S)/\S+|accounts\.toml")
# What these elements hold is a key to copy, a value of a program, or a name that someone gave.
APART = {"code", "pre", "script", "style", "svg", "details", "option", "textarea"}
NOT_READ = ("/api",)
# What people mistype or kept from another day, and forms whose fields were left out or cannot be read.
REFUSED = (
    "/nowhere", "/exceptions?q=nada%3D3", "/view/documents?q=saldo%3D>x",
    "/view/nothing", "/payouts/nada", "/exceptions/main/ffff", "/documents/main/nada", "/bank/main/nada",
    "/disputes/main/nada", "/books/files/bank/main/nada", "/books/periods/main/99", "/people/99", "/payers/main/99",
    "/tax/main/2026-13", "/proof/main.pdf", "/proof/main.pdf?payout=nada", "/journal/payouts/nada", "/welcome/nada",
    "/reconcile/nada", "/payouts?from=ayer", "/payouts?from=2026-10-09&to=2026-10-01", "/view/documents?q=due%3Dnunca",
)  # fmt: skip
POSTED: dict[str, dict[str, Any]] = {
    "/exceptions/bulk": {"action": "note", "note": "llamé", "pick": "main/00aa00aa00aa00aa/1"},
    "/exceptions/bulk?state=all": {"action": "resolve"},
    "/exceptions/sheet": {"sheet": b"a;b"},
    "/books/look": {"kind": "invoices", "file": b"a;b;c"},
    "/books/look?again": {"kind": "invoices", "file": b"doc_type,folio,issue_date,total\n33,,ayer,1.5.5\n"},
    "/books/look?bank": {"kind": "bank", "file": b"Fecha;Monto\n2026-10-01;x\n", "account": "12"},
    "/verify": {"file": b"%PDF-1.4 nada"},
    "/account/password": {"old": "mala", "password": "corta"},
}
_VOID = {"input", "meta", "link", "br", "img", "hr"}


class Reader(HTMLParser):
    """Read a page as a person does: its sentences, without what stands apart as a key or a name."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._apart: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        classes = (dict(attrs).get("class") or "").split()
        if (tag not in _VOID and (self._apart or tag in APART or {"name", "who"} & set(classes))) or (
            (dict(attrs).get("lang") or "") == "en" and tag == "button"
        ):
            self._apart.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._apart and self._apart[-1] == tag:
            self._apart.pop()

    def handle_data(self, data: str) -> None:
        if not self._apart and data.strip():
            self.texts.append(data.strip())


def read(page: str) -> list[str]:
    reader = Reader()
    reader.feed(page)
    return reader.texts


def find_foreign(texts: list[str], country: str) -> Iterator[str]:
    """Yield each text of a page that holds what no sentence of this country's Spanish, or of English, may hold."""
    spanish = (ENGLISH, CODE, CAPITALS, DAY, KEY)
    patterns = {"cl": (*spanish, OF_MEXICO), "mx": (*spanish, OF_CHILE), "en": (SPANISH, CODE, CAPITALS, KEY)}[country]
    for text in texts:
        for pattern in patterns:
            found = pattern.search(OF_SETTINGS.sub("", text))
            # A key that stands alone is that of something the provider never showed: it has no other name.
            if found and not (pattern is KEY and found.group() == text):
                yield f"{found.group()!r} in {text[:80]!r}"


def _walk(client: FlaskClient, paths: Sequence[str], country: str, *, is_filled: bool = True) -> list[str]:
    wrong = []
    for path in paths:
        answer = client.get(path)
        assert answer.status_code in ((200, 302) if is_filled else (200, 302, 404)), path
        wrong += _read_aloud(path, answer, country)
    for path in REFUSED:
        answer = client.get(path)
        assert answer.status_code in (400, 404), path
        wrong += _read_aloud(path, answer, country)
    return wrong + [one for name, answer in _forms(client, country) for one in _read_aloud(name, answer, country)]


def _read_aloud(path: str, answer: TestResponse, country: str) -> list[str]:
    return [f"{path}: {one}" for one in find_foreign(read(answer.get_data(as_text=True)), country)]


def _forms(client: FlaskClient, country: str) -> Iterator[tuple[str, TestResponse]]:
    """Yield what forms answer: files that cannot be read, a plan of many, and fields that were left out."""
    page = client.get("/account").get_data(as_text=True)
    token = {"csrf_token": page.split('name="csrf_token" value="', 1)[1].split('"', 1)[0]}
    for path, fields in POSTED.items() if country != "en" else ():
        sent = {name: (BytesIO(one), "ventas.csv") if isinstance(one, bytes) else one for name, one in fields.items()}
        yield path, client.post(path, data=token | sent, follow_redirects=True)


@pytest.fixture
def own_pages(every_page: list[str]) -> list[str]:
    return _of_finance(every_page)


def _of_finance(pages: list[str]) -> list[str]:
    return [path for path in pages if not path.startswith(NOT_READ)]


def _name_payout(installation: Installation, currency: str) -> None:
    """Let the mirror know the payout, which names it."""
    with installation.store.transaction() as session:
        money: dict[str, Any] = {"amount": 137_590, "currency": currency, "version_at": FINISHED, "body": "{}"}
        session.add(Payout(connection="main", id="po_1", mode="test", status="succeeded", created_at=FINISHED, **money))


def test_pages_of_chile_speak_its_spanish(full: FlaskClient, own_pages: list[str], books: Installation) -> None:
    """Every page with rows, every refusal and what forms answer, read as a person does."""
    _name_payout(books, "CLP")
    wrong = _walk(full, own_pages, "cl")
    assert wrong == [], "\n".join(wrong)


def test_pages_of_mexico_speak_its_spanish(
    mexican_books: Installation, own_pages: list[str], make_app: Callable[..., Flask],
    login: Callable[..., FlaskClient],
) -> None:  # fmt: skip
    """Nothing of Chile stands on any page with the same rows."""
    _name_payout(mexican_books, "MXN")
    wrong = _walk(login(make_app(mexican_books)), to_mexico(own_pages), "mx")
    assert wrong == [], "\n".join(wrong)


def test_english_pages_speak_english(full: FlaskClient, own_pages: list[str], books: Installation) -> None:
    """No Spanish sentence, key or code stands on a page of a reader who chose English."""
    _name_payout(books, "CLP")
    page = full.get("/account").get_data(as_text=True)
    token = page.split('name="csrf_token" value="', 1)[1].split('"', 1)[0]
    full.post("/language", data={"csrf_token": token, "language": "en", "next": "/"})
    # The chart of accounts is the merchant's, and so are the words in it.
    wrong = _walk(full, [path for path in own_pages if not path.startswith(("/journal", "/view/journal"))], "en")
    assert wrong == [], "\n".join(wrong)


@pytest.mark.parametrize("country", ["cl", "mx"])
def test_pages_of_an_empty_installation_speak_spanish(
    store: Store, country: str, make_app: Callable[..., Flask], login: Callable[..., FlaskClient], tmp_path: Path
) -> None:
    """Before the first run too."""
    with store.transaction() as session:
        add_user(session, to_user(EMAIL, PASSWORD, Role.ADMIN, now=FINISHED))
    app = make_app(Installation(settings_of("http://provider.test", tmp_path, country=country), store))
    wrong = _walk(login(app), _of_finance(pages_of(app)), country, is_filled=False)
    assert wrong == [], "\n".join(wrong)


@pytest.mark.parametrize(("language", "other"), [("es-CL", OF_MEXICO), ("es-MX", OF_CHILE)])
def test_every_sentence_is_of_its_language(language: str, other: re.Pattern[str]) -> None:
    """Every refusal and every text of the catalogues: no English word, and no word of the other country."""
    # The last two are said of Mexican documents alone.
    both = {"note.no_tax_id", "rule.tax_id", "title.REP_MISSING", "action.REP_MISSING"}
    wrong = []
    for entry in catalogues.read(language.replace("-", "_")):
        text, code = OF_PROGRAMS.sub("", str(entry.string)), str(entry.id)
        if not entry.id or code in both or is_of_programs(code):
            continue
        if found := ENGLISH.search(text) or DAY.search(text):
            wrong.append(f"{code}: {found.group()} in {text[:80]}")
        if other.search(text) and is_translated(code, language) and not is_of_two_countries(code):
            wrong.append(f"{code}: of the other country: {text[:80]}")
    assert wrong == [], "\n".join(wrong)


def is_of_programs(code: str) -> bool:
    return code.startswith(("return.", "means.", "alarm", "settings."))


def is_of_two_countries(code: str) -> bool:
    """Return True if a sentence speaks of files or rules of the other country by their names."""
    groups = (
        "books facts kind expected field rule note country journal stream report tolerance column "
        "tax tax_cause tax_do tax_duty tax_figure"
    )
    return code.partition(".")[0] in groups.split()


def test_a_foreign_word_is_found() -> None:
    """The reader of these tests sees what it looks for, and leaves keys that stand apart."""
    page = "<p>La payout po_1 es de 2026-10-31</p><p>lista <code>pi_2</code> no_bank</p><p>Glosa</p>"
    assert list(find_foreign(read(page), "mx")) == [
        "'payout' in 'La payout po_1 es de 2026-10-31'",
        "'2026-10-31' in 'La payout po_1 es de 2026-10-31'",
        "'po_1' in 'La payout po_1 es de 2026-10-31'",
        "'no_bank' in 'no_bank'",
        "'Glosa' in 'Glosa'",
    ]
