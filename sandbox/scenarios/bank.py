"""Money in and out of the merchant's account: payouts arriving, ordinary transfers, SPEI, and the bank's own file."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta

from sandbox.scenarios.accounts import OPENING_BALANCE
from sandbox.scenarios.books import to_major
from sandbox.scenarios.calendar import add_bank_days, at_local, bank_day, bank_days, local_date
from sandbox.scenarios.chance import Chance
from sandbox.scenarios.ledger import Ledger, Payout, Transfer
from sandbox.scenarios.people import Merchant, Person, to_rut
from sandbox.state.happening import BankFile
from sandbox.state.store import Object

PROVIDER = Person(
    "", "Pasarela de Pagos SpA", to_rut(77_123_456), "pagos@pasarela.example", "0004455667", "cl_banco_bice"
)
AWAITED = timedelta(days=5)
APART = 0.12
SWEEP = time(17, 30)
EVERY, BACK, WRONG, ECHO = 9, 4, 6, 12  # on which bank days, counted from the first, something goes wrong
ODD_ENDS = {2: "rejected", 8: "return_failed", 26: "rejected"}
STAYS = {None, "return_failed"}
REASONS = (("01", "non_existing_account"), ("03", "canceled_account"), ("20", "exceeds_account_limit"))
# Who bills the fees, by country.
PROVIDER_TAX_IDS = {"cl": PROVIDER.tax_id, "mx": "PPA180214QX1"}


@dataclass(frozen=True, slots=True)
class Arrivals:
    """The payouts that do not arrive as they should, by id."""

    absent: set[str]
    slow: set[str]
    clipped: set[str]


def receive(ledger: Ledger, chance: Chance, days: list[date]) -> None:
    """Let payouts arrive within half an hour, but for one that never does, one slow and one clipped on these days."""
    ledger.has_bank = True
    plain = [payout for payout in ledger.payouts if _is_plain(payout, ledger, days)]
    lonely = _keep_apart(sorted(plain, key=lambda payout: -_distance(payout, ledger)))
    lost, slow, clipped = chance.order(lonely[:3])
    arrive(ledger, chance, Arrivals({lost.id}, {slow.id}, {clipped.id}))


def receive_mostly(ledger: Ledger, chance: Chance, days: list[date], *, absent: int, clipped: int) -> None:
    """Let payouts arrive, but for as many of these days as far from all others in size as asked for."""
    ledger.has_bank = True
    plain = [payout for payout in ledger.payouts if _is_plain(payout, ledger, days)]
    far = _keep_apart([p for p in sorted(plain, key=lambda p: -_distance(p, ledger)) if _distance(p, ledger) > APART])
    chosen = [payout.id for payout in chance.order(far)][: absent + clipped]
    arrive(ledger, chance, Arrivals(set(chosen[:absent]), set(), set(chosen[absent:])))


def arrive(ledger: Ledger, chance: Chance, arrivals: Arrivals) -> None:
    """Book every payout that succeeded and was not sent back."""
    for place, payout in enumerate(ledger.payouts):
        if payout.succeeded_at is None or payout.returned_at is not None or payout.id in arrivals.absent:
            continue
        arrived_at = chance.later(payout.succeeded_at, 120, 1_800)
        if payout.id in arrivals.slow:
            late_on = add_bank_days(local_date(payout.created_at, ledger.country), 3, ledger.country)
            arrived_at = chance.moment(late_on, since=time(9), until=time(12))
        arrived = payout.amount - (chance.whole(1_500, 9_000) if payout.id in arrivals.clipped else 0)
        ledger.payouts[place] = replace(payout, arrived_at=arrived_at, arrived=arrived)


def _is_plain(payout: Payout, ledger: Ledger, days: list[date]) -> bool:
    """Return whether a payout has no other trouble and falls on one of these days."""
    quick = payout.succeeded_at is not None and payout.succeeded_at < payout.created_at + timedelta(hours=5)
    spoiled = payout.returned_at is not None or payout.short_by or payout.disputes
    return quick and not spoiled and local_date(payout.created_at, ledger.country) in days


def _distance(payout: Payout, ledger: Ledger) -> float:
    """Return how far, in parts of its amount, the nearest payout of the days lies in which this one is awaited."""
    near = (p for p in ledger.payouts if timedelta() < p.created_at - payout.created_at < AWAITED)
    return min((abs(p.amount - payout.amount) / payout.amount for p in near), default=1.0)


def _keep_apart(payouts: list[Payout]) -> list[Payout]:
    """Return the payouts, best first, without those about as large as one before them."""
    kept: list[Payout] = []
    for payout in payouts:
        if all(abs(other.amount - payout.amount) > APART * payout.amount for other in kept):
            kept.append(payout)
    return kept


def keep_house(ledger: Ledger, chance: Chance) -> None:
    """The account's traffic: payouts, small money in, suppliers paid, transfers failed, sent back and reversed."""
    keep_account(ledger, chance)
    mishandle(ledger, chance)


