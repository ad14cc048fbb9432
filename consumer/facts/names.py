"""What people call what programs name by keys: documents by kind and folio, tax ids as their country writes them.

Pages, lists, files for people, `explain` and the terminal all name a document here. Where only ids of payouts and
payments are at hand, `reports.queries.names` looks up what their names are made of.
"""

import re

from consumer.facts.messages import is_translated, word

# A document's key within a text; what people write after it is no part of it.
KEY = re.compile(r"\b(?:cl|mx):[^\s;,)\"]+")
# One of twelve digits stands for an erased one.
_RUT = re.compile(r"(\d{1,11})-([0-9K])")
_SHOWN_OF_UUID = 8


def name_document(country: str, doc_type: str, series: str, folio: str, uuid: str, language: str) -> str:
    """Return `Factura electrónica 10346`, `CFDI A-5650`, or with the beginning of its UUID where it has no folio."""
    group = f"{country}.{doc_type}"
    kind = word("kind", group, language) if is_translated(f"kind.{group}", language) else doc_type
    number = "-".join(filter(None, (series, folio))) if folio else shorten_uuid(uuid)
    return f"{kind} {number}".strip()


def name_key(doc_key: str, language: str) -> str:
    """Name a document by its key alone; of a UUID, that says neither kind nor folio. Other text stays as it is."""
    country, *parts = doc_key.split(":")
    match country, parts:
        case "mx", ["uuid", uuid]:
            return name_document("mx", "any", "", "", uuid, language)
        case "cl" | "mx", [doc_type, series, folio]:
            return name_document(country, doc_type, series, folio, "", language)
    return doc_key


def name_keys(text: str, language: str) -> str:
    """Return a text with the name of each document in it instead of its key."""
    return KEY.sub(lambda found: name_key(found.group(), language), text)


def shorten_uuid(uuid: str) -> str:
    return f"{uuid[:_SHOWN_OF_UUID]}…" if len(uuid) > _SHOWN_OF_UUID else uuid


def format_tax_id(tax_id: str) -> str:
    """Return a RUT as people in Chile write it, `78.918.343-0`; an RFC stays as it is."""
    if found := _RUT.fullmatch(tax_id):
        return f"{int(found[1]):,}-{found[2]}".replace(",", ".")
    return tax_id
