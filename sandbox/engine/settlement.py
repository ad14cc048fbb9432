"""What banks do with transfers, and what requests and the scenario together leave on accounts."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from typing import Protocol

from sandbox.scenarios.calendar import local_date
from sandbox.state.clock import to_iso, to_moment
from sandbox.state.happening import Happening, Scenario
from sandbox.state.store import Collection, Object, PayoutItems

WISH = "sandbox_outcome"
TRANSFERS, MOVEMENTS = "transfers", "account_movements"
ANSWERED_AFTER = timedelta(seconds=3)
UNDONE_AFTER = timedelta(hours=1)
REFUSALS = {"failed", "rejected"}
LATER = {"returned", "reversed"}


class State(Protocol):
    """What transfers and payouts need of the provider's state."""

    seed: int
    scenario: Scenario
    payout_items: PayoutItems
    balances: "Balances"

    def now(self) -> datetime: ...
    def put_off(self, delay: timedelta, action: Callable[[], object]) -> None: ...
    def tell(self, happening: Happening) -> None: ...
    def collection(self, mode: str, name: str) -> Collection: ...
    def get(self, mode: str, name: str, id_: str) -> Object: ...
    def new_id(self, prefix: str) -> str: ...
    def new_secret(self, prefix: str) -> str: ...
    def draft(self, mode: str, prefix: str, kind: str, **fields: object) -> Object: ...
    def keep(self, name: str, found: Object, *, event: str | None = None, **event_only: object) -> Object: ...


def outcome(*metadata: Mapping[str, object] | None, default: str = "succeeded") -> str:
    """Return the first outcome that is wished for in `metadata.sandbox_outcome`, else that everything works."""
    for pairs in metadata:
        if pairs and isinstance(pairs.get(WISH), str):
            return str(pairs[WISH])
    return default


def draft_transfer(world: State, number: Object, direction: str, terms: Object) -> Object:
    """Return a transfer that the other bank has not answered yet, not stored."""
    currency = terms["currency"]
    return world.draft(
        number["mode"],
        "tr",
        "transfer",
        amount=terms["amount"],
        currency=currency,
        direction=direction,
        status="pending",
        transaction_date=to_iso(world.now()),
        post_date=None,
        comment=terms["comment"],
        reference_id=terms["reference_id"],
        tracking_key=world.new_secret("track") if currency == "MXN" else None,
        transfer_batch_id=None,
        receipt_url=None,
        counterparty=terms["counterparty"],
        account_number=number,
        metadata=terms["metadata"],
        return_reason=None,
        return_reason_code=None,
        error_reason=None,
        reject_reason=None,
        failed_at=None,
        rejected_at=None,
        reversed_at=None,
    )


def send(world: State, transfer: Object) -> Object:
    """Return the money leaves the account at once; the other bank answers a little later."""
    _book(world, transfer, -transfer["amount"])
    world.keep(TRANSFERS, transfer)
    world.put_off(ANSWERED_AFTER, lambda: _answer(world, transfer))
    return transfer


def _answer(world: State, transfer: Object) -> None:
    wish = outcome(transfer["metadata"])
    if wish in REFUSALS:
        _book(world, transfer, transfer["amount"])
        refuse(world, transfer)
        return
    done = succeed(world, transfer, event="transfer.outbound.succeeded")
    if wish == "reversed" and done["currency"] == "CLP":
        world.put_off(UNDONE_AFTER, lambda: _begin_reversal(world, done))
    elif wish in LATER:
        world.put_off(UNDONE_AFTER, lambda: _undo(world, done, wish))


def refuse(world: State, transfer: Object) -> None:
    """Announce that an outbound transfer failed; its money is on the account."""
    is_chilean = transfer["currency"] == "CLP"
    reason = {"error_reason": "invalid_recipient_account", "failed_at": to_iso(world.now())} if is_chilean else {}
    world.keep(TRANSFERS, {**transfer, **reason, "status": "failed"}, event="transfer.outbound.failed")


def _begin_reversal(world: State, transfer: Object) -> None:
    pending = world.keep(TRANSFERS, {**transfer, "status": "reverse_pending"})
    world.put_off(ANSWERED_AFTER, lambda: _undo(world, pending, "reversed"))


def succeed(world: State, transfer: Object, *, event: str) -> Object:
    return world.keep(TRANSFERS, {**transfer, "status": "succeeded", "post_date": to_iso(world.now())}, event=event)


def _undo(world: State, transfer: Object, status: str) -> None:
    """Money that was through comes back, or is taken back."""
    way = transfer["direction"]
    _book(world, transfer, transfer["amount"] if way == "outbound" else -transfer["amount"])
    changes: Object = {"status": status}
    if status == "returned":
        changes |= {"return_reason": "non_existing_account", "return_reason_code": "01"}
    elif transfer["currency"] == "CLP":
        changes["reversed_at"] = to_iso(world.now())
    world.keep(TRANSFERS, {**transfer, **changes}, event=f"transfer.{way}.{status}")


