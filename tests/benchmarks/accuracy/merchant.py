"""A merchant that lived through one scenario: provider's objects, books and bank file, in a database of its own.

What arrives is what the API shows: objects as they changed, events' extra fields, the invoice file and the bank's own
file as they are downloaded.
The plan of the scenario is never read, only its truth, and that by the scorer alone.
"""

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import sqlalchemy as sa

from consumer.config import load
from consumer.facts import schema
from consumer.facts.clock import local_date
from consumer.facts.installation import Connection, Installation
from consumer.facts.store import Store
from consumer.facts.tables.provider import PayoutCount, PayoutItem
from consumer.facts.tables.sync import Checkpoint
from consumer.facts.versions import Known, merge_all
from consumer.provider.rows import Observation, observe, to_payout_item
from reconcile.books.bank_files import import_bank_file
from reconcile.books.invoices import import_invoices
from reconcile.books.payout_reports import import_payout_report
from reconcile.kept.snapshots import Scope
from reconcile.rules.inputs import Inputs
from sandbox.scenarios import build
from sandbox.scenarios.bank import PROVIDER_TAX_IDS, tell_bank_file
from sandbox.scenarios.people import MERCHANTS
from sandbox.state.happening import Happening, Scenario
from tests.observing import take_snapshot

START = datetime(2026, 10, 1, 3, tzinfo=UTC)
KINDS = {
    "account_movements": "account_movement", "account_numbers": "account_number",
    "account_statements": "account_statement", "accounts": "account",
    "charges": "charge", "customers": "customer", "disputes": "dispute", "entities": "entity",
    "link_accounts": "link_account", "link_movements": "link_movement", "payment_intents": "payment_intent",
    "payouts": "payout", "refunds": "refund", "transfers": "transfer",
}  # fmt: skip
SHELVES = {"payment_intent": "payment_intents", "charge": "charges"}
REPORT_COLUMNS = ("id", "created_at", "amount", "fee", "resource_type", "resource_subtype", "share_amount")
TYPES = ("payment_intent", "charge", "refund", "refund_adjustment")
STREAMS = ("events", "payouts", "payment-intents", "charges", "refunds", "disputes")