def keep_account(ledger: Ledger, chance: Chance) -> None:
    """Payouts as they arrive, small money in, suppliers paid."""
    for payout in ledger.payouts:
        if payout.arrived_at is not None:
            named = payout.arrived != payout.amount or chance.happens(60)
            comment = f"Liquidacion {payout.id}" if named else "Liquidacion diaria"
            ledger.transfers.append(Transfer(chance.id("tr", 27), payout.arrived_at, payout.arrived, ledger.currency,
                                          inbound=True, counterparty=PROVIDER, comment=comment,
                                          payout=payout.id))  # fmt: skip
    day = ledger.since
    while day < ledger.until - timedelta(days=8):
        inbound = chance.happens(50)
        amount = chance.whole(12_000, 60_000) if inbound else chance.whole(80_000, 900_000)
        ledger.transfers.append(draft(ledger, chance, day, amount, inbound=inbound))
        day += timedelta(days=chance.whole(2, 4))


def mishandle(ledger: Ledger, chance: Chance) -> None:
    """Transfers that fail, are sent back or reversed."""
    for undoing, days in (("failed", 9), ("returned", 12), ("failed", 39), ("returned", 44)):
        sent = draft(ledger, chance, ledger.since + timedelta(days=days), chance.whole(80_000, 900_000), inbound=False)
        after = chance.later(sent.at, 60, 300) if undoing == "failed" else chance.later(sent.at, 7_200, 30_000)
        ledger.transfers.append(replace(sent, undoing=undoing, undone_at=after))
    for inbound, days in ((True, 6), (False, 41)):
        on = ledger.since + timedelta(days=days)
        moved = draft(ledger, chance, on, chance.whole(12_000, 60_000), inbound=inbound)
        after = chance.later(moved.at, 7_200, 30_000)
        ledger.transfers.append(replace(moved, undoing="reversed", undone_at=after))


def draft(ledger: Ledger, chance: Chance, on: date, amount: int, *, inbound: bool) -> Transfer:
    """Return a transfer from or to a company that occurs only once."""
    at = chance.moment(on, since=time(9), until=time(18))
    comment = chance.pick(
        ("reembolso gastos", "aporte caja", "devolucion garantia") if inbound else ("proveedor", "OC")
    )
    return Transfer(chance.id("tr", 27), at, amount, ledger.currency, inbound, chance.company(), comment)


def withhold(ledger: Ledger, account: str, since: date) -> None:
    """Keep one deposit of no payout out of the bank's own file: the first since then, or the last before.

    Other money moved no later than the deposit, and on the last day on which a file may book it, so that the file
    speaks of both days.
    """
    country = ledger.country
    booked = sorted((other for other in ledger.transfers if other.undoing != "failed"), key=lambda other: other.at)
    days = [local_date(other.at, country) for other in booked]
    fit = [
        transfer
        for place, transfer in enumerate(booked)
        if transfer.inbound and not transfer.payout and transfer.undoing is None
        if place and last_bank_day(transfer.at, country) in days[:place] + days[place + 1 :]
    ]
    coming = [transfer.id for transfer in fit if local_date(transfer.at, country) >= since]
    ledger.bank_file = BankFile(account, next(iter(coming), fit[-1].id if fit else None))


def last_bank_day(at: datetime, country: str) -> date:
    """Return the last day on which a bank's own file may book what moved at this moment."""
    return max(local_date(at, country), bank_day(at, country))


