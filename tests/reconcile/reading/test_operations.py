"""Operations of payment complements, tied to payments by what these bear themselves or by the transfer they came by."""

from pathlib import Path

import pandas as pd
import pytest

from consumer.facts.installation import Installation
from consumer.facts.settings import Connection
from consumer.facts.tables.provider import Transfer
from reconcile.books.tax_intake import import_tax_files
from reconcile.reading.operations import read_operations
from tests.reconcile.books.tax_texts import MERCHANT, UUIDS, complement
from tests.reconcile.conftest import NOON, World

pytestmark = pytest.mark.both_databases
MEXICO = Connection.model_validate({"name": "main", "api_key": "sk_test_one", "country": "mx", "tax_id": MERCHANT})
PART = ("a", 1, "1160.00", "500.00", "660.00")
KEY = f"mx:uuid:{UUIDS['a']}"


def take(installation: Installation, folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        (folder / f"{name}.xml").write_text(text, encoding="utf-8")
    import_tax_files(installation, MEXICO, [folder])


def named(installation: Installation) -> list[tuple[str, str]]:
    with installation.store.connection() as database:
        frame = read_operations(database, MEXICO)
    return [(str(row.resource_id), str(row.doc_key)) for row in frame.itertuples()]


def pay(world: World, identity: str, reference: str, amount: int = 50000) -> None:
    body = {"id": identity, "reference_id": reference, "amount": amount}
    world.payment(identity, amount, currency="MXN", body=body)


def test_a_payment_that_bears_the_operation_is_named(installation: Installation, world: World, tmp_path: Path) -> None:
    """However it is written; another reference names none."""
    take(installation, tmp_path, rep=complement("d", PART, operation="MBAN01-0026 1020"))
    pay(world, "pi_1", "mban010026 1020")
    pay(world, "pi_2", "000000")
    assert named(installation) == [("pi_1", KEY)]


def test_a_tracking_key_names_the_payment_of_its_transfer(
    installation: Installation, world: World, tmp_path: Path
) -> None:
    """The transfer that came in with the payment's reference and amount has the key; two such transfers are no one."""
    take(installation, tmp_path, rep=complement("d", PART, operation="2026102090000000001"))
    pay(world, "pi_1", "REF-1")
    pay(world, "pi_2", "REF-1", 700)
    assert named(installation) == []
    for number in (1, 2):
        body = f'{{"tracking_key":"202610209000000000{number}","reference_id":"ref 1","amount":50000}}'
        world.keep(Transfer(
            connection="main", mode="test", id=f"tr_{number}", status="succeeded", direction="inbound",
            created_at=NOON, version_at=NOON, body=body,
        ))  # fmt: skip
        assert named(installation) == ([("pi_1", KEY)] if number == 1 else [])


def test_the_part_of_each_document_is_read(installation: Installation, world: World, tmp_path: Path) -> None:
    """As one complement states it; of a document that a second one settles by the same operation none is certain."""
    parts = (("a", 1, "1160.00", "300.00", "860.00"), ("b", 1, "1160.00", "200.00", "960.00"))
    take(installation, tmp_path, rep=complement("d", *parts, operation="87"))
    pay(world, "pi_1", "87")
    for expected in ([30000, 20000], [30000, None]):
        with installation.store.connection() as database:
            frame = read_operations(database, MEXICO)
        assert [None if part is pd.NA else part for part in frame["part"].tolist()] == expected
        take(installation, tmp_path, again=complement("e", parts[1], operation="87", amount="200.00"))


def test_a_replaced_complement_names_none(installation: Installation, world: World, tmp_path: Path) -> None:
    """What took its place speaks for both."""
    substitute = complement("e", PART, operation="88").replace(
        "<cfdi:Emisor", f'<cfdi:CfdiRelacionados TipoRelacion="04"><cfdi:CfdiRelacionado UUID="{UUIDS["d"]}"/>'
        "</cfdi:CfdiRelacionados><cfdi:Emisor",
    )  # fmt: skip
    take(installation, tmp_path, old=complement("d", PART, operation="87"), new=substitute)
    pay(world, "pi_1", "87")
    pay(world, "pi_2", "88")
    assert named(installation) == [("pi_2", KEY)]
