"""Bad tax files and registers get one sentence: at the terminal in English, on pages in the Spanish of the country."""

import io
import json
from collections.abc import Callable

import pytest
from flask.testing import FlaskClient

from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from consumer.facts.messages import translate
from consumer.facts.tables.provider import Entity
from reconcile.books.intake import Kind, bring_in
from tests.reconcile.books.bad_tax_files import BAD, REGISTER, zipped
from tests.reconcile.books.tax_texts import OWN_RUT
from tests.reports.pages.looking import text_in


@pytest.mark.parametrize(("place", "content", "said"), BAD)
def test_one_sentence_in_each_language(
    place: str, content: bytes, said: tuple[str, str, str], reconciled: Installation, client: FlaskClient,
    csrf: Callable[..., str],
) -> None:  # fmt: skip
    """Broken, in other bytes, bombs, outside entities, another company's, a register of another month."""
    kind, _, name = place.partition("/")
    main, body = reconciled.settings.connection("main"), json.dumps({"is_root": True, "holder_id": OWN_RUT})
    with reconciled.store.transaction() as session:
        session.add(Entity(connection="main", id="ent_1", mode="test", version_at=utc_now(), body=body))
    found = bring_in(reconciled, main, Kind(kind), name, content, term="2026-10" if kind == "register" else "")
    (reject,) = found.rejects
    assert tuple(translate(reject.reason, language) for language in ("en", "es-CL", "es-MX")) == said
    form = {"csrf_token": csrf(client, "/books"), "connection": "main", "kind": kind, "period": "2026-10"}
    answer = client.post("/books/look", data={**form, "file": (io.BytesIO(content), name)}, follow_redirects=True)
    page = text_in(answer.get_data(as_text=True))
    assert said[1].partition(": ")[2] in page
    assert "No se guardó nada de este archivo." in page


def test_a_zip_of_registers_is_taken_file_by_file(reconciled: Installation) -> None:
    """As at the terminal: one of another month keeps no other out, and the same ZIP again is known."""
    main = reconciled.settings.connection("main")
    content = zipped(RCV_VENTA_202610__csv=REGISTER.encode(), RCV_VENTA_202609__csv=REGISTER.encode())
    first = bring_in(reconciled, main, Kind.REGISTER, "rcv.zip", content, term="2026-10")
    assert (first.verdict.value, first.kept, first.rows) == ("taken", True, 1)
    assert [str(note) for note in first.notes] == [
        "rcv.zip/RCV_VENTA_202609.csv: it is of 2026-09, and 2026-10 was asked for"
    ]
    assert bring_in(reconciled, main, Kind.REGISTER, "rcv.zip", content, term="2026-10").verdict.value == "known"