def tell_bank_file(
    file: BankFile, movements: Iterable[Object], transfer: Callable[[str], Object], country: str
) -> list[dict[str, str]]:
    """Return the file's lines, oldest first: the movements of its account but for the one it lacks."""
    lines = []
    for movement in sorted(movements, key=lambda row: str(row["transaction_date"])):
        if movement["resource_id"] == file.lacks:
            continue
        amount = to_major(movement["amount"], movement["currency"])
        lines.append({
            "date": local_date(datetime.fromisoformat(movement["transaction_date"]), country).isoformat(),
            "description": transfer(movement["resource_id"])["comment"] or "",
            "amount": amount if movement["direction"] == "inbound" else f"-{amount}",
            "currency": movement["currency"],
        })  # fmt: skip
    return lines


def collect_and_sweep(ledger: Ledger, chance: Chance, merchant: Merchant) -> None:
    """Each bank day some transfers come in, one in a while is sent back, and the balance leaves at half past five."""
    own = Person("", merchant.name, merchant.tax_id, "", merchant.account, merchant.institution)
    balance = OPENING_BALANCE
    for place, on in enumerate(bank_days(ledger.since, ledger.until, "mx")):
        arrived = [receive_spei(chance, ledger, on) for _ in range(chance.whole(1, 3))]
        if place % EVERY == BACK:
            arrived[0] = return_spei(chance, arrived[0])
        if place in ODD_ENDS:
            arrived.append(receive_spei(chance, ledger, on))
            arrived[-1] = replace(return_spei(chance, arrived[-1]), undoing=ODD_ENDS[place])
        if place == ECHO:
            arrived.append(echo_spei(chance, arrived[0], on))
        ledger.transfers += arrived
        balance += sum(transfer.amount for transfer in arrived if transfer.undoing in STAYS)
        if place % EVERY == WRONG:
            ledger.transfers.append(pay_wrongly(chance, ledger, on, place))
        swept_at = at_local(on, SWEEP, "mx") + timedelta(seconds=chance.whole(1, 90))
        ledger.transfers.append(replace(send_spei(chance, swept_at, balance, own, "Daily settlement"), sweeps=True))
        balance = 0


def receive_spei(chance: Chance, ledger: Ledger, on: date) -> Transfer:
    """Return a customer's transfer before the sweep."""
    at = chance.moment(on, since=time(8), until=time(15))
    return Transfer(
        chance.id("tr", 27), at, chance.whole(50_000, 4_000_000), ledger.currency, inbound=True,
        counterparty=chance.company(), comment=f"PAGO {chance.digits(5)}", tracking_key=to_tracking_key(chance, at),
    )  # fmt: skip


def return_spei(chance: Chance, transfer: Transfer) -> Transfer:
    """Return the same transfer, returned to its sender within the hour."""
    reason = chance.pick(REASONS)
    return replace(transfer, undoing="returned", undone_at=chance.later(transfer.at, 600, 3_600), reason=reason)


def echo_spei(chance: Chance, transfer: Transfer, on: date) -> Transfer:
    """Another transfer of another bank and moment that bears the same tracking key."""
    at = chance.moment(on, since=time(8), until=time(15))
    return replace(transfer, id=chance.id("tr", 27), at=at, counterparty=chance.company(), amount=transfer.amount + 100,
                   undoing=None, undone_at=None)  # fmt: skip


def pay_wrongly(chance: Chance, ledger: Ledger, on: date, place: int) -> Transfer:
    """Return a supplier's account that no longer exists: the money is back before the sweep."""
    at = chance.moment(on, since=time(15, 30), until=time(16))
    sent = send_spei(chance, at, chance.whole(10_000, 40_000), chance.company(), "proveedor")
    return replace(sent, currency=ledger.currency, undoing="returned", undone_at=chance.later(at, 600, 4_000),
                   reason=REASONS[place % len(REASONS)])  # fmt: skip


def send_spei(chance: Chance, at: datetime, amount: int, payee: Person, comment: str) -> Transfer:
    """Return an outbound transfer."""
    return Transfer(chance.id("tr", 27), at, amount, "MXN", inbound=False, counterparty=payee, comment=comment,
                    tracking_key=to_tracking_key(chance, at))  # fmt: skip


def to_tracking_key(chance: Chance, at: datetime) -> str:
    """Return a SPEI tracking key: the day and what the issuer makes of it."""
    return f"{local_date(at, 'mx'):%Y%m%d}{chance.digits(20)}"
