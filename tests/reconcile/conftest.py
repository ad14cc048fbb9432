"""A small merchant: facts written straight into the store, one line each, and rules that answer what a test wants."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

import pytest
from click.testing import CliRunner
from click.testing import Result as Answer
from sqlmodel import SQLModel

from consumer.facts.installation import Installation
from consumer.facts.meaning import sale_of
from consumer.facts.settings import Connection
from consumer.facts.store import Store
from consumer.facts.tables.inbox import Event
from consumer.facts.tables.provider import Charge, Dispute, PaymentIntent, Payout, PayoutCount, PayoutItem, Refund
from consumer.facts.tables.sync import Checkpoint
from cuadre import Commands
from reconcile.rules.inputs import DOCUMENT_RESULTS, LINES, SUMMARY, Finding, Inputs, Result, empty_frame, to_types
from reconcile.tables.books import BankFile, BankLine, LocalInvoice, ProviderFee

NOON = datetime(2026, 9, 10, 15, 0, tzinfo=UTC)
STREAMS = ("events", "payouts", "payment-intents", "charges", "refunds", "disputes")


@dataclass(slots=True)
class World:
    """Writes facts of connection `main` in test mode; anything may be overridden."""

    store: Store
    connection: str = "main"
    currency: str = "CLP"

    def keep(self, *rows: SQLModel) -> None:
        with self.store.transaction() as session:
            session.add_all(rows)

    def _object(self, **values: Any) -> dict[str, Any]:
        fixed = {
            "connection": self.connection, "mode": "test", "currency": self.currency, "created_at": NOON,
            "version_at": NOON,
        }  # fmt: skip
        body = values.pop("body", {})
        return fixed | {"status": "succeeded", "body": json.dumps(body)} | values

    def _sale(self, **values: Any) -> dict[str, Any]:
        return sale_of(values.get("body", {})) | self._object(**values)

    def payment(self, identity: str, amount: int, **values: Any) -> None:
        fixed = {"succeeded_at": NOON, "subtype": "bank_transfer"}
        self.keep(PaymentIntent(**self._sale(id=identity, amount=amount, **(fixed | values))))

    def charge(self, identity: str, amount: int, **values: Any) -> None:
        self.keep(Charge(**self._sale(id=identity, amount=amount, succeeded_at=NOON, **values)))

    def refund(self, identity: str, amount: int, payment: str, **values: Any) -> None:
        self.keep(Refund(**self._sale(id=identity, amount=amount, resource_id=payment, **values)))

    def dispute(self, identity: str, amount: int, payment: str, **values: Any) -> None:
        self.keep(Dispute(**self._object(id=identity, amount=amount, resource_id=payment, **values)))

    def payout(self, identity: str, amount: int, *items: tuple[str, str, int], **values: Any) -> None:
        """A payout with its items as (type, id, amount), all of them announced and kept."""
        fixed = {"succeeded_at": NOON, "recipient_institution": "cl_banco_de_chile", "recipient_number": "00012345678"}
        self.keep(Payout(**self._object(id=identity, amount=amount, **(fixed | values))))
        self.count(identity, "payment_intent", len(items), len(items))
        for kind, resource, money in items:
            self.item(identity, kind, resource, money)

    def item(self, payout: str, kind: str, resource: str, amount: int, **body: Any) -> None:
        self.keep(
            PayoutItem(
                connection=self.connection, payout_id=payout, resource_type=kind, resource_id=resource, mode="test",
                amount=amount, currency=self.currency, body=json.dumps(body),
            )
        )  # fmt: skip

    def count(self, payout: str, kind: str, announced: int | None, kept: int) -> None:
        self.keep(
            PayoutCount(
                connection=self.connection, payout_id=payout, resource_type=kind, announced=announced, kept=kept,
                pulled_at=NOON,
            )
        )  # fmt: skip

    def event(self, identity: str, kind: str, resource: str, at: datetime = NOON, **values: Any) -> None:
        fixed: dict[str, Any] = {"mode": "test", "source": "webhook", "state": "applied", "received_at": NOON}
        digests = {"raw_sha256": identity, "meaning_sha256": identity, "last_arrival_at": NOON}
        row: dict[str, Any] = (
            fixed | digests | {"id": identity, "type": kind, "resource_id": resource, "created_at": at} | values
        )
        self.keep(Event(connection=self.connection, **row))

    def invoice(self, folio: str, total: int, **values: Any) -> None:
        fixed: dict[str, Any] = {
            "connection": self.connection, "doc_key": f"cl:33::{folio}", "country": "cl", "doc_type": "33",
            "folio": folio, "issue_date": date(2026, 9, 1), "total": total, "currency": self.currency,
            "status": "valid", "file_sha256": "0" * 64, "updated_at": NOON,
        }  # fmt: skip
        self.keep(LocalInvoice(**(fixed | values)))

    def bank_file(self, account: str, *lines: tuple[date, int], currency: str = "CLP") -> None:
        """A bank file of September with its lines, `line_0` and on."""
        fixed: dict[str, Any] = {"connection": self.connection, "account": account, "currency": currency}
        self.keep(BankFile(
            sha256=f"{account:0>64}", name="cartola.csv", file_format="CSV", since=date(2026, 9, 1),
            until=date(2026, 9, 30), imported_at=NOON, rows=len(lines), added=len(lines), **fixed,
        ))  # fmt: skip
        for number, (on, amount) in enumerate(lines):
            self.keep(
                BankLine(id=f"line_{number}", booked_on=on, amount=amount, file_sha256=f"{account:0>64}", **fixed)
            )

    def complete(self, until: datetime, *streams: str) -> None:
        """Every stream was read just now and is complete up to a moment, which is where the provider's clock stands."""
        read_at = datetime.now(UTC)
        named: dict[str, Any] = {"connection": self.connection, "complete_until": until, "pulled_at": read_at}
        with self.store.transaction() as session:
            for stream in streams or STREAMS:
                session.merge(Checkpoint(stream=stream, **named))


