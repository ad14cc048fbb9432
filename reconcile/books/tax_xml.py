"""From bytes to tax documents: one parser without entities, within bounds; pure."""

import re
from collections.abc import Iterator
from typing import TypeAlias
from xml.etree.ElementTree import Element, ParseError, TreeBuilder, XMLParser

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from reconcile.books import cfdi, dte
from reconcile.books.tax_documents import NotForUsError, TaxDocument, TaxXmlError, check_sums, local_name

LARGEST_XML = 20_000_000
_DEEPEST = 60
_LATIN = re.compile(rb"""^<\?xml[^>]*encoding=["'](?:iso-8859-1|windows-1252|latin-?1)["']""", re.IGNORECASE)
# What may stand before the first sign: marks of an encoding, and space.
_BEFORE = b"\xef\xbb\xbf\xff\xfe \t\r\n\0"
_DOCUMENT_TYPE = b"<!DOCTYPE"
_WIDE = (b"\xff\xfe", b"\xfe\xff")
_ROOTS = re.compile(rb"<(?:\w+:)?(?:Comprobante|DTE|EnvioDTE|EnvioBOLETA|SetDTE|Documento)[\s>]")
# What the tax office of Mexico answers to a cancellation, alone or as its service sends it; so many are named.
_RECEIPTS, _ANSWER = ("Acuse", "CancelaCFDResult"), "Envelope"
_MOST_NAMED = 3
Read: TypeAlias = TaxDocument | TaxXmlError


def is_tax_xml(content: bytes) -> bool:
    """Return True if the beginning of a file, in any encoding, is markup that opens a tax document."""
    return begins_as_markup(content) and _ROOTS.search(content.replace(b"\0", b"")) is not None


def begins_as_markup(content: bytes) -> bool:
    return content.lstrip(_BEFORE)[:1] == b"<"


def read_tax_xml(content: bytes) -> Iterator[Read]:
    """Yield each document of a file, or why it cannot be read; raise TaxXmlError if the file as a whole cannot."""
    if len(content) > LARGEST_XML:
        raise TaxXmlError("books.file_too_large", megabytes=len(content) // 1_000_000, most=LARGEST_XML // 1_000_000)
    root = _parse(content)
    _check_depth(root)
    name = local_name(root)
    if name == cfdi.ROOT:
        yield _read(root, is_chilean=False)
    elif name in dte.ROOTS:
        for body in dte.list_documents(root):
            yield _read(body, is_chilean=True)
    else:
        raise _refuse_receipt(root) or NotForUsError("tax.no_document", name=name[:60])


def _refuse_receipt(root: Element) -> NotForUsError | None:
    """Return what a receipt asks to be cancelled; what became of the request the tax office's list alone proves."""
    inside = root.iter() if local_name(root) == _ANSWER else (root,)
    receipt = next((one for one in inside if local_name(one) in _RECEIPTS), None)
    if receipt is None:
        return None
    uuids, codes = (
        [(one.text or "").strip()[:36].lower() for one in receipt.iter() if local_name(one) == name]
        for name in ("UUID", "EstatusUUID")
    )
    asked = [f"{uuid} ({code})" for uuid, code in zip(uuids, codes, strict=False)]
    return NotForUsError(
        "tax.receipt", issuer=receipt.get("RfcEmisor", "?")[:13], on=receipt.get("Fecha", "?")[:10], count=len(asked),
        documents=", ".join([*asked[:_MOST_NAMED], *(["…"] if len(asked) > _MOST_NAMED else [])]) or "–",
    )  # fmt: skip


def _parse(content: bytes) -> Element:
    """Parse without document types; a file that says Latin-1 and is UTF-8, as many are, is read as what it is."""
    encoding = "utf-8" if _LATIN.match(content) and not content.isascii() and _is_utf8(content) else None
    # Entities need a document type, and expat knows its keyword by these bytes in every encoding but UTF-16: without
    # either, the parser in C is as safe as the guarded one and takes half the time.
    is_guarded = _DOCUMENT_TYPE in content or b"\0" in content
    parser: XMLParser[Element] = (
        DefusedXMLParser(target=TreeBuilder(), encoding=encoding, forbid_dtd=True)
        if is_guarded
        else XMLParser(encoding=encoding)  # noqa: S314 - see above
    )
    try:
        parser.feed(content)
        return parser.close()
    except DefusedXmlException:
        raise TaxXmlError("tax.entities") from None
    except (ValueError, LookupError):
        raise TaxXmlError("tax.other_encoding") from None
    except ParseError as error:
        if not (_LATIN.match(content) or content.startswith(_WIDE) or _is_utf8(content)):
            raise TaxXmlError("tax.other_encoding") from None
        if not begins_as_markup(content):
            raise TaxXmlError("tax.no_markup" if content.strip(_BEFORE) else "books.file_empty") from None
        line, column = error.position
        raise TaxXmlError("tax.broken", line=line, column=column) from None


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _check_depth(root: Element) -> None:
    level = [root]
    for _ in range(_DEEPEST):
        level = [child for element in level for child in element]
        if not level:
            return
    raise TaxXmlError("tax.too_deep", most=_DEEPEST)


def _read(element: Element, *, is_chilean: bool) -> Read:
    try:
        return check_sums(dte.read_dte(element) if is_chilean else cfdi.read_cfdi(element))
    except TaxXmlError as error:
        return error
