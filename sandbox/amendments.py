"""The scenario's truth, and what requests added to it."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta

from sandbox.engine.payday import COUNTRIES, Joined, Till
from sandbox.engine.world import TEST, World
from sandbox.scenarios.books import to_major
from sandbox.scenarios.ledger import Ledger, Payment, Refund, Verdict
from sandbox.scenarios.payouts import Item
from sandbox.scenarios.truth import Assessor
from sandbox.state.happening import Document, Truth
from sandbox.state.store import Object

WORD = re.compile(r"[^\s,;:]+")
OF_THE_WHOLE = {"PAYOUT_RETURNED", "PAYOUT_LATE", "PAYOUT_NOT_IN_BANK"}  # at risk is all of the payout
UNDECIDED = Verdict("unexplained", decidable=False)
Clue = tuple[str, str]


def tell_truth(world: World) -> Iterator[Truth]:
    """Every subject as of now. A payment made over HTTP that may mean a document of the books is left undecided."""
    rows = iter(world.scenario.truth(world.now()))
    noticed = [(till, item) for (till, _, _), item in world.payday.noticed.items() if is_announced(till)]
    if not noticed:
        return rows
    return Addition(world, noticed).tell(rows)


def is_announced(till: Till) -> bool:
    return till.mode == TEST and not till.entity


@dataclass(slots=True)
class Addition:
    """What requests did to trade, judged as of one moment."""

    world: World
    noticed: list[tuple[Till, Item]]
    payments: dict[str, Object] = field(init=False)  # by id, those made over HTTP
    touched: set[str] = field(init=False)  # documents of the books they may mean
    unclear: set[str] = field(init=False)  # payments that may mean one
    given_back: set[str] = field(init=False)  # payments of the scenario that requests refunded
    joined: dict[str, Joined] = field(init=False)
    rows: list[Truth] = field(init=False)

    def __post_init__(self) -> None:
        shelves = {"payment_intent": "payment_intents", "charge": "charges"}
        self.payments = {
            item.resource: self.world.get(TEST, shelves[item.resource_type], item.resource)
            for _, item in self.noticed
            if item.resource_type in shelves
        }
        clues = {id_: clues_of(found, self._payer(found)) for id_, found in self.payments.items()}
        self.touched, hits = meet(self.world.scenario.documents, set().union(*clues.values()))
        self.unclear = {id_ for id_, found in clues.items() if found & hits}
        self.given_back = self._refunded_payments()
        self.joined = self.world.payday.joined
        self.rows = [row for currency in COUNTRIES for row in self._judge(currency)]

    def _payer(self, found: Object) -> str:
        customer = found.get("customer")
        known = self.world.collection(TEST, "customers").find(customer) if isinstance(customer, str) else None
        sender = found.get("sender_account") or {}
        tax_id = ((known or {}).get("tax_id") or {}).get("value") or sender.get("holder_id") or ""
        return plain(str(tax_id))

    def tell(self, rows: Iterator[Truth]) -> Iterator[Truth]:
        """Return the scenario's rows with what changed in them, then those of requests."""
        for row in rows:
            yield self._correct(row)
        yield from self.rows

    def _refunded_payments(self) -> set[str]:
        refunds = [item.resource for _, item in self.noticed if item.resource_type == "refund"]
        payments = {str(self.world.get(TEST, "refunds", id_)["resource_id"]) for id_ in refunds}
        return payments - self.payments.keys()

    def _correct(self, row: Truth) -> Truth:
        joined = self.joined.get(row.id)
        if row.kind == "payout" and joined:
            links = (*row.links, *dict.fromkeys(item.resource for item in joined.items))
            more = joined.payout.amount * len(OF_THE_WHOLE.intersection(row.exceptions))
            return replace(row, links=links, amount_at_risk=row.amount_at_risk + more)
        if row.kind == "document" and (row.id in self.touched or self.given_back.intersection(row.links)):
            return replace(row, decidable=False)
        return row

    def _judge(self, currency: str) -> Iterator[Truth]:
        for row in Assessor(self._ledger(currency)).assess(self.world.now()):
            if row.kind == "payout" and not self.joined[row.id].is_own:
                continue
            refund = self.world.collection(TEST, "refunds").find(row.id) if row.kind == "refund" else None
            of_scenario = refund is not None and refund["resource_id"] not in self.payments
            yield replace(row, decidable=False) if of_scenario else row

    def _ledger(self, currency: str) -> Ledger:
        """Return what requests did in one currency, as a scenario would have planned it."""
        till, today = Till(TEST, currency), self.world.now().date()
        ledger = Ledger(COUNTRIES[currency], currency, today - timedelta(days=1), today)
        items = [item for its, item in self.noticed if its == till]
        ledger.payments = [self._payment(item, currency) for item in items if item.resource in self.payments]
        ledger.refunds = [self._refund(item, currency) for item in items if item.resource_type == "refund"]
        ledger.payouts = [joined.payout for joined in self.joined.values() if joined.till == till]
        return ledger

    def _payment(self, item: Item, currency: str) -> Payment:
        amount = self.payments[item.resource]["amount"]
        unknown = Verdict("no_document", code="PAYMENT_NO_INVOICE", at_risk=amount)
        verdict = UNDECIDED if item.resource in self.unclear else unknown
        # What it brings is the merchant's own share of it.
        return Payment(item.resource, item.subtype, item.signed, currency, item.at, item.at, verdict)

    def _refund(self, item: Item, currency: str) -> Refund:
        found = self.world.get(TEST, "refunds", item.resource)
        stub = Payment(found["resource_id"], "", found["amount"], currency, item.at, item.at, UNDECIDED)
        return Refund(item.resource, stub, found["amount"], item.at, item.at, None, None, None)


def clues_of(found: Object, payer: str) -> set[Clue]:
    """Return everything by which a payment may mean a document: words, its amount, who pays."""
    texts = [found.get("comment"), found.get("reference_id"), *(found.get("metadata") or {}).values()]
    words = {word.lower() for text in texts if text is not None for word in WORD.findall(str(text))}
    clues = {("word", word) for word in words} | {("total", to_major(found["amount"], found["currency"]))}
    return clues | ({("payer", payer)} if payer else set())


def meet(documents: Iterable[Document], clues: set[Clue]) -> tuple[set[str], set[Clue]]:
    """Return the keys of the documents that any of the clues leads to, and the clues that lead to one."""
    keys, hits = set(), set[Clue]()
    for document in documents:
        row = document.row
        found = clues & {
            ("total", row["total"]),
            ("payer", plain(row["customer_tax_id"])),
            *(("word", row[name].lower()) for name in ("folio", "order_ref", "uuid") if row[name]),
            ("word", to_key(row)),
        }
        if found:
            keys.add(to_key(row))
            hits |= found
    return keys, hits


def to_key(row: Mapping[str, str]) -> str:
    """Return the name of a row of the books in the contract."""
    if row["uuid"]:
        return f"mx:uuid:{row['uuid'].lower()}"
    return f"{'cl' if row['doc_type'].isdigit() else 'mx'}:{row['doc_type']}:{row['series']}:{row['folio']}"


def plain(tax_id: str) -> str:
    """Return a tax id without what people write between its figures."""
    return re.sub(r"[.\s-]", "", tax_id).upper().lstrip("0")