def receive(world: State, transfer: Object, number: Object) -> Object:
    """Money arrives; out of the number's range it is rejected by itself."""
    smallest, largest = number["options"]["min_amount"], number["options"]["max_amount"]
    is_small = smallest is not None and transfer["amount"] < smallest
    is_large = largest is not None and transfer["amount"] > largest
    if is_small or is_large or number["status"] != "enabled":
        reason = {"reject_reason": "recipient_account_credit_restricted", "rejected_at": to_iso(world.now())}
        changes = reason if transfer["currency"] == "CLP" else {}
        rejected = {**transfer, **changes, "status": "rejected"}
        return world.keep(TRANSFERS, rejected, event="transfer.inbound.rejected")
    _book(world, transfer, transfer["amount"])
    world.keep("account_numbers", {**number, "last_transfer_at": to_iso(world.now())})
    done = succeed(world, transfer, event="transfer.inbound.succeeded")
    if outcome(transfer["metadata"]) in LATER:
        world.put_off(UNDONE_AFTER, lambda: _undo(world, done, outcome(transfer["metadata"])))
    return done


def give_back(world: State, transfer: Object) -> Object:
    """Begin to send an inbound transfer back; it is through, or refused, a little later."""
    pending = world.keep(TRANSFERS, {**transfer, "status": "return_pending"})
    world.put_off(ANSWERED_AFTER, lambda: _finish_return(world, pending))
    return pending


def _finish_return(world: State, transfer: Object) -> None:
    if outcome(transfer["metadata"]) == "return_failed":
        world.keep(TRANSFERS, {**transfer, "status": "succeeded"}, event="transfer.inbound.return_failed")
    else:
        _undo(world, transfer, "returned")


def _book(world: State, transfer: Object, signed: int) -> None:
    """A movement on the account, with the balance after it."""
    account = world.get(transfer["mode"], "accounts", transfer["account_number"]["account_id"])
    balance = account["available_balance"] + signed
    world.keep("accounts", {**account, "available_balance": balance})
    world.balances.book(account["id"], world.now(), signed)
    movement = {
        "id": world.new_id("mov"),
        "object": "movement",
        "mode": transfer["mode"],
        "account_id": account["id"],
        "amount": abs(signed),
        "balance": balance,
        "currency": account["currency"],
        "direction": "inbound" if signed > 0 else "outbound",
        "resource_id": transfer["id"],
        "return_pair_id": None,
        "transaction_date": to_iso(world.now()),
        "type": "transfer",
    }
    world.keep(MOVEMENTS, movement)


class Balances:
    """How far each account is from what was written of it, and since when."""

    def __init__(self, country: str) -> None:
        self._country = country
        self._moved: dict[str, list[tuple[datetime, int]]] = defaultdict(list)
        self._more: dict[str, int] = {}  # by transfer: how much larger it is than was written
        self._booked: set[str] = set()

    def book(self, account: str, at: datetime, signed: int) -> None:
        """Note money that was not written beforehand."""
        self._moved[account].append((at, signed))

    def off(self, account: str, at: datetime) -> int:
        """By how much the account held more than was written."""
        return sum(signed for moved_at, signed in self._moved.get(account, []) if moved_at <= at)

    def correct(self, collection: str, found: Object, at: datetime, worths: Mapping[str, int]) -> Object:
        """Return what the scenario wrote, as it is after all that happened; `worths` is how much larger payouts are."""
        if not self._moved and not worths:
            return found
        if collection == "transfers":
            return self._transfer(found, at, worths)
        if collection == "account_movements":
            return self._movement(found)
        if collection == "accounts":
            return {**found, "available_balance": found["available_balance"] + self.off(found["id"], at)}
        return self._statement(found) if collection == "account_statements" else found

    def _transfer(self, found: Object, at: datetime, worths: Mapping[str, int]) -> Object:
        if found["id"] not in self._more:
            swept = self.off(found["account_number"]["account_id"], at) if found.get("_sweep") else 0
            self._more[found["id"]] = worths.get(found.get("_payout", ""), swept)
        return {**found, "amount": found["amount"] + self._more[found["id"]]}

    def _movement(self, found: Object) -> Object:
        more, at = self._more.get(found["resource_id"], 0), to_moment(found["transaction_date"])
        if more and found["id"] not in self._booked:
            self._booked.add(found["id"])
            self.book(found["account_id"], at, more if found["direction"] == "inbound" else -more)
        balance = found["balance"] + self.off(found["account_id"], at)
        return {**found, "amount": found["amount"] + more, "balance": balance}

    def _statement(self, found: Object) -> Object:
        start_on, end_on = date.fromisoformat(found["start_date"]), date.fromisoformat(found["end_date"])
        moved = [(local_date(at, self._country), signed) for at, signed in self._moved.get(found["_account"], [])]
        inside = [signed for on, signed in moved if start_on <= on <= end_on]
        initial = found["initial_balance_cents"] + sum(signed for on, signed in moved if on < start_on)
        credited = found["total_credited_cents"] + sum(signed for signed in inside if signed > 0)
        debited = found["total_debited_cents"] - sum(signed for signed in inside if signed < 0)
        return {
            **found,
            "initial_balance_cents": initial,
            "final_balance_cents": initial + credited - debited,
            "total_credited_cents": credited,
            "total_debited_cents": debited,
        }
