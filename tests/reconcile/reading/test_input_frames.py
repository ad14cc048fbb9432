"""Tables become exactly the frames that rules read, for one connection and mode."""

from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from consumer.facts.installation import Installation
from consumer.facts.settings import Connection
from consumer.facts.tables.provider import Customer, Entity, PayoutItem
from reconcile.kept.snapshots import digest_of
from reconcile.reading.frames import read_inputs
from reconcile.rules.inputs import DOCUMENTS, ITEMS, PAYOUTS, Inputs
from reconcile.rules.pipeline import reconcile

pytestmark = pytest.mark.both_databases

if TYPE_CHECKING:
    from tests.reconcile.conftest import World

AS_OF = date(2026, 9, 11)
NOW = datetime(2026, 9, 11, 15, tzinfo=UTC)


def _read(installation: Installation, main: Connection) -> Inputs:
    with installation.store.reading() as session:
        return read_inputs(session, main, installation.settings, as_of=AS_OF, now=NOW)


def test_an_empty_database_gives_empty_frames_of_the_right_types(installation: Installation, main: Connection) -> None:
    """Rules get their columns and types even where there is nothing."""
    inputs = _read(installation, main)
    assert inputs.items.dtypes.astype(str).to_dict() == dict(ITEMS)
    assert inputs.payouts.dtypes.astype(str).to_dict() == dict(PAYOUTS)
    assert inputs.documents.dtypes.astype(str).to_dict() == dict(DOCUMENTS)
    assert len(inputs.items) == len(inputs.payouts) == len(inputs.bank) == 0


def test_an_item_carries_what_its_payment_says(world: "World", installation: Installation, main: Connection) -> None:
    """A listed payment is joined to its fact: payer, texts, metadata, moment."""
    body = {"metadata": {"order_ref": "PED-1", "a": 1}, "comment": "Pago 7", "reference_id": "X"}
    world.payment("pi_1", 1190, customer_tax_id="76.192.083-9", customer_name="Uno", body=body)
    world.payout("po_1", 1174, ("payment_intent", "pi_1", 1190))
    row = _read(installation, main).items.iloc[0]
    assert row["payout_id"] == "po_1"
    assert row["customer_tax_id"] == "76192083-9"
    assert row["metadata"] == '{"a":1,"order_ref":"PED-1"}'
    assert row["texts"] == "Pago 7\nX"
    assert row["occurred_at"] == pd.Timestamp("2026-09-10T15:00:00Z")
    assert (row["amount"], row["resource_subtype"], row["status"]) == (1190, "bank_transfer", "succeeded")


def test_the_sender_stands_in_where_no_customer_is_known(
    world: "World", installation: Installation, main: Connection
) -> None:
    """A payment is its customer's, else its sender's; what has no right form names no customer."""
    world.payment("pi_1", 100, sender_tax_id="761920839")
    world.payment("pi_2", 100, sender_tax_id="ND")
    items = _read(installation, main).items.set_index("resource_id")
    assert items.loc["pi_1", "customer_tax_id"] == "76192083-9"
    assert items["customer_tax_id"].isna().to_dict() == {"pi_1": False, "pi_2": True}


def test_a_payment_that_names_a_customer_who_is_not_here_is_noted(
    world: "World", installation: Installation, main: Connection
) -> None:
    """Its sender stands in, and may be another; who bears a tax id or none is not noted."""
    fixed: dict[str, Any] = {"connection": "main", "mode": "test", "currency": "CLP", "version_at": NOW, "body": "{}"}
    world.keep(Customer(id="cus_here", tax_id="761920839", **fixed))
    world.payment("pi_here", 100, body={"customer": "cus_here"})
    world.payment("pi_there", 100, body={"customer": "cus_there"}, sender_tax_id="761920839")
    world.payment("pi_bearing", 100, body={"customer": "cus_there"}, customer_tax_id="76.192.083-9")
    world.payment("pi_nobody", 100)
    assert _read(installation, main).unknown_customers["resource_id"].tolist() == ["pi_there"]


