"""Whatever a form is refused for, what was typed into it stands in its fields again."""

from collections.abc import Callable, Iterator
from datetime import date
from html.parser import HTMLParser

from flask.testing import FlaskClient

from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from reconcile.runs.ordered_closing import OrderState
from reconcile.tables.closing import ClosingOrder

TYPED = "Escrito por mí & <b>dos</b>"
# What tells a form of what another person did meanwhile.
SEEN = {"seen", "version"}


class Forms(HTMLParser):
    """The forms of a page that send what a person writes: address, fields as they stand, and which are written."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str], set[str]]] = []
        self._by_id: dict[str, dict[str, str]] = {}
        self._is_open = False
        self._select = self._area = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._is_open = given.get("method") == "post" and "multipart" not in given.get("enctype", "")
            if self._is_open:
                self.found.append((given["action"], {}, set()))
                self._by_id[given.get("id", "")] = self.found[-1][1]
        elif "name" in given and (self._is_open or given.get("form") in self._by_id):
            self._take(tag, given)
        elif tag == "option" and self._select and self._is_open:
            fields = self.found[-1][1]
            if "selected" in given or self._select not in fields:
                fields[self._select] = given.get("value", "")

    def _take(self, tag: str, given: dict[str, str]) -> None:
        fields, written = self._by_id[given["form"]] if "form" in given else self.found[-1][1], self.found[-1][2]
        name, kind = given["name"], given.get("type", "text")
        if tag == "select":
            self._select = name
        elif tag == "button" or kind in {"checkbox", "radio"}:
            fields.setdefault(name, given.get("value", "on"))
        else:
            fields[name] = given.get("value", "")
            if kind in {"text", "search"}:
                written.add(name)
            self._area = name if tag == "textarea" else ""

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._is_open = False
        elif tag == "select":
            self._select = ""
        elif tag == "textarea":
            self._area = ""

    def handle_data(self, data: str) -> None:
        if self._area:
            self.found[-1][1][self._area] += data


def _forms(page: str) -> Iterator[tuple[str, dict[str, str], set[str]]]:
    reader = Forms()
    reader.feed(page)
    return (one for one in reader.found if one[2])


def test_no_refused_form_loses_what_was_typed(full: FlaskClient, every_page: list[str]) -> None:
    """Every form of every page, sent as if another was first, with words for a name or a number."""
    refused, lost = set(), []
    for path in every_page:
        page = full.get(path).get_data(as_text=True)
        for address, fields, written in _forms(page):
            # Passwords are never sent back, and no process closes days here.
            if address.startswith("/account/") or address == "/books/close":
                continue
            stale = dict.fromkeys(SEEN & fields.keys(), "99999999")
            sent = fields | stale | dict.fromkeys(written, TYPED)
            answer = full.post(address, data=sent, follow_redirects=True)
            body = answer.get_data(as_text=True)
            if answer.status_code < 400 and 'class="alert"' not in body:
                continue
            refused.add(address)
            kept = _written(body)
            if any(TYPED not in kept.get(name, []) for name in written):
                lost.append(f"{path}: {address} {sorted(written)} {answer.status_code}")
    assert lost == [], "\n".join(lost)
    assert len(refused) > 20, refused


def _written(page: str) -> dict[str, list[str]]:
    # Fields of a form that sends a file count too.
    reader = Forms()
    reader.feed(page.replace('enctype="multipart/form-data"', ""))
    found: dict[str, list[str]] = {}
    for _, fields, _ in reader.found:
        for name, value in fields.items():
            found.setdefault(name, []).append(value)
    return found


def test_a_refused_upload_keeps_what_was_typed_beside_its_file(full: FlaskClient, csrf: Callable[..., str]) -> None:
    """The kind, the account and the month stand as they were; the file is chosen again."""
    sent = {"csrf_token": csrf(full, "/books"), "kind": "register", "connection": "main", "account": "00012345678",
            "period": "2026-09"}  # fmt: skip
    page = full.post("/books/look", data=sent).get_data(as_text=True)
    assert 'class="alert"' in page
    assert _written(page)["account"] == ["00012345678"]
    assert _written(page)["period"] == ["2026-09"]
    assert '<option value="register" selected>' in page


def test_what_was_written_for_a_closing_that_was_refused_stands_in_the_next(
    books: Installation, full: FlaskClient
) -> None:
    """The process that closes refuses an order a while after its form; the form of these days has its reason again."""
    order = ClosingOrder(
        connection="main", until=date(2026, 9, 30), as_of=None, reason=TYPED, author="ana@tienda.test",
        ordered_at=utc_now(), state=OrderState.REFUSED,
    )  # fmt: skip
    with books.store.transaction() as session:
        session.add(order)
    page = full.get("/books/closing?connection=main&until=2026-09-30").get_data(as_text=True)
    assert _written(page)["reason"] == [TYPED]
