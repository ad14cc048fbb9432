"""Names instead of keys, and tax ids as people write them."""

import pytest

from consumer.facts.names import format_tax_id, name_document, name_key, name_keys


@pytest.mark.parametrize(
    ("key", "language", "name"),
    [
        ("cl:33::10346", "es-CL", "Factura electrónica 10346"),
        ("cl:61::7", "es-CL", "Nota de crédito electrónica 7"),
        ("cl:33::10346", "en", "Electronic invoice 10346"),
        ("mx:I:A:5650", "es-MX", "CFDI A-5650"),
        ("mx:E::12", "es-MX", "CFDI de egreso 12"),
        ("mx:uuid:3f2a91bc-0000-4000-8000-000000000001", "es-MX", "CFDI 3f2a91bc…"),
        ("cl:999::5", "es-CL", "999 5"),
        ("pi_1", "es-CL", "pi_1"),
        ("cl:odd", "es-CL", "cl:odd"),
    ],
)
def test_a_key_is_named_by_what_it_says(key: str, language: str, name: str) -> None:
    """Kind and folio come from the key; what is no key of a document stays as it is."""
    assert name_key(key, language) == name


def test_a_document_without_folio_is_named_by_its_uuid() -> None:
    """Series and folio come first; a UUID is shortened to what tells it from others."""
    uuid = "3f2a91bc-0000-4000-8000-000000000001"
    assert name_document("mx", "I", "A", "5650", uuid, "es-MX") == "CFDI A-5650"
    assert name_document("mx", "I", "A", "", uuid, "es-MX") == "CFDI 3f2a91bc…"


def test_keys_within_a_text_are_named() -> None:
    """Each key of a sentence gives way to its name, and the rest of the sentence stays."""
    assert name_keys("cl:33::7; cl:39:B:8, po_1", "es-CL") == "Factura electrónica 7; Boleta electrónica B-8, po_1"


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ("78918343-0", "78.918.343-0"),
        ("1000005-K", "1.000.005-K"),
        ("123456-0", "123.456-0"),
        ("XAXX010101000", "XAXX010101000"),
        ("", ""),
    ],
)
def test_a_rut_is_shown_as_chile_writes_it(stored: str, shown: str) -> None:
    """Dots for thousands and a dash; an RFC has neither."""
    assert format_tax_id(stored) == shown
