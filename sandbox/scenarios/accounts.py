"""The business account as the provider tells it: holder, number, transfers, movements, balances, statements."""

from calendar import monthrange
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta

from sandbox.scenarios.calendar import at_local, local_date, next_month, previous_month
from sandbox.scenarios.chance import Chance
from sandbox.scenarios.institutions import institution_of
from sandbox.scenarios.ledger import Ledger, Transfer
from sandbox.scenarios.people import ACCOUNT_TYPES, Merchant, to_millis, to_object, to_provider_tax_id, to_seconds
from sandbox.state.happening import Happening
from sandbox.state.ids import draw
from sandbox.state.store import Object

OPENING_BALANCE = 4_350_000
DIRECTIONS = {True: "inbound", False: "outbound"}
NEVER_BOOKED = {"failed", "rejected"}
UNDOING: dict[str | None, dict[str, str]] = {
    "returned": {"status": "return_pending"},
    "return_failed": {"status": "return_pending"},
    "reversed": {"status": "reverse_pending"},
}


@dataclass(frozen=True, slots=True)
class Movement:
    """One line of the account."""

    id: str
    at: datetime
    amount: int
    inbound: bool
    transfer: str
    pair: str | None = None

    @property
    def signed(self) -> int:
        """Return what it does to the balance."""
        return self.amount if self.inbound else -self.amount


def choose_batched(transfers: list[Transfer]) -> list[Transfer]:
    """Return the transfers that are sent as a batch: the first the bank sent, and the first it refused."""
    sent = sorted((each for each in transfers if not each.inbound and not each.sweeps), key=lambda each: each.at)
    first = {each.undoing == "failed": each for each in reversed(sent)}
    return list(first.values())


