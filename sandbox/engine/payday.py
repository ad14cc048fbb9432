"""Pays out what was paid over HTTP: in the scenario's own payout of the bank day, or where there is none in another."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timedelta
from functools import partial

from sandbox.engine.settlement import State, draft_transfer, receive
from sandbox.scenarios.calendar import add_bank_days, at_local, local_date
from sandbox.scenarios.fees import TARIFFS
from sandbox.scenarios.ledger import Line, Payout
from sandbox.scenarios.payouts import FEELESS, Item, payable_on, tell_lines, tell_states, to_line, worth_of
from sandbox.scenarios.people import CURRENCIES, MERCHANTS, Merchant
from sandbox.state.ids import digest
from sandbox.state.store import Object

# The collection of each kind of resource a payout may have; an adjustment gives a failed refund back.
RESOURCES = {
    "payment_intent": "payment_intents",
    "charge": "charges",
    "refund": "refunds",
    "refund_adjustment": "refunds",
}
COUNTRIES = {currency: country for country, currency in CURRENCIES.items()}
# A scenario's payouts are made in the quarter of an hour before.
MADE_AT = {"cl": time(14, 40), "mx": time(9, 20)}
SUCCEEDS_AFTER, ARRIVES_AFTER = timedelta(minutes=40), timedelta(minutes=50)
MOVED = {("charges", "succeeded"), ("refunds", "in_progress"), ("refunds", "failed")}
GONE = ("canceled", "returned")
CARDS = {"credit": "credit_card", "debit": "debit_card", "prepaid": "prepaid_card"}


@dataclass(frozen=True, slots=True)
class Till:
    """Whose money lies together until it is paid out."""

    mode: str
    currency: str
    entity: str = ""  # the other recipient of a split payment; empty for the organization itself

    @property
    def country(self) -> str:
        return COUNTRIES[self.currency]


@dataclass(slots=True)
class Joined:
    """What a payout carries that was paid over HTTP."""

    till: Till
    items: list[Item]
    payout: Payout  # as far as it is theirs: its amount is what they bring, fees taken off
    is_own: bool = False  # made for requests alone, unknown to the scenario


@dataclass(slots=True)
class Payday:
    """What waits for its payout, and what was put into which."""

    world: State
    joined: dict[str, Joined] = field(default_factory=dict)  # by payout
    worths: dict[str, int] = field(default_factory=dict)  # by how much payouts of the scenario are larger than it wrote
    noticed: dict[tuple[Till, str, str], Item] = field(default_factory=dict)  # by type and id of the resource too
    _waiting: defaultdict[Till, list[tuple[date, Item]]] = field(default_factory=lambda: defaultdict(list))
    _planned: set[tuple[Till, date]] = field(default_factory=set)

    def notice(self, collection: str, found: Object, shares: object = None) -> None:
        """Let money that a request moved wait for its payout; each resource once."""
        if collection == "payment_intents" and found["status"] == "succeeded":
            items = list(self._items_of_payment(found, shares if isinstance(shares, list) else []))
        else:
            items = list(self._items_of_change(collection, found))
        for till, item in items:
            key = (till, item.resource_type, item.resource)
            if key not in self.noticed:
                self.noticed[key] = item
                self._wait(till, item, item.at)

    def _items_of_payment(self, intent: Object, shares: list[Object]) -> Iterator[tuple[Till, Item]]:
        """Return a payment, or its share for each recipient there is."""
        now, subtype, amount = self.world.now(), subtype_of(intent), intent["amount"]
        if not shares:
            till = Till(intent["mode"], intent["currency"])
            yield till, Item(now, "payment_intent", intent["id"], subtype, amount, amount)
        for share in shares:
            entity = self.world.collection(intent["mode"], "entities").find(share["entity_id"])
            if entity is not None:
                till = Till(intent["mode"], intent["currency"], "" if entity["is_root"] else entity["id"])
                gross = amount if share["charge_processing_fee"] else 0
                yield till, Item(now, "payment_intent", intent["id"], subtype, share["amount"], gross)

    def _items_of_change(self, collection: str, found: Object) -> Iterator[tuple[Till, Item]]:
        now, id_ = self.world.now(), found["id"]
        if (collection, found.get("status")) not in MOVED:
            return
        till, amount = Till(found["mode"], found["currency"]), found["amount"]
        if collection == "charges":
            yield till, Item(now, "charge", id_, "pac", amount, amount)
        elif found["status"] == "in_progress":
            yield till, Item(now, "refund", id_, "refund", -amount, amount)
        elif (till, "refund", id_) in self.noticed:
            yield till, Item(now, FEELESS, id_, FEELESS, amount, amount)

    def _wait(self, till: Till, item: Item, since: datetime) -> None:
        try:
            on = payable_on(since, till.country)
        except ValueError:
            return  # the bank calendars have ended
        self._waiting[till].append((on, item))
        self._plan(till, on)

    def _plan(self, till: Till, on: date) -> None:
        if (till, on) not in self._planned:
            self._planned.add((till, on))
            made_at = at_local(on, MADE_AT[till.country], till.country)
            self.world.put_off(max(made_at - self.world.now(), timedelta()), lambda: self._pay_out(till, on))

    def join(self, payout: Object) -> Object:
        """Return the scenario's payout with what waits for it; one that fails gives that back."""
        id_, till = payout["id"], Till(payout["mode"], payout["currency"])
        if payout["status"] == "in_progress" and id_ not in self.joined and till in self._waiting:
            items = self._due(till)
            lines = self._lines(till, items)
            worth = worth_of(lines)
            if lines and payout["amount"] + worth > 0:
                self._put(Joined(till, items, Payout(id_, self.world.now(), lines, worth, till.currency)))
        joined = self.joined.get(id_)
        if joined is None or joined.is_own:
            return payout
        if payout["status"] in GONE and joined.payout.gone_at is None:
            gone_at = self.world.now()
            back = payout["status"] == "returned"
            joined.payout = replace(joined.payout, returned_at=gone_at if back else None, canceled_at=gone_at)
            for item in joined.items:
                self._wait(till, item, gone_at)
        return {**payout, "amount": payout["amount"] + joined.payout.amount}

    def _put(self, joined: Joined) -> None:
        """Let these items wait no more: the payout carries them."""
        till, payout = joined.till, joined.payout
        self._waiting[till] = [(on, item) for on, item in self._waiting[till] if item not in joined.items]
        self.joined[payout.id] = joined
        if not joined.is_own:
            self.worths[payout.id] = payout.amount
        for happening in tell_lines(payout, mode=till.mode):
            self.world.payout_items.add(happening.object)

    def _due(self, till: Till) -> list[Item]:
        today = local_date(self.world.now(), till.country)
        return [item for on, item in self._waiting[till] if on <= today]

    def _lines(self, till: Till, items: list[Item]) -> tuple[Line, ...]:
        country = till.country
        scenario = self.world.scenario
        tariff = TARIFFS[country] | (scenario.tariff if scenario.country == country else {})
        # What no tariff names, as cash, is charged as a transfer.
        priced = (item if item.subtype in tariff or item.subtype == FEELESS else replace(item, subtype="bank_transfer")
                  for item in items)  # fmt: skip
        return tuple(to_line(item, tariff) for item in priced)

    def _pay_out(self, till: Till, on: date) -> None:
        """A payout of its own for what no payout of the scenario took; what owes more than it brings waits on."""
        self._planned.discard((till, on))
        items = self._due(till)
        lines = self._lines(till, items)
        worth, now = worth_of(lines), self.world.now()
        if worth <= 0:
            if items:
                self._plan_after(till, on)
            return
        payout = Payout(self.world.new_id("po"), now, lines, worth, till.currency, succeeded_at=now + SUCCEEDS_AFTER)
        self._put(Joined(till, items, payout, is_own=True))
        for happening in tell_states(payout, self._recipient(till), mode=till.mode):
            self.world.put_off(happening.at - now, partial(self.world.tell, happening))
        if not till.entity:
            self.world.put_off(ARRIVES_AFTER, lambda: self._arrive(payout, till))

    def _plan_after(self, till: Till, on: date) -> None:
        try:
            self._plan(till, add_bank_days(on, 1, till.country))
        except ValueError:
            return  # the bank calendars have ended

    def _recipient(self, till: Till) -> Merchant:
        merchant = MERCHANTS[till.country]
        if not till.entity:
            return merchant
        holder = self.world.get(till.mode, "entities", till.entity)
        account = str(int.from_bytes(digest(self.world.seed, till.entity)[:8]))[:12]
        return replace(merchant, name=holder["holder_name"], tax_id=holder["holder_id"], account=account)

    def _arrive(self, payout: Payout, till: Till) -> None:
        """Book the payout on the account it goes to, where that account is the provider's too."""
        merchant = MERCHANTS[till.country]
        numbers = self.world.collection(till.mode, "account_numbers").newest_first()
        number = next((number for number in numbers if number["number"] == merchant.account), None)
        if number is None:
            return
        counterparty = {
            "holder_id": "771234567", "holder_name": "Pasarela de Pagos SpA", "account_number": "0004455667",
            "account_type": "checking", "email": None,
            "institution": {"id": "cl_banco_bice", "name": None, "country": merchant.country},
        }  # fmt: skip
        terms = {"amount": payout.amount, "currency": till.currency, "counterparty": counterparty,
                 "comment": f"Liquidacion {payout.id}", "reference_id": None, "metadata": {}}  # fmt: skip
        receive(self.world, draft_transfer(self.world, number, "inbound", terms), number)


def subtype_of(intent: Object) -> str:
    """Return how a payment was made, in the words of the tariff."""
    if intent["payment_type"] != "card":
        return str(intent["payment_type"])
    return CARDS[intent["payment_type_options"]["card"]["kind"]]
