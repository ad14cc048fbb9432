"""Accounts whose life the scenario wrote beforehand: what requests moved on them shows in everything told later."""

from collections import defaultdict
from collections.abc import Mapping
from datetime import date, datetime

from sandbox.scenarios.calendar import local_date
from sandbox.state.clock import to_moment
from sandbox.state.collection import Object


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
        """What the scenario wrote, as it is after all that happened; `worths` is how much larger payouts are."""
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