def test_streams_of_links_are_no_gap_without_a_link_token(
    world: "World", installation: Installation, main: Connection
) -> None:
    """They cannot be pulled, so that none of their objects can be missing; with a token they are looked at again."""
    world.complete(datetime(2026, 9, 12, 4, tzinfo=UTC))
    world.complete(datetime(2026, 9, 1, tzinfo=UTC), "link-movements", "account-movements")
    with_token = main.model_copy(update={"link_tokens": ("link_1",)})
    assert _read(installation, main).gaps["stream"].tolist() == ["account-movements"]
    assert _read(installation, with_token).gaps["stream"].tolist() == ["account-movements", "link-movements"]


def test_payments_and_refunds_in_no_payout_appear_once(
    world: "World", installation: Installation, main: Connection
) -> None:
    """What no payout lists is there without a payout, unless its money never moved."""
    world.payment("pi_1", 100)
    world.payment("pi_failed", 100, status="failed", succeeded_at=None)
    world.charge("ch_1", 200)
    world.refund("re_1", 50, "pi_1", status="in_progress")
    items = _read(installation, main).items
    assert items["resource_id"].tolist() == ["ch_1", "pi_1", "re_1"]
    assert items["payout_id"].isna().all()
    assert items["parent_id"].tolist()[2] == "pi_1"
    assert items["resource_subtype"].tolist()[:2] == ["pac", "bank_transfer"]


def test_a_payment_that_failed_is_read_where_our_payout_lists_it(
    world: "World", installation: Installation, main: Connection
) -> None:
    """What a payout carries is known by its own fact; a list of another connection or mode says nothing about it."""
    for number in ("ours", "theirs", "live"):
        world.payment(f"pi_{number}", 100, status="failed", succeeded_at=None)
    world.payout("po_1", 100, ("payment_intent", "pi_ours", 100))
    same: dict[str, Any] = {
        "payout_id": "po_2",
        "resource_type": "payment_intent",
        "amount": 100,
        "currency": "CLP",
        "body": "{}",
    }
    world.keep(PayoutItem(connection="mexico", mode="test", resource_id="pi_theirs", **same))
    world.keep(PayoutItem(connection="main", mode="live", resource_id="pi_live", **same))
    items = _read(installation, main).items
    assert items[["resource_id", "status"]].to_numpy().tolist() == [["pi_ours", "failed"]]


def test_a_failed_refund_comes_back_at_its_failure(
    world: "World", installation: Installation, main: Connection
) -> None:
    """One refund may be an item of two payouts: taken off, and given back when it failed."""
    failed_at = datetime(2026, 9, 12, 12, tzinfo=UTC)
    world.refund("re_1", 50, "pi_1", status="failed", failed_at=failed_at)
    world.payout("po_1", 900, ("refund", "re_1", 50))
    world.payout("po_2", 950, ("refund_adjustment", "re_1", 50))
    items = _read(installation, main).items
    assert items["resource_type"].tolist() == ["refund", "refund_adjustment"]
    assert items["occurred_at"].tolist() == [pd.Timestamp("2026-09-10T15:00Z"), pd.Timestamp("2026-09-12T12:00Z")]


def test_a_listed_resource_nobody_told_us_of_is_read_from_the_list(
    world: "World", installation: Installation, main: Connection
) -> None:
    """The payout's own list is enough to know an item."""
    world.payout("po_1", 100)
    card = {"card": {"kind": "debit"}}
    customer = {"tax_id": {"value": "76192083-9"}}
    world.item("po_1", "payment_intent", "pi_9", 100, status="succeeded", created_at="2026-09-09T10:00:00Z",
               payment_type="card", payment_type_options=card, customer=customer)  # fmt: skip
    row = _read(installation, main).items.iloc[0]
    assert row["resource_subtype"] == "debit_card"
    assert row["customer_tax_id"] == "76192083-9"
    assert row["occurred_at"] == pd.Timestamp("2026-09-09T10:00:00Z")


