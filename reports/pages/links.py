"""Names of documents, payouts, payments, runs, exceptions and events in a text, as links to their pages."""

import re

from flask import url_for
from markupsafe import Markup, escape

from consumer.facts.texts import shorten
from reports.pages.names import KEYS, document_name, item_name, payout_name, run_name


def with_links(text: str, connection: str) -> Markup:
    """Make every key in a text a link to what it names, by its name."""

    def link(found: re.Match[str]) -> str:
        address, said = _lead(name := found.group(), connection)
        return Markup('<a href="{}" title="{}">{}</a>').format(address, name, said)

    text, parts, last = shorten(text), [], 0
    for found in KEYS.finditer(text):
        parts += [escape(text[last : found.start()]), link(found)]
        last = found.end()
    return Markup("").join([*parts, escape(text[last:])])


def _lead(key: str, connection: str) -> tuple[str, str]:
    """Return the address of what a key names, and its name."""
    if key.startswith("po_"):
        return url_for("payouts.show", payout_id=key), payout_name(key)
    if ":" in key:
        return url_for("documents.show", connection=connection, doc_key=key), document_name(connection, key)
    place, said = ("events", item_name(connection, key)) if "_" in key else ("runs", run_name(connection, key))
    return url_for("operations.index", name=place, q=key, connection=connection), said


def of_trail(subject: str) -> Markup:
    """Lead from an entry of the trail to what it is about."""
    if found := re.fullmatch(r"(exception|event) (\S+) (\S+)", subject):
        kind, connection, name = found.groups()
        address = (
            url_for("case.show", connection=connection, exception_id=name)
            if kind == "exception"
            else url_for("operations.event", connection=connection, event_id=name)
        )
        return Markup('<a class="id inline" href="{}">{}</a>').format(address, name)
    connection, _, about = subject.partition(" ")
    if about.startswith(("cl:", "mx:")) or " cl:" in about or " mx:" in about:
        return with_links(about, connection)
    return escape("" if subject == "login" else shorten(subject))
