"""Money in and out of a Mexican business account by SPEI: collected all day, swept out each afternoon."""

from dataclasses import replace
from datetime import date, datetime, time, timedelta

from sandbox.scenarios.accounts import OPENING_BALANCE
from sandbox.scenarios.calendar import at_local, bank_days, local_date
from sandbox.scenarios.chance import Chance
from sandbox.scenarios.ledger import Ledger, Transfer
from sandbox.scenarios.people import Person
from sandbox.scenarios.wire import Merchant

SWEEP = time(17, 30)
EVERY, BACK, WRONG, ECHO = 9, 4, 6, 12  # on which bank days, counted from the first, something goes wrong
ODD_ENDS = {2: "rejected", 8: "return_failed", 26: "rejected"}
STAYS = {None, "return_failed"}
REASONS = (("01", "non_existing_account"), ("03", "canceled_account"), ("20", "exceeds_account_limit"))


def collect_and_sweep(ledger: Ledger, chance: Chance, merchant: Merchant) -> None:
    """Each bank day some transfers come in, one in a while is sent back, and the balance leaves at half past five."""
    own = Person("", merchant.name, merchant.tax_id, "", merchant.account, merchant.institution)
    balance = OPENING_BALANCE
    for place, on in enumerate(bank_days(ledger.since, ledger.until, "mx")):
        arrived = [receive(chance, ledger, on) for _ in range(chance.whole(1, 3))]
        if place % EVERY == BACK:
            arrived[0] = give_back(chance, arrived[0])
        if place in ODD_ENDS:
            arrived.append(receive(chance, ledger, on))
            arrived[-1] = replace(give_back(chance, arrived[-1]), undoing=ODD_ENDS[place])
        if place == ECHO:
            arrived.append(echo(chance, arrived[0], on))
        ledger.transfers += arrived
        balance += sum(transfer.amount for transfer in arrived if transfer.undoing in STAYS)
        if place % EVERY == WRONG:
            ledger.transfers.append(pay_wrongly(chance, ledger, on, place))
        swept_at = at_local(on, SWEEP, "mx") + timedelta(seconds=chance.whole(1, 90))
        ledger.transfers.append(replace(send(chance, swept_at, balance, own, "Daily settlement"), sweeps=True))
        balance = 0


def receive(chance: Chance, ledger: Ledger, on: date) -> Transfer:
    """A customer's transfer before the sweep."""
    at = chance.moment(on, since=time(8), until=time(15))
    return Transfer(
        chance.id("tr", 27), at, chance.whole(50_000, 4_000_000), ledger.currency, inbound=True,
        counterparty=chance.company(), comment=f"PAGO {chance.digits(5)}", tracking_key=to_key(chance, at),
    )  # fmt: skip


def give_back(chance: Chance, transfer: Transfer) -> Transfer:
    """The same transfer, returned to its sender within the hour."""
    reason = chance.pick(REASONS)
    return replace(transfer, undoing="returned", undone_at=chance.later(transfer.at, 600, 3_600), reason=reason)


def echo(chance: Chance, transfer: Transfer, on: date) -> Transfer:
    """Another transfer of another bank and moment that bears the same tracking key."""
    at = chance.moment(on, since=time(8), until=time(15))
    return replace(transfer, id=chance.id("tr", 27), at=at, counterparty=chance.company(), amount=transfer.amount + 100,
                   undoing=None, undone_at=None)  # fmt: skip


def pay_wrongly(chance: Chance, ledger: Ledger, on: date, place: int) -> Transfer:
    """A supplier's account that no longer exists: the money is back before the sweep."""
    at = chance.moment(on, since=time(15, 30), until=time(16))
    sent = send(chance, at, chance.whole(10_000, 40_000), chance.company(), "proveedor")
    return replace(sent, currency=ledger.currency, undoing="returned", undone_at=chance.later(at, 600, 4_000),
                   reason=REASONS[place % len(REASONS)])  # fmt: skip


def send(chance: Chance, at: datetime, amount: int, payee: Person, comment: str) -> Transfer:
    """A transfer to somebody."""
    return Transfer(chance.id("tr", 27), at, amount, "MXN", inbound=False, counterparty=payee, comment=comment,
                    tracking_key=to_key(chance, at))  # fmt: skip


def to_key(chance: Chance, at: datetime) -> str:
    """A SPEI tracking key: the day and what the issuer makes of it."""
    return f"{local_date(at, 'mx'):%Y%m%d}{chance.digits(20)}"
