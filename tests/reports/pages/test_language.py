"""Every page and refusal in three languages: no English in Spanish, no codes and days of programs, no other country."""

import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from consumer.facts.installation import Installation
from consumer.facts.messages import is_translated
from consumer.facts.store import Store
from consumer.facts.tables.provider import Payout
from reports.people import Role, add_user, to_user
from tests.merchant import settings_of
from tests.reports.conftest import EMAIL, FINISHED, PASSWORD, keep_run
from tests.reports.pages.conftest import NO_PAGES, SAMPLES
from tools import catalogues

# Words that only English has; names of formats, commands and settings are the same in every language.
ENGLISH = re.compile(
    r"\b(the|and|of|is|are|was|were|with|without|which|payout|payouts|payment|payments|invoice|invoices|refund|refunds|"
    r"run|runs|missing|unknown|never|nothing|since|until|row|rows|day|days|fee|fees|dispute|disputes|exception|"
    r"exceptions|customer|account|accounts|amount|settings|open|closed|state|overdue)\b",
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
# What these elements hold is a key to copy, a value of a program, or a name that someone gave.
APART = {"code", "pre", "script", "style", "svg", "details", "option", "textarea"}
# Pages for who runs the program or keeps the ledger: jobs, events and accounts have the names of files and programs.
FOR_OPERATORS = ("/operation/events", "/settings", "/api", "/view/drift", "/journal", "/view/journal")
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
    """Yield each text of a Spanish page that holds what no Spanish sentence of this country may hold."""
    other = OF_MEXICO if country == "cl" else OF_CHILE
    for text in texts:
        for pattern in (ENGLISH, CODE, CAPITALS, DAY, KEY, other):
            found = pattern.search(text)
            # A key that stands alone is that of something the provider never showed: it has no other name.
            if found and not (pattern is KEY and found.group() == text):
                yield f"{found.group()!r} in {text[:80]!r}"


@pytest.fixture
def mexican(tmp_path: Path, migrated_sqlite: Path) -> Iterator[Installation]:
    """A Mexican merchant with a run and nothing else."""
    path = tmp_path / "mexico.db"
    path.write_bytes(migrated_sqlite.read_bytes())
    store = Store(f"sqlite:///{path}")
    with store.transaction() as session:
        add_user(session, to_user(EMAIL, PASSWORD, Role.ADMIN, now=FINISHED))
        keep_run(session)
    yield Installation(settings=settings_of("http://provider.test", tmp_path, country="mx"), store=store)
    store.close()


def _walk(app: Flask, client: FlaskClient, country: str, *, is_filled: bool) -> list[str]:
    wrong = []
    for rule in app.url_map.iter_rules():
        if "GET" not in (rule.methods or ()) or {rule.endpoint, rule.endpoint.partition(".")[0]} & NO_PAGES:
            continue
        has_samples = rule.arguments or rule.endpoint in SAMPLES
        paths = SAMPLES.get(rule.endpoint, []) if has_samples else [rule.rule]
        for path in paths:
            if path.startswith(FOR_OPERATORS):
                continue
            answer = client.get(path)
            assert answer.status_code in ((200, 302) if is_filled else (200, 302, 404)), path
            wrong += [f"{path}: {one}" for one in find_foreign(read(answer.get_data(as_text=True)), country)]
    return wrong


def test_pages_of_chile_speak_its_spanish(full: FlaskClient, app: Flask, books: Installation) -> None:
    """Every page with rows, read as a person does; the payout is known to the mirror, which names it."""
    with books.store.transaction() as session:
        money: dict[str, Any] = {"amount": 137_590, "currency": "CLP", "version_at": FINISHED, "body": "{}"}
        session.add(Payout(connection="main", id="po_1", mode="test", status="succeeded", created_at=FINISHED, **money))
    wrong = _walk(app, full, "cl", is_filled=True)
    assert wrong == [], "\n".join(wrong)


def test_pages_of_mexico_speak_its_spanish(
    mexican: Installation, make_app: Callable[..., Flask], login: Callable[..., FlaskClient]
) -> None:
    """Nothing of Chile stands on any page."""
    app = make_app(mexican)
    wrong = _walk(app, login(app), "mx", is_filled=False)
    assert wrong == [], "\n".join(wrong)


def test_pages_of_an_empty_installation_speak_spanish(bare_app: Flask, login: Callable[..., FlaskClient]) -> None:
    """Before the first run too."""
    assert _walk(bare_app, login(bare_app), "cl", is_filled=False) == []


@pytest.mark.parametrize(("language", "other"), [("es-CL", OF_MEXICO), ("es-MX", OF_CHILE)])
def test_every_sentence_is_of_its_language(language: str, other: re.Pattern[str]) -> None:
    """Every refusal and every text of the catalogues: no English word, and no word of the other country."""
    both = {"note.no_tax_id", "rule.tax_id"}
    wrong = []
    for entry in catalogues.read(language.replace("-", "_")):
        text, code = (
            re.sub(r"\{[^}]*\}|`[^`]*`|--?\w[\w-]*|cuadre [a-z -]+|accounts\.toml|\[options\]", "", str(entry.string)),
            str(entry.id),
        )
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