def test_the_first_success_event_names_the_source(world: "World", installation: Installation, main: Connection) -> None:
    """The event id is that of the earliest success, then the smallest id, whichever way or order it came in."""
    world.payment("pi_1", 100)
    world.event("evt_c", "payment_intent.succeeded", "pi_1")
    world.event("evt_b", "payment_intent.succeeded", "pi_1", source="backfill")
    world.event("evt_a", "payment_intent.pending", "pi_1")
    assert _read(installation, main).items["source_event_id"].tolist() == ["evt_b"]


def test_other_modes_connections_and_gone_objects_stay_out(
    world: "World", installation: Installation, main: Connection
) -> None:
    """Live money never mixes with test money, and what the provider no longer has is not reconciled."""
    world.payment("pi_live", 100, mode="live")
    world.payment("pi_other", 100, connection="mexico")
    world.payout("po_gone", 100, ("payment_intent", "pi_x", 100), gone_at=datetime(2026, 9, 12, tzinfo=UTC))
    inputs = _read(installation, main)
    assert inputs.items.empty
    assert inputs.payouts.empty


def test_a_payout_shows_only_the_last_digits_of_its_account(
    world: "World", installation: Installation, main: Connection
) -> None:
    """The account number itself never leaves the store."""
    world.payout("po_1", 100)
    assert _read(installation, main).payouts["recipient_last4"].tolist() == ["5678"]


def test_documents_keep_unknown_apart_from_empty(world: "World", installation: Installation, main: Connection) -> None:
    """A document's missing due date, customer and UUID are missing, not empty text."""
    world.invoice("7", 1190, net=1000, vat=190)
    row = _read(installation, main).documents.iloc[0]
    assert (row["doc_key"], row["total"], row["net"]) == ("cl:33::7", 1190, 1000)
    assert row["issue_date"] == pd.Timestamp("2026-09-01")
    assert row[["due_date", "uuid", "customer_tax_id", "exempt"]].isna().all()


def test_both_databases_give_the_same_content(world: "World", installation: Installation, main: Connection) -> None:
    """Moments, days and amounts read from either database are the same to the digest that names a run."""
    world.payment("pi_1", 1190, succeeded_at=datetime(2026, 9, 10, 15, 0, 0, 123456, tzinfo=UTC))
    world.payout("po_1", 1174, ("payment_intent", "pi_1", 1190))
    world.invoice("7", 1190, due_date=date(2026, 10, 1))
    inputs = _read(installation, main)
    assert inputs.items["occurred_at"].tolist() == [pd.Timestamp("2026-09-10T15:00:00.123456Z")]
    digests = [digest_of(frame)[:8] for frame in (inputs.payouts, inputs.items, inputs.documents)]
    assert digests == ["e0be2ca8", "13b0d893", "6cb5c1e2"]


def _unreadable(field: str, value: str) -> str:
    return f'note.unreadable_moment {{"payout":"po_2","item":"pi_2","field":"{field}","value":"{value}"}}'


def test_a_moment_nobody_can_place_is_a_gap_and_stops_nothing(
    world: "World", installation: Installation, main: Connection
) -> None:
    """The item keeps its amount, its moment is unknown, and the run says why it is incomplete."""
    world.payout("po_1", 1170, ("payment_intent", "pi_1", 1190))
    world.payout("po_2", 500)
    world.item(
        "po_2", "payment_intent", "pi_2", 500, status="succeeded", created_at="2026-09-10T15:00:00", succeeded_at="?"
    )
    inputs = _read(installation, main)
    assert inputs.items["resource_id"].tolist() == ["pi_1", "pi_2"]
    assert inputs.items["amount"].tolist() == [1190, 500]
    assert inputs.items["occurred_at"].isna().tolist() == [True, True]
    shown = inputs.gaps[inputs.gaps["reason"].str.contains("pi_2")]
    assert shown[["stream", "reason", "payout_id"]].to_numpy().tolist() == [
        ["payout-items", _unreadable("created_at", "'2026-09-10T15:00:00'"), "po_2"],
        ["payout-items", _unreadable("succeeded_at", "'?'"), "po_2"],
    ]
    assert reconcile(inputs).complete is False


