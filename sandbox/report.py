"""The files the provider and the merchant's own systems hand out: payout report, invoices, bank lines."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping

from sandbox.engine.payday import RESOURCES, subtype_of
from sandbox.engine.world import MODES, TEST, World
from sandbox.scenarios.bank import tell_bank_file
from sandbox.scenarios.books import to_major, write_books
from sandbox.scenarios.calendar import local_date
from sandbox.state.happening import BankFile
from sandbox.state.refusal import missing_resource
from sandbox.state.store import Object

# Of a split payment `amount` is the whole and `share_amount` what of it is the merchant's own.
PAYOUT_COLUMNS = ("id", "created_at", "amount", "fee", "resource_type", "resource_subtype", "share_amount")
BANK_COLUMNS = ("date", "description", "amount", "currency")


def payout_report(world: World, payout_id: str) -> str:
    """Return the provider's CSV of one payout: a row for each resource, with the fee that was taken."""
    mode = next((mode for mode in MODES if payout_id in world.collection(mode, "payouts")), None)
    if mode is None:
        raise missing_resource("payout", payout_id)
    rows = (_payout_row(world, mode, item) for item in world.payout_items[payout_id])
    return _write(PAYOUT_COLUMNS, rows, delimiter=";")


def _payout_row(world: World, mode: str, item: Object) -> dict[str, object]:
    type_ = item["resource_type"]
    resource = world.get(mode, RESOURCES[type_], item["resource"])
    return {
        "id": resource["id"],
        "created_at": resource["created_at"],
        "amount": -resource["amount"] if type_ == "refund" else resource["amount"],
        "fee": item["_fee"],
        "resource_type": "refund" if type_ == "refund_adjustment" else type_,
        "resource_subtype": _subtype(type_, resource),
        "share_amount": item["_amount"],
    }


def _subtype(type_: str, resource: Object) -> str:
    if type_ == "charge":
        return "pac"
    return subtype_of(resource) if type_ == "payment_intent" else ""


def invoices(world: World, variant: str = "plain") -> Iterator[bytes]:
    """Return the merchant's books as far as they are known by now. Raise ValueError that lists the variants."""
    known = (document for document in world.scenario.documents if document.known_at <= world.now())
    return write_books(known, variant)


def bank(world: World) -> str:
    """Return the merchant's bank lines: of the account the provider shows too, else of a bank outside."""
    if world.scenario.bank_file is not None:
        return _bank_file(world, world.scenario.bank_file)
    return _lines_outside(world)


def _bank_file(world: World, file: BankFile) -> str:
    """Return every movement up to now of the account the file is of."""
    accounts = world.collection(TEST, "accounts").newest_first()
    own = {account["id"] for account in accounts if account["root_account_number"] == file.account}
    movements = world.collection(TEST, "account_movements").newest_first()
    lines = tell_bank_file(
        file,
        (movement for movement in movements if movement["account_id"] in own),
        lambda transfer: world.get(TEST, "transfers", transfer),
        world.scenario.country,
    )
    return _write(BANK_COLUMNS, lines)


def _lines_outside(world: World) -> str:
    """Return the lines up to today, in the columns of the scenario, as payouts are by now."""
    lines, today = world.scenario.bank_lines, local_date(world.now(), world.scenario.country).isoformat()
    rows = [_as_paid_out(world, line) for line in lines if line["date"] <= today]
    return _write(tuple(lines[0]) if lines else (), rows)


def _as_paid_out(world: World, line: Mapping[str, str]) -> Mapping[str, str]:
    more = world.payday.worths.get(line.get("reference", ""))
    if more is None:
        return line
    payout = world.get(TEST, "payouts", line["reference"])
    return {**line, "amount": to_major(payout["amount"], payout["currency"])}


def _write(columns: tuple[str, ...], rows: Iterable[Mapping[str, object]], *, delimiter: str = ",") -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
