"""Random trade of a small merchant, day by day: sales of every kind, closings, late facts and changed files."""

from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING
from uuid import NAMESPACE_URL, uuid5

import sqlalchemy as sa

from consumer.facts.installation import Connection, Installation
from consumer.facts.store import put
from consumer.facts.tables.provider import Charge, PaymentIntent, Payout, PayoutItem, Refund
from consumer.facts.tables.types import core_of
from reconcile.desk.decisions import Signature
from reconcile.runs.close_period import close_period, reopen_period
from reconcile.tables.books import BankFile, BankLine, LocalInvoice, PayoutReport, ProviderFee, RemovedFile
from reconcile.tables.desk import Decision
from reconcile.tables.fiscal import FiscalDocument, FiscalPayment

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
    """What happened so far; `day` is today.

    Where it is `distinct`, no row becomes the rival of a closed match by amount, which a run without a horizon would
    take apart.
    """

    world: "World"
    random: Random
    day: date = FIRST
    number: int = 0
    waiting: list[tuple[str, str, int]] = field(default_factory=list)
    payments: list[tuple[str, int]] = field(default_factory=list)
    documents: list[str] = field(default_factory=list)
    payouts: list[str] = field(default_factory=list)
    distinct: bool = False

    def price(self) -> int:
        return self.random.choice(_PRICES) + (100_000 * self.number if self.distinct else self.random.randrange(3))

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
        number, amount = self.name(), self.price()
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
            self.issue(self.name(), self.price(), rut=rut, order="")

    def pay(self, identity: str, amount: int, body: dict[str, object], rut: str = "") -> None:
        self.world.payment(
            identity, amount, body=body, succeeded_at=self.at(), created_at=self.at(), customer_tax_id=rut or None,
            written_at=now(),
        )  # fmt: skip
        self.payments.append((identity, amount))
        self.waiting.append(("payment_intent", identity, amount))

    def issue(self, number: str, total: int, *, rut: str, order: str, **values: object) -> None:
        own = {"doc_key": self.key_of(number, str(values.get("doc_type", "33")))} | self.form() | values
        self.world.invoice(
            str(int(number)), total, order_ref=order, customer_tax_id=rut, issue_date=self.day,
            due_date=self.day + timedelta(days=30), updated_at=now(), **own,
        )  # fmt: skip
        self.documents.append(str(own["doc_key"]))

    def key_of(self, number: str, doc_type: str) -> str:
        return f"cl:{doc_type}::{int(number)}"

    def form(self) -> dict[str, object]:
        """Return what a document says of its form."""
        return {}

    def happenings(self) -> "tuple[Callable[[], None], ...]":
        return (
            self.refund, self.note, self.void, self.pay_again, self.lose, self.return_payout, self.list_again,
            self.report, self.decide, self.rename, self.vanish, self.mention, self.void_rival, self.touch,
            self.take_back,
        )  # fmt: skip

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
        if self.payments and self.documents:
            self.random.choice(self.happenings())()

    def refund(self) -> None:
        payment, amount = self.random.choice(self.payments)
        identity = f"re_{self.name()}"
        self.world.refund(identity, amount, payment, succeeded_at=self.at(), created_at=self.at(), written_at=now())
        self.waiting.append(("refund", identity, amount))

    def note(self) -> None:
        key = self.random.choice(self.documents)
        self.issue(self.name(), 990, rut="", order="", doc_type="61", ref_type="33",
                   ref_number=key.rpartition(":")[2])  # fmt: skip

    def void(self) -> None:
        self._set(LocalInvoice, LocalInvoice.doc_key, [self.random.choice(self.documents)], status="void",
                  updated_at=now())  # fmt: skip

    def pay_again(self) -> None:
        key = self.random.choice(self.documents).rpartition(":")[2].zfill(5)
        self.pay(f"pi_{self.name()}", 990, {"metadata": {"order_ref": f"ped {key}"}}, self.random.choice(_RUTS))

    def mention(self) -> None:
        key = self.random.choice(self.documents).rpartition(":")[2]
        self.pay(f"pi_{self.name()}", self.price(), {"comment": f"factura 33-{key}"})

    def void_rival(self) -> None:
        self.issue(self.name(), self.price(), rut=self.random.choice(_RUTS), order="", status="void")

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

    def take_back(self) -> None:
        """Take a file of one document back."""
        if self.random.random() < 0.3:
            key = self.random.choice(self.documents)
            with self.world.store.transaction() as session:
                session.execute(sa.delete(LocalInvoice).where(core_of(LocalInvoice).c.doc_key == key))
            self.world.keep(RemovedFile(connection="main", kind="invoices", name="f.csv", sha256="0" * 64, rows=1,
                                        imported_at=now(), removed_at=now(), removed_by="ana", reason="r"))  # fmt: skip

    def age(self) -> None:
        """Let time pass: what was written so far was so long before the next view."""
        with self.world.store.transaction() as session:
            for table in _WRITTEN:
                session.execute(sa.update(core_of(table)).values(written_at=_BEFORE))
            session.execute(sa.update(core_of(LocalInvoice)).values(updated_at=_BEFORE))
            session.execute(sa.update(core_of(PayoutReport)).values(imported_at=_BEFORE))
            session.execute(sa.update(core_of(RemovedFile)).values(removed_at=_BEFORE))
            session.execute(sa.update(core_of(FiscalDocument)).values(updated_at=_BEFORE))

    def close(self, installation: Installation, connection: Connection, until: date) -> None:
        signed = Signature("ana", "month end", datetime(self.day.year, self.day.month, self.day.day, 20, tzinfo=UTC))
        close_period(installation, connection, until=until, as_of=self.day, signed=signed)

    def reopen(self, installation: Installation, connection: Connection) -> None:
        reopen_period(installation, connection, Signature("ana", "late facts", self.at(20)))