@dataclass(slots=True)
class Teller:
    """Tells everything about one account of one merchant."""

    chance: Chance
    merchant: Merchant
    ledger: Ledger
    entity_id: str
    account_number: str
    account_id: str = field(init=False)
    number_id: str = field(init=False)
    batches: dict[str, str] = field(init=False)  # by transfer
    happenings: list[Happening] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.account_id = self.chance.id("acc")
        self.number_id = self.chance.id("acno", 24)
        self.batches = {sent.id: draw("trbatch", sent.id) for sent in choose_batched(self.ledger.transfers)}

    def tell(self) -> list[Happening]:
        """Return the account's whole life in this ledger."""
        opened_at = at_local(self.ledger.since, time(0), self.ledger.country) - timedelta(days=200)
        self.say(opened_at, "account_numbers", self.number(opened_at))
        self.say(opened_at, "accounts", self.account(OPENING_BALANCE))
        movements = self.transfers()
        balances = self.movements(sorted(movements, key=lambda movement: movement.at))
        self.statements(balances)
        return self.happenings

    def say(self, at: datetime, collection: str, thing: Object, event: str | None = None) -> None:
        """Note a happening."""
        self.happenings.append(Happening(at, collection, thing, event))

    def number(self, opened_at: datetime) -> Object:
        """Return the account's root number, the one payouts arrive on."""
        return to_object(
            "account_number",
            self.number_id,
            account_id=self.account_id,
            number=self.account_number,
            created_at=to_millis(opened_at),
            updated_at=to_millis(opened_at),
            description="Recaudación",
            metadata={},
            status="enabled",
            is_root=True,
            options={"min_amount": None, "max_amount": None},
            deleted_at=None,
            last_transfer_at=None,
        )

    def account(self, balance: int) -> Object:
        """Return the account with what it holds."""
        holder = {
            "id": self.entity_id,
            "holder_name": self.merchant.name,
            "holder_id": to_provider_tax_id(self.merchant.tax_id),
            "is_root": True,
        }
        return to_object(
            "account",
            self.account_id,
            root_account_number=self.account_number,
            root_account_number_id=self.number_id,
            is_root=True,
            available_balance=balance,
            currency=self.ledger.currency,
            entity=holder,
            description="Cuenta operativa",
            status="active",
        )

    def transfers(self) -> list[Movement]:
        """Tell every transfer, and return the movements they leave."""
        movements: list[Movement] = []
        for transfer in self.ledger.transfers:
            movements += self.transfer(transfer)
        return movements

    def transfer(self, transfer: Transfer) -> list[Movement]:
        """Return one transfer through its states."""
        if transfer.id in self.batches:
            self.batch(transfer)
        way = DIRECTIONS[transfer.inbound]
        done = self.wire(transfer)
        if not transfer.inbound:
            self.say(transfer.at - timedelta(seconds=20), "transfers", done | {"status": "pending", "post_date": None})
        if transfer.undoing in NEVER_BOOKED and transfer.undone_at is not None:
            ended = done | self.end_fields(transfer) | {"post_date": None}
            self.say(transfer.undone_at, "transfers", ended, f"transfer.{way}.{transfer.undoing}")
            return []
        self.say(transfer.at, "transfers", done, f"transfer.{way}.succeeded")
        moved = Movement(self.chance.id("mov", 24), transfer.at, transfer.amount, transfer.inbound, transfer.id)
        if transfer.undone_at is None:
            return [moved]
        self.say(transfer.undone_at - timedelta(minutes=5), "transfers", done | UNDOING[transfer.undoing])
        self.say(
            transfer.undone_at, "transfers", done | self.end_fields(transfer), f"transfer.{way}.{transfer.undoing}"
        )
        if transfer.undoing == "return_failed":
            return [moved]
        back_id = self.chance.id("mov", 24)
        back = Movement(back_id, transfer.undone_at, transfer.amount, not transfer.inbound, transfer.id, moved.id)
        return [moved, back]

    def batch(self, transfer: Transfer) -> None:
        """Tell the batch of this one transfer: asked for, approved an hour later, ended with the bank's answer."""
        sent_at = transfer.at - timedelta(seconds=20)
        asked_at, failed = sent_at - timedelta(hours=1), transfer.undoing == "failed"
        asked = to_object(
            "transfer_batch",
            self.batches[transfer.id],
            created_at=to_millis(asked_at),
            description="Pago a proveedores",
            currency=transfer.currency,
            amount=transfer.amount,
            settled_amount=0,
            status="pending_authorization",
            authorized_at=None,
        )
        sent = asked | {"status": "in_progress", "authorized_at": to_millis(sent_at)}
        ending = "failed" if failed else "succeeded"
        ended_at = transfer.undone_at if failed and transfer.undone_at is not None else transfer.at
        ended = sent | {"status": ending, "settled_amount": 0 if failed else transfer.amount}
        self.say(asked_at, "transfer_batches", asked)
        self.say(sent_at, "transfer_batches", sent, "transfer_batch.in_progress")
        self.say(ended_at, "transfer_batches", ended, f"transfer_batch.{ending}")

    def end_fields(self, transfer: Transfer) -> Object:
        """Return the fields in which a transfer says how it ended."""
        assert transfer.undone_at is not None
        at = to_seconds(transfer.undone_at)
        code, reason = transfer.reason
        endings: dict[str | None, Object] = {
            "failed": {"status": "failed", "error_reason": "invalid_recipient_account", "failed_at": at},
            "rejected": {"status": "rejected", "reject_reason": "unknown"},
            "returned": {"status": "returned", "return_reason": reason, "return_reason_code": code},
            "reversed": {"status": "reversed", "reversed_at": at},
            "return_failed": {"status": "succeeded"},
        }
        return endings[transfer.undoing]

    def wire(self, transfer: Transfer) -> Object:
        """Return a transfer that succeeded."""
        other, country = transfer.counterparty, self.ledger.country
        posted_on = local_date(transfer.at, country)
        return to_object("transfer", transfer.id,
amount=transfer.amount,
            currency=transfer.currency,
            direction=DIRECTIONS[transfer.inbound],
            status="succeeded",
            transaction_date=to_seconds(transfer.at),
            post_date=f"{posted_on.isoformat()}T00:00:00Z",
            comment=transfer.comment,
            reference_id=self.chance.digits(7),
            tracking_key=transfer.tracking_key,
            transfer_batch_id=self.batches.get(transfer.id),
            receipt_url=None,
            counterparty={
                "holder_id": to_provider_tax_id(other.tax_id),
                "holder_name": other.name,
                "account_number": other.account,
                "account_type": ACCOUNT_TYPES[country],
                "institution": institution_of(country, other.account, other.institution),
                "email": None,
            },
            account_number={"id": self.number_id, "object": "account_number", "account_id": self.account_id,
                               "number": self.account_number},
            metadata={},
            return_reason=None,
            return_reason_code=None,
            error_reason=None,
            reject_reason=None,
            failed_at=None,
            rejected_at=None,
            reversed_at=None,
            _payout=transfer.payout,
            _sweep=transfer.sweeps,
        )  # fmt: skip

    def movements(self, movements: list[Movement]) -> list[tuple[Movement, int]]:
        """Tell every movement with the balance it leaves."""
        balance, balances = OPENING_BALANCE, []
        pairs = {m.pair: m.id for m in movements if m.pair is not None}
        for movement in movements:
            balance += movement.signed
            balances.append((movement, balance))
            first = self.line(movement, balance, pair=movement.pair)
            self.say(movement.at, "account_movements", first)
            self.say(movement.at, "accounts", self.account(balance))
            if movement.id in pairs:
                answer = next(m for m in movements if m.pair == movement.id)
                self.say(answer.at, "account_movements", first | {"return_pair_id": answer.id})
        return balances

    def line(self, movement: Movement, balance: int, *, pair: str | None) -> Object:
        """Return a movement: an unsigned amount and a direction."""
        return to_object(
            "movement",
            movement.id,
            account_id=self.account_id,
            amount=movement.amount,
            balance=balance,
            currency=self.ledger.currency,
            direction=DIRECTIONS[movement.inbound],
            resource_id=movement.transfer,
            return_pair_id=pair,
            transaction_date=to_millis(movement.at),
            type="transfer",
        )

    def statements(self, balances: list[tuple[Movement, int]]) -> None:
        """A statement for every whole month up to the last day, written on the first of the next one."""
        by_month: dict[date, list[int]] = defaultdict(list)
        for movement, _ in balances:
            by_month[local_date(movement.at, self.ledger.country).replace(day=1)].append(movement.signed)
        month = previous_month(self.ledger.since.replace(day=1))
        opening = OPENING_BALANCE
        while (following := next_month(month)) <= self.ledger.until:
            moved = by_month[month]
            written_at = at_local(following, time(6), self.ledger.country)
            self.say(written_at, "account_statements", self.statement(month, written_at, opening, moved))
            opening += sum(moved)
            month = following

    def statement(self, month: date, written_at: datetime, opening: int, moved: list[int]) -> Object:
        """Return one month's totals, in minor units for all that the names say cents."""
        return to_object(
            "account_statement",
            self.chance.id("acst"),
            created_at=to_millis(written_at),
            start_date=month.isoformat(),
            end_date=month.replace(day=monthrange(month.year, month.month)[1]).isoformat(),
            initial_balance_cents=opening,
            final_balance_cents=opening + sum(moved),
            total_credited_cents=sum(amount for amount in moved if amount > 0),
            total_debited_cents=-sum(amount for amount in moved if amount < 0),
            download_url=f"https://estados.example/{month:%Y-%m}.pdf",
            _account=self.account_id,
        )