@dataclass
class Merchant:
    """One installation, as complete as its clock says."""

    installation: Installation
    scenario: Scenario
    books: Path
    played: int = 0
    objects: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    lists: list[dict[str, Any]] = field(default_factory=list)

    @property
    def connection(self) -> Connection:
        return self.installation.settings.connection("main")

    def live_until(self, at: datetime) -> None:
        """Receive everything up to a moment, and take in the invoice file and the bank file of that day."""
        seen: list[Known] = []
        happenings = list(self.scenario.happenings)
        while self.played < len(happenings) and happenings[self.played].at <= at:
            seen += self._see(happenings[self.played])
            self.played += 1
        with self.installation.store.transaction() as session:
            merge_all(session, seen)
            self._keep_lists(session.connection(), at)
            _complete(session.connection(), at)
        self._import_books(at)
        self._import_bank_file()
        self._import_reports()

    def _see(self, happening: Happening) -> list[Known]:
        data = happening.object
        if data["mode"] != "test":
            return []
        if happening.collection == "payout_resources":
            self.lists.append(data)
            return []
        if happening.collection not in KINDS:
            return []
        shown = {name: value for name, value in data.items() if not name.startswith("_")}
        self.objects[happening.collection, data["id"]] = shown
        number = f"evt_{self.played}" if happening.event else ""
        account = data.get("_account")
        seen = Observation("main", "test", happening.at, number, account_id=account)
        return [observe(KINDS[happening.collection], shown | happening.event_only, seen)]

    def _keep_lists(self, database: sa.Connection, at: datetime) -> None:
        seen = Observation("main", "test", at)
        database.execute(sa.delete(PayoutItem))
        database.execute(sa.delete(PayoutCount))
        items, counts = [], dict.fromkeys(((key[1], name) for key in self.objects if key[0] == "payouts"
                                           for name in TYPES), 0)  # fmt: skip
        for row in self.lists:
            kind = row["resource_type"]
            found = self.objects[SHELVES.get(kind, "refunds"), row["resource"]]
            items.append(to_payout_item(found, seen, payout_id=row["payout"], resource_type=kind).model_dump())
            counts[row["payout"], kind] += 1
        database.execute(sa.insert(PayoutItem), items)
        reported = [
            {"connection": "main", "payout_id": payout, "resource_type": kind, "announced": count, "kept": count,
             "pulled_at": at}
            for (payout, kind), count in counts.items()
        ]  # fmt: skip
        database.execute(sa.insert(PayoutCount), reported)

    def _import_books(self, at: datetime) -> None:
        rows = [document.row for document in self.scenario.documents if document.known_at <= at]
        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
        self.books.write_text(text.getvalue(), encoding="utf-8")
        outcome = import_invoices(self.installation, self.connection, self.books)
        if not outcome.accepted:
            raise SystemExit(f"the books were refused: {outcome.rejects[:3]}")

    def _import_bank_file(self) -> None:
        """Take in the bank's own file of the account whose movements the provider shows, where there is one."""
        file = self.scenario.bank_file
        if file is None:
            return
        movements = [found for (shelf, _), found in self.objects.items() if shelf == "account_movements"]
        lines = tell_bank_file(
            file, movements, lambda transfer: self.objects["transfers", transfer], self.scenario.country
        )
        text = io.StringIO()
        writer = csv.DictWriter(text, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)
        path = self.books.with_name("bank.csv")
        path.write_text(text.getvalue(), encoding="utf-8")
        outcome = import_bank_file(self.installation, self.connection, path, account=file.account)
        if not outcome.accepted:
            raise SystemExit(f"the bank file was refused: {outcome.rejects[:3]}")

    def _import_reports(self) -> None:
        """Take in the provider's own report of each payout once, as it would be downloaded."""
        by_payout: dict[str, list[dict[str, Any]]] = {}
        for row in self.lists:
            by_payout.setdefault(row["payout"], []).append(row)
        for payout, rows in sorted(by_payout.items()):
            path = self.books.with_name(f"{payout}.csv")
            if path.exists():
                continue
            text = io.StringIO()
            writer = csv.DictWriter(text, REPORT_COLUMNS, delimiter=";")
            writer.writeheader()
            writer.writerows(self._reported(row) for row in rows)
            path.write_text(text.getvalue(), encoding="utf-8")
            outcome = import_payout_report(self.installation, self.connection, path)
            if not outcome.accepted:
                raise SystemExit(f"the report of {payout} was refused: {outcome.rejects[:3]}")

    def _reported(self, row: dict[str, Any]) -> dict[str, Any]:
        kind, resource = row["resource_type"], row["resource"]
        found = self.objects[SHELVES.get(kind, "refunds"), resource]
        return {
            "id": resource,
            "created_at": found["created_at"],
            "amount": -found["amount"] if kind == "refund" else found["amount"],
            "fee": row["_fee"],
            "resource_type": "refund" if kind == "refund_adjustment" else kind,
            "resource_subtype": "pac" if kind == "charge" else _subtype(found),
            "share_amount": row["_amount"],
        }

    def inputs(self, at: datetime) -> Inputs:
        """Everything a run as of that moment reads."""
        day = local_date(at, self.connection.country.zone)
        with self.installation.store.reading() as session:
            return take_snapshot(session, self.installation, self.connection, as_of=day, scope=Scope()).inputs


def _subtype(found: dict[str, Any]) -> str:
    if found.get("payment_type") == "card":
        return {"credit": "credit_card", "debit": "debit_card", "prepaid": "prepaid_card"}[
            found["payment_type_options"]["card"]["kind"]
        ]
    return str(found.get("payment_type", ""))


def _complete(database: sa.Connection, at: datetime) -> None:
    """Every stream was read to the end of the day."""
    database.execute(sa.delete(Checkpoint))
    until = at + timedelta(days=2)
    row = {"connection": "main", "complete_until": until, "pulled_at": until, "objects": 0, "offered": True}
    database.execute(sa.insert(Checkpoint), [row | {"stream": stream} for stream in STREAMS])


@contextmanager
def merchant_of(name: str, seed: int, *, scale: float = 1.0) -> Iterator[Merchant]:
    """An installation of its own for one scenario and seed."""
    scenario = build(name, seed=seed, scale=scale, start=START)
    with TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/cuadre.db"
        settings = load({
            "CUADRE_DATABASE_URL": url, "CUADRE_COUNTRY": scenario.country, "CUADRE_PROVIDER_URL": "http://127.0.0.1:1",
            "CUADRE_API_KEY": "sk_test_sandbox", "CUADRE_DATA_DIR": folder,
            "CUADRE_SECRET_KEY": "a key that only tests know",
            "CUADRE_TAX_ID": MERCHANTS[scenario.country].tax_id,
            "CUADRE_PROVIDER_TAX_ID": PROVIDER_TAX_IDS[scenario.country],
        }, folder=Path(folder), overrides={"tariff": scenario.tariff})  # fmt: skip
        installation = Installation(settings, Store(url))
        schema.upgrade(installation.store)
        try:
            yield Merchant(installation, scenario, Path(folder) / "invoices.csv")
        finally:
            installation.store.close()