@dataclass(slots=True)
class MexicanHistory(History):
    """The same trade with CFDI, of which some are paid in parts that complements state."""

    def __post_init__(self) -> None:
        self.world.currency = "MXN"

    def key_of(self, number: str, doc_type: str) -> str:
        return f"mx:uuid:{uuid5(NAMESPACE_URL, doc_type + number)}"

    def form(self) -> dict[str, object]:
        method, form = self.random.choice((("PPD", "99"), ("PUE", "03")))
        return {"country": "mx", "doc_type": "I", "payment_method": method, "payment_form": form}

    def issue(self, number: str, total: int, *, rut: str, order: str, **values: object) -> None:
        uuid = self.key_of(number, str(values.get("doc_type", "33"))).rpartition(":")[2]
        # A named class: slots make another class of it than the one `super()` would know.
        History.issue(self, number, total, rut=rut, order=order, uuid=uuid, vat=total * 16 // 116, **values)

    def note(self) -> None:
        uuid = self.random.choice(self.documents).rpartition(":")[2]
        self.issue(self.name(), 990, rut="", order="", doc_type="E", ref_type="01", ref_number=uuid)

    def happenings(self) -> "tuple[Callable[[], None], ...]":
        return (*History.happenings(self), self.complement, self.complement, self.state_otherwise)

    def complement(self) -> None:
        """Issue a complement over an invoice, whether or not it was paid."""
        paid, number = self.random.choice(self.documents), self.name()
        self._state(f"mx:uuid:c{number}", "P", "")
        self.world.keep(FiscalPayment(
            connection="main", doc_key=f"mx:uuid:c{number}", payment_number=1, line=1, paid_at=self.at(),
            payment_form="03", currency="MXN", amount=990, operation=f"OP{number}", paid_uuid=paid.rpartition(":")[2],
            paid_key=paid, instalment=1, paid_currency="MXN", balance_before=990, paid=990, balance_after=0, vat=137,
        ))  # fmt: skip

    def state_otherwise(self) -> None:
        """Have an XML state another total of a document than the books do."""
        key = self.random.choice(self.documents)
        with self.world.store.reading() as session:
            known = session.get(FiscalDocument, ("main", key))
        if known is None:
            self._state(key, "I", "PPD")

    def _state(self, key: str, kind: str, method: str) -> None:
        self.world.keep(FiscalDocument(
            connection="main", doc_key=key, country="mx", direction="issued", kind=kind, uuid=key.rpartition(":")[2],
            issuer_tax_id="ATP190301KX8", issued_at=self.at(), issue_date=self.day, period=f"{self.day:%Y-%m}",
            currency="MXN", net=0, exempt=0, vat=0, withheld=0, total=990, payable=990, third_party=0, status="valid",
            payment_method=method, payment_form="99" if method else "", content_sha256="0" * 64, file_sha256="0" * 64,
            updated_at=now(),
        ))  # fmt: skip


HISTORIES = {"cl": History, "mx": MexicanHistory}
