"""A reading that remembers gives what a reading of everything gives, whatever happened in between."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import settings as thorough
from hypothesis import strategies as st

from consumer.config import Connection
from consumer.facts.changes import NOTED
from consumer.facts.house import House
from consumer.facts.tables.provider import PayoutItem
from consumer.facts.versions import merge_all
from consumer.inbox.apply import drain
from consumer.inbox.record import read_arrival, record_all
from consumer.provider.rows import to_row
from consumer.provider.rows.kind import Observation
from consumer.provider.rows.payouts import to_payout_item
from reconcile.books.invoices import import_invoices
from reconcile.reading.large_tables import LARGE
from reconcile.tables import Decision, ProviderFee
from tests.reconcile.remembering import compare, remember
from tests.thoroughness import for_run

NOON = datetime(2026, 9, 10, 12, tzinfo=UTC)
WATCHED = list(LARGE)
FILLED = [*WATCHED, "payout", "entity", "decision", "invoice_file", "local_invoice_change", "event_conflict"]
KINDS = ("payment_intent", "charge", "refund")
WHICH = st.integers(0, 3)


class Life:
    """What happens to a merchant's data, by those who write it in earnest and by hand."""

    def __init__(self, house: House, main: Connection, folder: Path) -> None:
        self.house, self.main, self.folder = house, main, folder
        self.files = self.minute = 0
        with house.store.connection() as database:
            for table in (*FILLED, "remembered_tables"):
                database.execute(sa.text(f"DELETE FROM {table}"))  # noqa: S608 - names from above

    def seen(self) -> Observation:
        self.minute += 1
        return Observation(connection="main", mode="test", seen_at=NOON + timedelta(minutes=self.minute))

    def sql(self, statement: str, **given: Any) -> None:
        with self.house.store.connection() as database:
            database.execute(sa.text(statement), given)

    def event(self, draw: Callable[..., Any]) -> None:
        """The provider says something of a resource; the inbox applies it."""
        kind, number = draw(st.sampled_from(KINDS)), draw(WHICH)
        state = draw(st.sampled_from(["succeeded", "failed"]))
        seen = self.seen()
        moment = f"{seen.seen_at:%Y-%m-%dT%H:%M:%SZ}"
        data = {
            "id": f"{kind}_{number}", "object": kind, "mode": "test", "amount": draw(st.sampled_from([1190, 777])),
            "currency": "CLP", "status": state, "created_at": "2026-09-10T11:00:00Z", "payment_type": "card",
            "metadata": {"order_ref": draw(st.sampled_from(["PED-1", "PED-2"]))}, "customer": f"cus_{number}",
            "resource_id": "payment_intent_0",
        }  # fmt: skip
        told = {
            "id": f"evt_{self.minute}",
            "type": f"{kind}.{state}",
            "mode": "test",
            "created_at": moment,
            "data": data,
        }
        body = json.dumps(told).encode()
        arrival = read_arrival(body, connection=self.main, source="webhook", received_at=seen.seen_at)
        with self.house.store.connection() as database:
            record_all(database, [arrival])
        if draw(st.booleans()):
            drain(self.house.store, self.house.settings, worker="w", now=lambda: seen.seen_at)

    def pull(self, draw: Callable[..., Any]) -> None:
        """A stream is read: payouts and customers come, change their words, or are what they were."""
        number, seen = draw(WHICH), self.seen()
        body = {"id": f"cus_{number}", "object": "customer", "mode": "test", "name": draw(st.sampled_from(["A", "B"])),
                "tax_id": {"value": draw(st.sampled_from(["76192083-9", "77570287-7"]))}}  # fmt: skip
        paid = {"id": f"po_{number}", "object": "payout", "mode": "test", "amount": 1000, "currency": "CLP",
                "status": draw(st.sampled_from(["succeeded", "returned"])),
                "created_at": "2026-09-10T11:00:00Z"}  # fmt: skip
        with self.house.store.transaction() as session:
            merge_all(session, [to_row("customer", body, seen), to_row("payout", paid, seen)])

    def item(self, draw: Callable[..., Any]) -> None:
        """A payout lists a resource, or no longer does."""
        kind = draw(st.sampled_from([*KINDS, "refund_adjustment"]))
        resource = f"{kind.removesuffix('_adjustment')}_{draw(WHICH)}"
        payout, seen = f"po_{draw(WHICH)}", self.seen()
        data = {"id": resource, "mode": "test", "amount": draw(st.sampled_from([1190, 5])), "currency": "CLP",
                "status": "succeeded",
                "created_at": draw(st.sampled_from(["2026-09-10T11:00:00Z", "soon"]))}  # fmt: skip
        row = to_payout_item(data, seen, payout_id=payout, resource_type=kind)
        with self.house.store.transaction() as session:
            session.merge(row) if draw(st.booleans()) else session.execute(
                sa.delete(PayoutItem).where(sa.column("payout_id") == payout, sa.column("resource_id") == resource)
            )

    def books(self, draw: Callable[..., Any]) -> None:
        """A file of the merchant's books comes in and changes documents that were known."""
        self.files += 1
        rows = [f"33,{folio},2026-09-01,2026-09-30,76192083-9,{total},{state},PED-{self.files}" for folio, total, state
                in draw(st.lists(st.tuples(WHICH, st.sampled_from([1190, 777]), st.sampled_from(["valid", "void"])),
                                 min_size=1, max_size=3, unique_by=lambda row: row[0]))]  # fmt: skip
        path = self.folder / "books.csv"
        header = "doc_type,folio,issue_date,due_date,customer_tax_id,total,status,order_ref"
        path.write_text("\n".join([header, *rows, ""]), encoding="utf-8")
        import_invoices(self.house, self.main, path)

    def around(self, draw: Callable[..., Any]) -> None:
        """What is not remembered changes too: fees of reports, whose entity it is, what people decide."""
        number, seen = draw(WHICH), self.seen()
        entity = {"id": f"ent_{number}", "object": "entity", "mode": "test", "is_root": draw(st.booleans())}
        fee = ProviderFee(connection="main", payout_id=f"po_{number}", resource_id="charge_0", fee_total=self.minute)
        decided = Decision(
            connection="main", kind="decline", resource_id=f"charge_{number}", reason="x", author="me", at=NOON
        )
        with self.house.store.transaction() as session:
            chosen = draw(st.sampled_from(["entity", "fee", "decision"]))
            if chosen == "entity":
                merge_all(session, [to_row("entity", entity, seen)])
            else:
                session.merge(fee if chosen == "fee" else decided)

    def gone(self, draw: Callable[..., Any]) -> None:
        """An object is gone at the provider, or there again."""
        table = draw(st.sampled_from([*KINDS, "customer", "payout"]))
        prefix = {"customer": "cus", "payout": "po"}.get(table, table)
        at = draw(st.sampled_from(["NULL", "CAST('2026-09-10 12:00:00.000000' AS TIMESTAMP)"]))
        self.sql(f"UPDATE {table} SET gone_at = {at} WHERE id = :id", id=f"{prefix}_{draw(WHICH)}")  # noqa: S608 - our own names

    def by_hand(self, draw: Callable[..., Any]) -> None:
        """Somebody writes SQL: rows go, move to another connection or mode, or bear another name."""
        table = draw(st.sampled_from(WATCHED))
        has_mode = table not in {"local_invoice", "provider_fee"}
        ways = ["delete", "connection", *(["mode"] if has_mode else []), *(["id"] if table in KINDS else [])]
        way, number = draw(st.sampled_from(ways)), draw(WHICH)
        key = NOTED[table]
        where = f"WHERE {key} LIKE :like"
        if way == "delete":
            self.sql(f"DELETE FROM {table} {where}", like=f"%{number}")  # noqa: S608 - our own names
        elif way == "id":
            self.sql(f"UPDATE {table} SET id = id || '_9' {where}", like=f"%\\_{number}")  # noqa: S608 - our own names
        else:
            values = {"connection": ("main", "mx"), "mode": ("test", "live")}[way]
            to, since = draw(st.permutations(values))
            kept = f"AND {way} = :since AND NOT EXISTS (SELECT 1 FROM {table} AS o WHERE o.connection <> {table}.connection)"  # noqa: S608, E501
            self.sql(f"UPDATE {table} SET {way} = :to {where} {kept}", to=to, since=since, like=f"%{number}")  # noqa: S608 - our own names


STEPS = ("event", "pull", "item", "books", "around", "gone", "by_hand")


@thorough(max_examples=for_run(short=12, full=600))
@given(data=st.data())
def test_remembered_or_not_it_is_the_same_run(
    house: House, main: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: st.DataObject
) -> None:
    """After any steps, remembered at any time, each reading names the run that a reading of everything names."""
    life = Life(house, main, tmp_path)
    for name in data.draw(st.lists(st.sampled_from(STEPS), max_size=8)):
        getattr(life, name)(data.draw)
    assert remember(house, main) == []
    names = st.lists(st.sampled_from(STEPS), min_size=1, max_size=3)
    for some in data.draw(st.lists(names, min_size=1, max_size=5)):
        for name in some:
            getattr(life, name)(data.draw)
        assert compare(house, main, monkeypatch) == []
        if data.draw(st.integers(0, 3)) == 0:
            assert remember(house, main) == []
