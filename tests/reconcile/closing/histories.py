"""Random trade of a small merchant, day by day: sales of every kind, closings, late facts and changed files."""

from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING

import sqlalchemy as sa

from consumer.facts.installation import Connection, Installation
from consumer.facts.store import put
from consumer.facts.tables.provider import Charge, PaymentIntent, Payout, PayoutItem, Refund
from consumer.facts.tables.types import core_of
from reconcile.desk.decisions import Signature
from reconcile.runs.close_period import close_period
from reconcile.tables.books import BankFile, BankLine, LocalInvoice, PayoutReport, ProviderFee
from reconcile.tables.desk import Decision

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.reconcile.conftest import World

FIRST = date(2026, 3, 2)
_BEFORE = datetime(2026, 1, 1, tzinfo=UTC)
_WRITTEN = (PaymentIntent, Charge, Refund, PayoutItem)
_RUTS = ("76192083-9", "96790240-3", "77777777-7", "")
_PRICES = (990, 1990, 4990, 12990, 12990, 24990)


def now() -> datetime:
    return datetime.now(UTC)


@dataclass(slots=True)
class History:
    """What happened so far; `day` is today."""

    world: "World"
    random: Random
    day: date = FIRST
    number: int = 0
    waiting: list[tuple[str, str, int]] = field(default_factory=list)
    payments: list[tuple[str, int]] = field(default_factory=list)
    documents: list[str] = field(default_factory=list)
    payouts: list[str] = field(default_factory=list)

    def at(self, hour: int = 15) -> datetime:
        return datetime(self.day.year, self.day.month, self.day.day, hour, tzinfo=UTC)

    def name(self) -> str:
        self.number += 1
        return f"{self.number:05}"

    def trade(self) -> None:
        """Sell for a day, pay out what was sold the day before, and go on to the next."""
        for _ in range(self.random.randrange(2, 6)):
            self.sell()
        if self.waiting and self.random.random() < 0.9:
            self.pay_out()
        self.day += timedelta(days=1)

    def sell(self) -> None:
        number, amount = self.name(), self.random.choice(_PRICES) + self.random.randrange(3)
        kind = self.random.choice(
            ("key", "key", "key", "key", "key", "folio", "text", "customer", "bare", "lone", "part")
        )
        rut = self.random.choice(_RUTS)
        order = f"PED-{number}"
        body: dict[str, object] = {}
        if kind in ("key", "part"):
            body = {"metadata": {"order_ref": order}}
        elif kind == "folio":
            body = {"metadata": {"folio": str(int(number))}}
        elif kind == "text":
            body = {"comment": f"pago pedido {order}"}
        paid = amount // 2 if kind == "part" else amount
        self.pay(f"pi_{number}", paid, body, rut)
        if kind != "lone":
            self.issue(number, amount, rut=rut, order=order)
        if self.random.random() < 0.05:
            self.issue(self.name(), self.random.choice(_PRICES), rut=rut, order="")

    def pay(self, identity: str, amount: int, body: dict[str, object], rut: str = "") -> None:
        self.world.payment(
            identity, amount, body=body, succeeded_at=self.at(), created_at=self.at(), customer_tax_id=rut or None,
            written_at=now(),
        )  # fmt: skip
        self.payments.append((identity, amount))
        self.waiting.append(("payment_intent", identity, amount))

    def issue(self, number: str, total: int, *, rut: str, order: str, **values: object) -> None:
        self.world.invoice(
            str(int(number)), total, order_ref=order, customer_tax_id=rut, issue_date=self.day,
            due_date=self.day + timedelta(days=30), updated_at=now(), **values,
        )  # fmt: skip
        self.documents.append(f"cl:{values.get('doc_type', '33')}::{int(number)}")

    def pay_out(self, *, at_bank: bool | None = None) -> None:
        identity = f"po_{self.name()}"
        amount = sum(-money if kind == "refund" else money for kind, _, money in self.waiting)
        self.world.payout(
            identity, max(amount - 20, 1), *self.waiting, created_at=self.at(20), succeeded_at=self.at(21)
        )
        ids = [resource for _, resource, _ in self.waiting]
        self._set(PayoutItem, PayoutItem.resource_id, ids, written_at=now())
        self.payouts.append(identity)
        self.waiting = []
        if self.random.random() < 0.6 if at_bank is None else at_bank:
            self.show_at_bank(identity, max(amount - 20, 1))

    def show_at_bank(self, payout: str, amount: int) -> None:
        on = self.day + timedelta(days=1)
        with self.world.store.transaction() as session:
            put(session.connection(), BankFile, {
                "connection": "main", "sha256": "b" * 64, "name": "b.csv", "account": "00012345678",
                "file_format": "csv", "since": FIRST, "until": on, "currency": "CLP", "imported_at": now(), "rows": 1,
                "added": 1,
            }, keys=("connection", "sha256"))  # fmt: skip
        self.world.keep(BankLine(connection="main", id=f"bl_{payout}", account="00012345678", booked_on=on,
                                 amount=amount, currency="CLP", text=payout, file_sha256="b" * 64))  # fmt: skip

    def happen(self) -> None:
        """Have one thing happen that may reach what is closed."""
        happenings: tuple[Callable[[], None], ...] = (
            self.refund, self.note, self.void, self.pay_again, self.lose, self.return_payout, self.list_again,
            self.report, self.decide, self.rename, self.vanish, self.mention, self.void_rival, self.touch,
        )  # fmt: skip
        if self.payments and self.documents:
            self.random.choice(happenings)()

    def refund(self) -> None:
        payment, amount = self.random.choice(self.payments)
        identity = f"re_{self.name()}"
        self.world.refund(identity, amount, payment, succeeded_at=self.at(), created_at=self.at(), written_at=now())
        self.waiting.append(("refund", identity, amount))

    def note(self) -> None:
        key = self.random.choice(self.documents)
        self.issue(self.name(), 990, rut="", order="", doc_key=f"cl:61::n{self.number}", doc_type="61", ref_type="33",
                   ref_number=key.rpartition(":")[2])  # fmt: skip

    def void(self) -> None:
        self._set(LocalInvoice, LocalInvoice.doc_key, [self.random.choice(self.documents)], status="void",
                  updated_at=now())  # fmt: skip

    def pay_again(self) -> None:
        key = self.random.choice(self.documents).rpartition(":")[2].zfill(5)
        self.pay(f"pi_{self.name()}", 990, {"metadata": {"order_ref": f"ped {key}"}}, self.random.choice(_RUTS))

    def mention(self) -> None:
        key = self.random.choice(self.documents).rpartition(":")[2]
        self.pay(f"pi_{self.name()}", self.random.choice(_PRICES), {"comment": f"factura 33-{key}"})

    def void_rival(self) -> None:
        self.issue(self.name(), self.random.choice(_PRICES), rut=self.random.choice(_RUTS), order="", status="void")

    def lose(self) -> None:
        payment, amount = self.random.choice(self.payments)
        state = self.random.choice(("lost", "won", "in_review"))
        self.world.dispute(f"dp_{self.name()}", amount, payment, status=state, created_at=self.at(),
                           ended_at=None if state == "in_review" else self.at(16))  # fmt: skip

    def return_payout(self) -> None:
        if self.payouts and self.random.random() < 0.3:
            self._set(Payout, Payout.id, [self.random.choice(self.payouts)], status="returned", ended_at=self.at(16))

    def list_again(self) -> None:
        payment, amount = self.random.choice(self.payments)
        if ("payment_intent", payment, amount) not in self.waiting:
            self.waiting.append(("payment_intent", payment, amount))

    def report(self) -> None:
        """Import the provider's report of a payout, by chance without some of its items."""
        if not self.payouts:
            return
        payout = self.random.choice(self.payouts)
        with self.world.store.transaction() as session:
            items = core_of(PayoutItem).c
            listed = sorted(session.execute(sa.select(items.resource_id).where(items.payout_id == payout)).scalars())
            for resource in listed[self.random.randrange(2) :]:
                row = {"connection": "main", "payout_id": payout, "resource_id": resource, "fee_total": 5}
                put(session.connection(), ProviderFee, row, keys=("connection", "payout_id", "resource_id"))
            put(session.connection(), PayoutReport, {
                "connection": "main", "payout_id": payout, "sha256": payout, "name": "r.csv", "imported_at": now(),
                "rows": len(listed),
            }, keys=("connection", "payout_id"))  # fmt: skip

    def decide(self) -> None:
        payment, _ = self.random.choice(self.payments)
        kind = self.random.choice(("decline", "match"))
        self.world.keep(Decision(connection="main", kind=kind, resource_id=payment, reason="r", author="a", at=now(),
                                 doc_key=self.random.choice(self.documents)))  # fmt: skip

    def rename(self) -> None:
        self._set(LocalInvoice, LocalInvoice.doc_key, [self.random.choice(self.documents)], updated_at=now(),
                  order_ref=f"PED-{self.random.randrange(1, self.number + 1):05}")  # fmt: skip

    def vanish(self) -> None:
        payment, _ = self.random.choice(self.payments)
        self._set(PaymentIntent, PaymentIntent.id, [payment], gone_at=now(), written_at=now())

    def touch(self) -> None:
        """Pull a payment again: its row is written and says the same."""
        payment, _ = self.random.choice(self.payments)
        self._set(PaymentIntent, PaymentIntent.id, [payment], written_at=now())
        self._set(PayoutItem, PayoutItem.resource_id, [payment], written_at=now())

    def _set(self, table: type, column: object, ids: list[str], **values: object) -> None:
        assert isinstance(column, sa.SQLColumnExpression)
        with self.world.store.transaction() as session:
            session.execute(sa.update(table).where(column.in_(ids)).values(**values))

    def age(self) -> None:
        """Let time pass: what was written so far was so long before the next view."""
        with self.world.store.transaction() as session:
            for table in _WRITTEN:
                session.execute(sa.update(core_of(table)).values(written_at=_BEFORE))
            session.execute(sa.update(core_of(LocalInvoice)).values(updated_at=_BEFORE))
            session.execute(sa.update(core_of(PayoutReport)).values(imported_at=_BEFORE))

    def close(self, installation: Installation, connection: Connection, until: date) -> None:
        signed = Signature("ana", "month end", datetime(self.day.year, self.day.month, self.day.day, 20, tzinfo=UTC))
        close_period(installation, connection, until=until, as_of=self.day, signed=signed)
