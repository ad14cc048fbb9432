"""Whose sales a list holds: the issuer it names must be the merchant, where the merchant's tax id is known."""

from pathlib import Path

import pytest

from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from consumer.facts.settings import Connection
from consumer.facts.tables.provider import Entity
from reconcile.books.invoices import ImportOutcome, import_invoices

CHILE = "RUT Emisor;Tipo Doc;Folio;Fecha Docto;Monto total"
MEXICO = "RfcEmisor,Efecto,Folio,Fecha,Total"
NOT_CHECKED = "the merchant's own tax id is not known, so nothing shows that the issuer is the merchant: set tax_id"


def _connection(country: str, tax_id: str | None = None) -> Connection:
    values = {"name": "main", "api_key": "sk_test_one", "country": country, "tax_id": tax_id}
    return Connection.model_validate(values)


def _import(installation: Installation, folder: Path, connection: Connection, *lines: str) -> ImportOutcome:
    path = folder / "list.csv"
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return import_invoices(installation, connection, path)


def _keep_root(installation: Installation, body: str, *, mode: str = "test") -> None:
    with installation.store.transaction() as session:
        session.add(Entity(connection="main", id="ent_1", mode=mode, version_at=utc_now(), body=body))


def test_purchases_from_a_single_supplier_are_refused(installation: Installation, tmp_path: Path) -> None:
    """A list of received documents looks like sales of that supplier."""
    merchant = _connection("mx", "aaa-010101-aaa")
    row = "BBB020202BB1,I,1,2026-10-05,10.00"
    (reject,) = _import(installation, tmp_path, merchant, MEXICO, row).rejects
    assert (reject.line, reject.column, reject.value) == (2, "RfcEmisor", "BBB020202BB1")
    assert str(reject.reason) == (
        "the merchant is AAA010101AAA, and this issuer is not: import what the merchant issued"
    )


def test_one_foreign_issuer_among_own_documents_is_refused(installation: Installation, tmp_path: Path) -> None:
    """The first row that is another's is named."""
    own, other = "AAA010101AAA,I,1,2026-10-05,10.00", "BBB020202BB1,I,2,2026-10-05,10.00"
    outcome = _import(
        installation, tmp_path, _connection("mx", "AAA010101AAA"), MEXICO, own, other, own.replace(",1,", ",3,")
    )
    assert [(reject.line, reject.value) for reject in outcome.rejects] == [(3, "BBB020202BB1")]


@pytest.mark.parametrize("written", ["76.192.083-9", "761920839", "076192083-9", "76 192 083-9"])
def test_own_documents_go_in_however_the_id_is_written(
    installation: Installation, tmp_path: Path, written: str
) -> None:
    """Dots, blanks, zeros in front and the hyphen are writing."""
    outcome = _import(
        installation, tmp_path, _connection("cl", "76192083-9"), CHILE, f"{written};33;1;04-10-2026;1190"
    )  # fmt: skip
    assert (outcome.kept, outcome.added, outcome.reading.notes) == (True, 1, ())


def test_the_merchant_is_learned_from_its_root_entity(installation: Installation, tmp_path: Path) -> None:
    """Where no tax id is set, the provider says who the merchant is."""
    _keep_root(installation, '{"is_root": true, "holder_id": "761920839"}')
    merchant = _connection("cl")
    assert _import(installation, tmp_path, merchant, CHILE, "76.192.083-9;33;1;04-10-2026;1190").kept
    refused = _import(installation, tmp_path, merchant, CHILE, "96.790.240-3;33;2;04-10-2026;1190")
    assert refused.rejects[0].value == "96.790.240-3"


def test_a_set_tax_id_goes_before_the_entity(installation: Installation, tmp_path: Path) -> None:
    """The provider may hold the account under another company of the group."""
    _keep_root(installation, '{"is_root": true, "holder_id": "967902403"}')
    assert _import(
        installation, tmp_path, _connection("cl", "761920839"), CHILE, "76192083-9;33;1;04-10-2026;1190"
    ).kept


@pytest.mark.parametrize(
    ("body", "mode"),
    [
        ('{"is_root": false, "holder_id": "967902403"}', "test"),
        ('{"is_root": true, "holder_id": "967902403"}', "live"),
        ('{"is_root": true, "holder_id": null}', "test"),
        ('{"is_root": true, "holder_id": "AAA010101AAA"}', "test"),
    ],
)
def test_nothing_is_learned_from_other_entities(
    installation: Installation, tmp_path: Path, body: str, mode: str
) -> None:
    """A platform's sellers, the other mode, an id left out and one of another country say nothing of the merchant."""
    _keep_root(installation, body, mode=mode)
    outcome = _import(installation, tmp_path, _connection("cl"), CHILE, "76192083-9;33;1;04-10-2026;1190")
    assert outcome.kept
    assert [*map(str, outcome.reading.notes)] == [NOT_CHECKED]


def test_an_unknown_merchant_is_told_and_several_issuers_are_refused(
    installation: Installation, tmp_path: Path
) -> None:
    """Without a tax id one issuer is taken for the merchant, aloud; two cannot both be it."""
    rows = ("AAA010101AAA,I,1,2026-10-05,10.00", "BBB020202BB1,I,2,2026-10-05,10.00")
    outcome = _import(installation, tmp_path, _connection("mx"), MEXICO, *rows)
    assert str(outcome.rejects[0].reason) == (
        "the column names 2 issuers: own sales have one, so import those issued alone"
    )
    outcome = _import(installation, tmp_path, _connection("mx"), MEXICO, rows[0])
    assert [*map(str, outcome.reading.notes)] == [NOT_CHECKED]


def test_a_list_that_names_no_issuer_is_as_it_was(installation: Installation, tmp_path: Path) -> None:
    """The usual export of sales says nothing of who issued them."""
    text = ("Tipo Doc;Folio;Fecha;Total", "33;1;01-09-2026;10")
    outcome = _import(installation, tmp_path, _connection("cl", "76192083-9"), *text)
    assert (outcome.kept, outcome.reading.notes) == (True, ())