@pytest.fixture
def world(store: Store) -> World:
    return World(store)


@pytest.fixture
def main(installation: Installation) -> Connection:
    return installation.settings.connection("main")


@pytest.fixture
def call(installation: Installation) -> Callable[..., Answer]:
    """Call commands as a terminal does, on the installation of the test."""
    group = Commands()

    def invoke(*arguments: object) -> Answer:
        return CliRunner().invoke(group, [str(argument) for argument in arguments], obj=lambda: installation)

    return invoke


Prepare = Callable[[str, Callable[[], str]], str]


def to_finding(code: str, subject: str, at_risk: int = 100, **ids: str) -> Finding:
    return Finding(
        code=code, severity="medium", subject=subject, title="t", amount_at_risk=at_risk, currency="CLP",
        payout_id=ids.get("payout_id"), resource_id=ids.get("resource_id"), doc_key=ids.get("doc_key"),
        evidence={"seen": at_risk}, suggested_action="look",
    )  # fmt: skip


@pytest.fixture
def finding() -> Callable[..., Finding]:
    return to_finding


@pytest.fixture
def tiny_rules() -> Callable[..., Callable[[Inputs], Result]]:
    """Rules that close every payout by a residual fee and report the findings they are given."""

    def with_findings(*findings: Finding, complete: bool | None = None) -> Callable[[Inputs], Result]:
        return lambda inputs: _result(inputs, findings, complete=complete)

    return with_findings


def _result(inputs: Inputs, findings: tuple[Finding, ...], *, complete: bool | None) -> Result:
    lines = _lines(inputs)
    gross = lines.groupby("payout_id")["amount_signed"].sum()
    payouts = _filled(inputs.payouts, SUMMARY)
    payouts["payout_amount"] = inputs.payouts["amount"]
    payouts["payout_date"] = inputs.payouts["created_at"].dt.tz_localize(None).dt.normalize()
    payouts["fee_total"] = inputs.payouts["payout_id"].map(gross).fillna(0) - inputs.payouts["amount"]
    payouts["computed_amount"], payouts["difference"], payouts["status_recon"] = inputs.payouts["amount"], 0, "closed"
    for name in ("payments_gross", "charges_gross", "refunds_gross", "refund_adjustments", "disputes"):
        payouts[name] = 0
    documents = _filled(inputs.documents, DOCUMENT_RESULTS)
    documents["outcome"], documents["paid"], documents["credited"] = "open_not_due", 0, 0
    documents["balance"] = documents["total"]
    is_complete = inputs.gaps.empty if complete is None else complete
    return Result(to_types(payouts, SUMMARY), lines, to_types(documents, DOCUMENT_RESULTS), findings, is_complete)


def _lines(inputs: Inputs) -> Any:
    lines = _filled(inputs.items, LINES)
    lines["line"], lines["outcome"] = 1, "unexplained"
    lines["amount_signed"] = inputs.items["amount"].where(
        inputs.items["resource_type"] != "refund", -inputs.items["amount"]
    )
    lines["occurred_at_utc"] = inputs.items["occurred_at"]
    return to_types(lines, LINES)


def _filled(frame: Any, schema: Any) -> Any:
    return frame.reindex(columns=list(schema)).astype(dict(empty_frame(schema).dtypes.items()))


@pytest.fixture
def large_trade(world: "World") -> "World":
    """A few rows of each large table."""
    world.payment("pi_1", 1000, body={"metadata": {"order_ref": "PED-1"}})
    world.payment("pi_2", 500, status="failed")
    world.charge("ch_1", 90)
    world.refund("re_1", 30, "pi_1")
    world.payout("po_1", 1090, ("payment_intent", "pi_1", 1000), ("charge", "ch_1", 90))
    world.event("evt_1", "payment_intent.succeeded", "pi_1")
    world.invoice("7", 1000)
    world.keep(ProviderFee(connection="main", payout_id="po_1", resource_id="pi_1", fee_total=3))
    return world
