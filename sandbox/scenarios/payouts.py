"""Payouts: one per bank day, net of refunds and fees, and the few that go wrong."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time

from sandbox.scenarios.calendar import add_bank_days, at_local, bank_day, bank_days
from sandbox.scenarios.chance import Chance
from sandbox.scenarios.fees import fee_of, wrong_fee_of
from sandbox.scenarios.ledger import Dispute, Ledger, Line, Payout
from sandbox.scenarios.people import Merchant, to_millis, to_object, to_payout_account
from sandbox.state.happening import Happening
from sandbox.state.store import Object

FEELESS = "refund_adjustment"


@dataclass(frozen=True, slots=True)
class Item:
    """Something that waits for its payout."""

    at: datetime
    resource_type: str
    resource: str
    subtype: str
    signed: int
    gross: int  # what the fee is reckoned on
    repeated: bool = False
    misfee: str = ""


@dataclass(frozen=True, slots=True)
class Mishaps:
    """What goes wrong with the payouts of which days."""

    returned: frozenset[date] = frozenset()
    canceled: frozenset[date] = frozenset()
    short: dict[date, int] = field(default_factory=dict)
    lacking: frozenset[date] = frozenset()  # short by what one of its payments is worth
    late: frozenset[date] = frozenset()  # stays in progress for two bank days

    def spoil(self, on: date) -> bool:
        """Return whether the payout of that day gives its items back."""
        return on in self.returned or on in self.canceled

    def days(self) -> set[date]:
        """Return every day on which something goes wrong."""
        sets = (self.returned, self.canceled, self.short, self.lacking, self.late)
        return {day for days in sets for day in days}


def waiting_items(ledger: Ledger) -> list[Item]:
    """Payments from their success, refunds from their processing and again from their failure."""
    items = [
        Item(paid.succeeded_at, "charge" if paid.is_charge else "payment_intent", paid.id, paid.subtype,
             paid.own_amount, paid.amount, paid.repeated, paid.misfee)
        for paid in ledger.payments
        if not paid.forgotten
    ]  # fmt: skip
    for refund in ledger.refunds:
        items.append(Item(refund.in_progress_at, "refund", refund.id, "refund", -refund.amount, refund.amount))
        if refund.failed_at is not None:
            items.append(Item(refund.failed_at, FEELESS, refund.id, FEELESS, refund.amount, refund.amount))
    return items


def payable_on(at: datetime, country: str) -> date:
    """Return the day whose payout carries it: in Chile the bank day it belongs to, in Mexico the one after."""
    own = bank_day(at, country)
    return own if country == "cl" else add_bank_days(own, 1, country)


class Clearing:
    """Puts every waiting item into the payout of its bank day, or of the first one that can carry it."""

    def __init__(self, items: list[Item], *, country: str, tariff: Object, mishaps: Mishaps) -> None:
        self._country, self._tariff, self._mishaps = country, tariff, mishaps
        self._arriving: dict[date, list[Item]] = defaultdict(list)
        for item in items:
            self._arriving[payable_on(item.at, country)].append(item)
        self._due: list[Item] = []
        self._again: list[tuple[date, Item]] = []
        self._repeated: list[Item] = []

    def is_done(self) -> bool:
        """Return whether every item was paid out."""
        return not (self._arriving or self._due or self._again)

    def open(self, on: date) -> tuple[Line, ...]:
        """Return what a payout of that bank day carries."""
        self._due += sorted(self._arriving.pop(on, []), key=lambda item: (item.at, item.resource))
        spoiled = self._mishaps.spoil(on)
        self._repeated = [] if spoiled else [item for since, item in self._again if since <= on]
        return tuple(to_line(item, self._tariff) for item in (*self._due, *self._repeated))

    def close(self, on: date, gone_at: datetime | None) -> None:
        """The payout of that day was made; if it fails, its items wait anew from that moment."""
        self._again = [(since, item) for since, item in self._again if item not in self._repeated]
        if gone_at is not None:
            waiting = [replace(item, at=gone_at) for item in self._due]
            self._arriving[payable_on(gone_at, self._country)] += waiting
        else:
            self._again += [(add_bank_days(on, 2, self._country), item) for item in self._due if item.repeated]
        self._due = []


def pay_out(ledger: Ledger, chance: Chance, tariff: Object, mishaps: Mishaps) -> None:
    """One payout each bank day on which there is something to pay."""
    clearing = Clearing(waiting_items(ledger), country=ledger.country, tariff=tariff, mishaps=mishaps)
    disputes = [case for case in ledger.disputes if case.costs]
    for on in bank_days(ledger.since, ledger.until, ledger.country):
        lines = clearing.open(on)
        short_by = worth_of_one(lines) if on in mishaps.lacking else mishaps.short.get(on, 0)
        drafted = replace(draft_payout(ledger, chance, on, mishaps), lines=lines, short_by=short_by)
        lost = lost_before(drafted, disputes)
        net = worth_of(lines) - drafted.short_by - sum(case.payment.amount for case in lost)
        if net <= 0:
            continue
        ledger.payouts.append(replace(drafted, amount=net, disputes=lost))
        disputes = [case for case in disputes if case not in lost]
        clearing.close(on, drafted.gone_at)


def worth_of(lines: Iterable[Line]) -> int:
    """Return what lines bring together, fees taken off."""
    return sum(line.signed - line.fee for line in lines)


def lost_before(payout: Payout, disputes: list[Dispute]) -> tuple[Dispute, ...]:
    """Return the disputes that ended before the payout was made."""
    return tuple(case for case in disputes if case.ended_at is not None and case.ended_at < payout.created_at)


def to_line(item: Item, tariff: Object) -> Line:
    """Return what an item brings and what is taken for it."""
    fee, vat = (0, 0) if item.resource_type == FEELESS else fee_of(tariff, item.subtype, item.gross)
    if not item.misfee:
        return Line(item.resource_type, item.resource, item.signed, fee, vat)
    taken, taken_vat = wrong_fee_of(item.misfee, tariff, item.subtype, item.gross)
    return Line(item.resource_type, item.resource, item.signed, taken, taken_vat, taken - fee)


def worth_of_one(lines: tuple[Line, ...]) -> int:
    """Return what the middle one of a payout's payments brings."""
    worths = sorted(line.signed - line.fee for line in lines if line.signed > 0)
    return worths[len(worths) // 2] if len(worths) > 1 else 0


def draft_payout(ledger: Ledger, chance: Chance, on: date, mishaps: Mishaps) -> Payout:
    """Return the payout of one bank day, still empty: made after the cut, through within two hours."""
    country = ledger.country
    opens = time(14, 20) if country == "cl" else time(9)
    created_at = chance.later(at_local(on, opens, country), 0, 900)
    drafted = Payout(chance.id("po"), created_at, (), 0, ledger.currency)
    if on in mishaps.canceled:
        return replace(drafted, canceled_at=chance.later(created_at, 1_800, 3_600))
    done_at = chance.later(created_at, 1_200, 6_000)
    if on in mishaps.late:
        done_at = chance.moment(add_bank_days(on, 2, country), since=time(9), until=time(12))
    drafted = replace(drafted, succeeded_at=done_at)
    if on in mishaps.returned:
        back_on = add_bank_days(on, 1, country)
        return replace(drafted, returned_at=chance.moment(back_on, since=time(9), until=time(12)))
    return drafted


def tell_payout(payout: Payout, merchant: Merchant, *, mode: str = "test") -> list[Happening]:
    """Return the payout's resources, silently, and each of its states with an event."""
    return tell_lines(payout, mode=mode) + tell_states(payout, merchant, mode=mode)


def tell_lines(payout: Payout, *, mode: str) -> list[Happening]:
    """Return the payout's resources, silently."""
    happenings = []
    for line in payout.lines:
        id_ = f"{payout.id}:{line.resource_type}:{line.resource}"
        item = to_object("payout_resource", id_, mode=mode, payout=payout.id, _amount=line.signed, _fee=line.fee,
                         resource_type=line.resource_type, resource=line.resource)  # fmt: skip
        happenings.append(Happening(payout.created_at, "payout_resources", item))
    return happenings


def tell_states(payout: Payout, merchant: Merchant, *, mode: str) -> list[Happening]:
    """Return each state of the payout with its event."""
    happenings = []
    current: Object = to_object(
        "payout",
        payout.id,
        mode=mode,
        amount=payout.amount,
        currency=payout.currency,
        recipient_account=to_payout_account(merchant),
        created_at=to_millis(payout.created_at),
        succeeded_at=None,
    )
    states = (("in_progress", "created", payout.created_at), ("succeeded", "succeeded", payout.succeeded_at),
              ("canceled", "canceled", payout.canceled_at), ("returned", "returned", payout.returned_at))  # fmt: skip
    for status, event, at in states:
        if at is None:
            continue
        current = current | {"status": status, "updated_at": to_millis(at)}
        if status == "succeeded":
            current = current | {"succeeded_at": to_millis(at)}
        happenings.append(Happening(at, "payouts", current, f"payout.{event}"))
    return happenings