HOSTILE = [
    "NULL",
    "",
    "O'Brien, SpA",
    "a\r\nb\rc\n",
    "''",
    "\\N",
    "'NULL'",
    "%Q %s %",
    '"x";y\t',
    "\ufeffñ\u2028😀",
    ",,",
]


def test_no_text_is_taken_for_another(world: "World", installation: Installation, main: Connection) -> None:
    """Quotes, separators, line ends and the word NULL arrive as they were written, from either database."""
    for number, text in enumerate(HOSTILE):
        world.payment(f"pi_{number:02}", 100 + number, body={"comment": text}, customer_name=text or None)
        world.invoice(f"{number:02}", 100, customer_name=text, order_ref="NULL")
    inputs = _read(installation, main)
    wanted = [text or None for text in HOSTILE]
    assert (
        inputs.items["customer_name"].astype(object).where(inputs.items["customer_name"].notna(), None).tolist()
        == wanted
    )
    assert inputs.items["texts"].astype(object).where(inputs.items["texts"].notna(), None).tolist() == wanted
    names = inputs.documents["customer_name"]
    assert names.astype(object).where(names.notna(), None).tolist() == wanted
    assert inputs.documents["order_ref"].tolist() == ["NULL"] * len(HOSTILE)


def test_shares_of_the_own_entity_are_marked_where_it_is_known(
    world: "World", installation: Installation, main: Connection
) -> None:
    """A split keeps its shares as they are; `own` comes from the entities we have when the run reads."""
    mine = {"entity_id": "ent_1", "amount": 70}
    theirs = {"entity_id": ["ent_1"], "amount": 30, "charge_processing_fee": True}
    world.payment("pi_1", 100, body={"split_applied": [mine]})
    world.payment("pi_2", 100, body={"split_applied": [mine, theirs]})
    world.payout("po_1", 100)
    world.item("po_1", "payment_intent", "pi_0", 100, status="succeeded", split_applied=[mine])
    first = '{"amount":70,"charge_processing_fee":null,"entity_id":"ent_1"'
    second = '{"amount":30,"charge_processing_fee":true,"entity_id":["ent_1"]'
    splits = _read(installation, main).items["split"].tolist()
    assert splits == [f"[{first}}}]", f"[{first}}}]", f"[{first}}},{second}}}]"]
    world.keep(Entity(connection="main", id="ent_1", mode="test", version_at=NOW, body='{"is_root": true}'))
    splits = _read(installation, main).items["split"].tolist()
    own, other = f'{first},"own":true}}', f'{second},"own":false}}'
    assert splits == [f"[{own}]", f"[{own}]", f"[{own},{other}]"]


def test_an_unknown_resource_in_two_lists_is_one_fact(
    world: "World", installation: Installation, main: Connection
) -> None:
    """A refund taken off one payout and given back in another is read from the lists alone, whatever stands in them."""
    world.payout("po_1", 100)
    world.payout("po_2", 100)
    said = {"status": 7, "created_at": "2026-09-09T10:00:00Z", "failed_at": "2026-09-10T10:00:00Z", "customer": "cus_1"}
    world.item("po_1", "refund", "re_1", 50, **said, resource_id="pi_1", payment_type_options={"card": {"kind": []}})
    world.item("po_2", "refund_adjustment", "re_1", 50, **said, resource_id="pi_1")
    world.keep(
        Customer(connection="main", id="cus_1", mode="test", version_at=NOW, tax_id="76192083-9", name="Uno", body="{}")
    )
    items = _read(installation, main).items
    assert items["occurred_at"].tolist() == [pd.Timestamp("2026-09-09T10:00Z"), pd.Timestamp("2026-09-10T10:00Z")]
    assert items[["payout_id", "parent_id", "status", "customer_tax_id", "customer_name"]].to_numpy().tolist() == [
        ["po_1", "pi_1", "7", "76192083-9", "Uno"],
        ["po_2", "pi_1", "7", "76192083-9", "Uno"],
    ]
