"""The names that pages show for keys, looked up many at once and once a request.

A page with many rows calls `prepare_names` with them first; a name that was not prepared is looked up by itself.
"""

import re
from collections.abc import Iterable, Mapping

from flask import g

from consumer.facts.messages import Message, Value
from consumer.facts.names import KEY, name_key
from reports.pages import desk
from reports.queries import names
from reports.shapes.notation import format_figure
from reports.shapes.spans import Row

_ITEMS = ("resource_id", "last_payment_id", "payment_id", "transfer_id")
_PAYOUTS = ("payout_id", "matched_to")
# Columns of text in which keys stand, and what a key in a text looks like.
_TEXTS = ("subject", "before", "after", "cause")
KEYS = re.compile(rf"{KEY.pattern}|\b(?:po|pi|ch|re|tr|mov|cb|dp)_\w+|\b[0-9a-f]{{32}}\b")
_NAMED = ("subject", "payment", "document", "payout")
_AMOUNTS = ("amount", "paid", "brought")


def document_name(connection: str, doc_key: str) -> str:
    # Only a UUID does not say kind and folio itself.
    if not doc_key.startswith("mx:uuid:"):
        return name_key(doc_key, desk.language())
    return _find_names("document", connection, [doc_key])[connection, doc_key]


def item_name(connection: str, resource_id: str) -> str:
    return _find_names("item", connection, [resource_id])[connection, resource_id]


def payout_name(payout_id: str) -> str:
    return _find_names("payout", "", [payout_id])["", payout_id]


def run_name(connection: str, number_or_id: int | str) -> str:
    key = str(number_or_id)
    return _find_names("run", connection, [key])[connection, key]


def name_values(said: Message | str, connection: str) -> Message | str:
    """Return a refusal with names in the place of keys of documents, payouts and payments, and grouped amounts."""
    if isinstance(said, str):
        return said
    return Message(said.code, {name: _name_value(name, value, connection) for name, value in said.values.items()})


def _name_value(name: str, value: Value, connection: str) -> Value:
    if isinstance(value, Message):
        named = name_values(value, connection)
        return value if isinstance(named, str) else named
    if name in _AMOUNTS and isinstance(value, str):
        return format_figure(value, desk.language())
    if name not in _NAMED or not isinstance(value, str):
        return value
    if value.startswith(("cl:", "mx:")):
        return document_name(connection, value)
    payout = payout_name(value)
    return payout if payout != value else item_name(connection, value)


def prepare_names(rows: Iterable[Row | object]) -> str:
    """Look up the names of all documents, payments and payouts that rows name; return "" for use in a template."""
    documents, items, payouts = dict[str, set[str]](), dict[str, set[str]](), set[str]()
    for row in rows:
        values = row if isinstance(row, Mapping) else vars(row)
        own = values.get("connection") or desk.home_connection().name
        if str(values.get("doc_key") or "").startswith("mx:uuid:"):
            documents.setdefault(own, set()).add(values["doc_key"])
        items.setdefault(own, set()).update(values[name] for name in _ITEMS if values.get(name))
        payouts.update(values[name] for name in _PAYOUTS if values.get(name))
        said = {key for name in _TEXTS for key in _find_keys(values.get(name))}
        payouts |= {key for key in said if key.startswith("po_")}
        items[own] |= {key for key in said if "_" in key and ":" not in key} - payouts
    for kind, found in (("document", documents), ("item", items)):
        for own, keys in found.items():
            _find_names(kind, own, keys)
    _find_names("payout", "", payouts)
    return ""


def _find_keys(text: object) -> list[str]:
    return [found.group() for found in KEYS.finditer(text)] if isinstance(text, str) else []


def _find_names(kind: str, connection: str, keys: Iterable[str]) -> Mapping[tuple[str, str], str]:
    """Return the names of one kind that this request knows, those asked for among them; an unknown key stays one."""
    known: dict[tuple[str, str], str] = g.setdefault(f"names_of_{kind}", {})
    if missing := [key for key in keys if (connection, key) not in known]:
        known |= {(connection, key): name for key, name in _look_up(kind, connection, missing).items()}
    return known


def _look_up(kind: str, connection: str, keys: list[str]) -> dict[str, str]:
    visible = [own.name for own in desk.visible_connections()]
    named = dict(zip(keys, keys, strict=True))
    if not visible:
        return named
    language = desk.language()
    reader = names.Reader(language, desk.zone_of, desk.bank_name)
    with desk.installation().store.reading() as session:
        match kind:
            case "document":
                return named | names.name_documents(session, connection, keys, language)
            case "run":
                return named | names.name_runs(session, connection, keys, language)
            case "item":
                return named | names.name_items(session, connection, keys, reader)
        return named | names.name_payouts(session, visible, keys, reader)
