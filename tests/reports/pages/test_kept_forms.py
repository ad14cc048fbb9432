"""Whatever a form is refused for, what was typed into it stands in its fields again."""

from collections.abc import Iterator
from html.parser import HTMLParser

from flask.testing import FlaskClient

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
    reader = Forms()
    reader.feed(page)
    found: dict[str, list[str]] = {}
    for _, fields, _ in reader.found:
        for name, value in fields.items():
            found.setdefault(name, []).append(value)
    return found
