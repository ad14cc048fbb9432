"""Items that only dead payouts held, and a lost dispute: in the file of payouts, in transit and in the roll-forward."""

import csv
import io
from collections.abc import Callable
from datetime import UTC, date, datetime

import pytest
from click.testing import CliRunner

from consumer.facts.installation import Installation
from cuadre import Commands
from reports.making import catalogue, windows
from reports.queries.query import Query
from reports.shapes.spans import Span
from tests.reconcile.conftest import World

NOON = datetime(2026, 9, 10, 15, 0, tzinfo=UTC)  # a Thursday in Santiago
FRIDAY = datetime(2026, 9, 11, 15, 0, tzinfo=UTC)
Read = Callable[..., list[tuple[str, ...]]]


@pytest.fixture
def world(installation: Installation) -> World:
    """One payment that pays two documents, in a payout that was canceled on Friday, where it was made."""
    world = World(installation.store)
    for folio, total in (("1", 70_300), ("2", 90_100)):
        world.invoice(folio, total, customer_tax_id="11111111-1", order_ref=f"PED-{folio}")
    world.payment("pi_1", 160_400, customer_tax_id="11111111-1")
    world.payout(
        "po_1", 160_400, ("payment_intent", "pi_1", 160_400), status="canceled", created_at=FRIDAY, succeeded_at=None,
        ended_at=FRIDAY,
    )  # fmt: skip
    world.complete(datetime(2026, 9, 12, 3, tzinfo=UTC))
    return world


@pytest.fixture
def read(installation: Installation) -> Read:
    """Reconcile and read some columns of a report as its file has them."""

    def cells(name: str, columns: str, *arguments: str) -> list[tuple[str, ...]]:
        for command in (["reconcile", "--as-of", "2026-09-11"], ["report", name, "--out", "-", *arguments]):
            answer = CliRunner().invoke(Commands(), command, obj=lambda: installation)
            assert answer.exit_code == 0, answer.output
        return [tuple(row[word] for word in columns.split()) for row in csv.DictReader(io.StringIO(answer.stdout))]

    return cells


DETAIL = "payout_id resource_id line amount_signed fee_total net_amount doc_folio applied_amount doc_balance_after"
HELD = ("po_1", "pi_1", "1", "160400", "", "", "", "", "")
FREED = [("", "pi_1", "2", "", "", "", "1", "70300", "0"), ("", "pi_1", "3", "", "", "", "2", "90100", "0")]


@pytest.mark.usefixtures("world")
def test_an_item_of_a_canceled_payout_stands_once_more_without_one(read: Read) -> None:
    """Its amounts stay in the dead payout's line, and the further lines name the documents: columns sum right."""
    assert read("payout-detail", DETAIL) == [HELD, *FREED]
    transit = [("payment_intent", "pi_1", "160400")]
    assert read("in-transit", "resource_type resource_id amount_signed") == transit
    control = {row[0]: row[1] for row in read("control", "figure verdict")}
    assert (control["items"], control["payments, gross"], control["funds in transit"]) == ("ties", "ties", "ties")


@pytest.mark.usefixtures("world")
@pytest.mark.parametrize(("since", "until", "rows"), [
    ("2026-09-10", "2026-09-10", FREED),
    ("2026-09-11", "2026-09-11", [HELD]),
    ("2026-09-10", "2026-09-11", [HELD, *FREED]),
    ("2026-09-12", "2026-09-30", []),
])  # fmt: skip
def test_a_range_takes_such_a_line_by_the_local_date_of_its_item(
    read: Read, installation: Installation, since: str, until: str, rows: list[tuple[str, ...]]
) -> None:
    """The payout's own line goes by the payout's date, as always; a page has the rows of the file."""
    assert read("payout-detail", DETAIL, "--from", since, "--to", until) == rows
    span = Span(date.fromisoformat(since), date.fromisoformat(until))
    query = Query("payout-detail", installation.connections(None), date(2026, 9, 11), span)
    found = windows.find(installation, query, 0, 10)
    assert found.total == len(rows)
    assert found.report.table.to_pylist() == catalogue.make(installation, query).table.to_pylist()


def test_an_item_that_is_held_again_stands_in_its_payouts_alone(world: World, read: Read) -> None:
    """The living payout's line carries the documents; nothing stands without a payout."""
    world.payout("po_2", 160_400, ("payment_intent", "pi_1", 160_400), created_at=FRIDAY, succeeded_at=FRIDAY)
    assert read("payout-detail", DETAIL) == [
        HELD,
        ("po_2", "pi_1", "1", "160400", "", "", "1", "70300", "0"),
        ("po_2", "pi_1", "2", "", "", "", "2", "90100", "0"),
    ]


def test_what_never_was_in_a_payout_is_no_line_of_the_file(world: World, read: Read) -> None:
    """It is in transit, and nowhere else."""
    world.payment("pi_2", 5_000)
    assert read("payout-detail", DETAIL) == [HELD, *FREED]
    assert [row[0] for row in read("in-transit", "resource_id")] == ["pi_1", "pi_2"]


@pytest.mark.usefixtures("world")
def test_the_file_of_one_payout_has_its_own_lines_alone(read: Read, installation: Installation) -> None:
    """A further line belongs to no payout."""
    assert read("payout-detail", DETAIL) == [HELD, *FREED]
    made = catalogue.make(
        installation, Query("payout-detail", installation.connections(None), date(2026, 9, 11), payout_id="po_1")
    )
    assert [row["line"] for row in made.table.to_pylist()] == [1]


def test_a_lost_dispute_is_in_transit_and_its_document_receivable(installation: Installation, read: Read) -> None:
    """Until a payout takes it, what the provider owes is less by it; the customer owes the document again."""
    world = World(installation.store)
    world.invoice("1", 70_000, order_ref="PED-1")
    world.payment("pi_1", 70_000, body={"metadata": {"order_ref": "PED-1"}})
    world.payout("po_1", 70_000, ("payment_intent", "pi_1", 70_000))
    world.dispute("cb_1", 70_000, "pi_1", status="lost", ended_at=FRIDAY)
    world.complete(datetime(2026, 9, 12, 3, tzinfo=UTC))
    assert read("receivables", "doc_key paid balance last_payment_id") == [("cl:33::1", "0", "70000", "pi_1")]
    assert read("documents", "doc_key outcome paid balance") == [("cl:33::1", "open_not_due", "0", "70000")]
    assert read("in-transit", "resource_type resource_id amount_signed") == [("dispute", "cb_1", "-70000")]
    assert read("payout-detail", "resource_id amount_signed") == [("pi_1", "70000")]
    moves = "date opening payments disputes payouts closing closing_items_count"
    assert read("clearing-rollforward", moves) == [
        ("2026-09-10", "0", "70000", "0", "-70000", "0", "0"),
        ("2026-09-11", "0", "0", "-70000", "0", "-70000", "1"),
    ]
    assert {verdict for (verdict,) in read("control", "verdict")} == {"ties"}
    found = read("exceptions", "code severity amount_at_risk resource_id doc_key")
    assert found == [("DISPUTE_LOST", "high", "70000", "pi_1", "cl:33::1")]
