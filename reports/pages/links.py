"""Names of documents, payouts, exceptions and events in a text, as links to their pages."""

import re

from flask import url_for
from markupsafe import Markup, escape

from consumer.facts.names import KEY
from consumer.facts.texts import shorten
from reports.pages.names import document_name, payout_name

_KEY = re.compile(rf"{KEY.pattern}|\bpo_\w+")


def with_links(text: str, connection: str) -> Markup:
    """Make every document key and payout in a text a link to its page, by its name."""

    def link(found: re.Match[str]) -> str:
        name = found.group()
        if name.startswith("po_"):
            address, said = url_for("payouts.show", payout_id=name), payout_name(name)
        else:
            address = url_for("documents.show", connection=connection, doc_key=name)
            said = document_name(connection, name)
        return Markup('<a href="{}" title="{}">{}</a>').format(address, name, said)

    text, parts, last = shorten(text), [], 0
    for found in _KEY.finditer(text):
        parts += [escape(text[last : found.start()]), link(found)]
        last = found.end()
    return Markup("").join([*parts, escape(text[last:])])


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
