"""Damages of payments: what they say, who they say pays, and what they carry."""

import json
from collections import Counter
from typing import Any

from tests.benchmarks.accuracy.noise import Trade, said_by
from tests.benchmarks.accuracy.scoring import Row

GENERIC = ("66666666-6", "44444446-0", "55555555-5", "XAXX010101000", "XEXX010101000")
LOOSE = ("pago {0} del 12", "PED{0}", "Factura N° 000{0} / 2 cuotas", "ped. {0} tel 569", "factura {0} y {1}",
         "transf {0} 30 dias")  # fmt: skip


def lose_metadata(trade: Trade) -> None:
    """Every fourth payment says nothing in its metadata."""
    for row in trade.some(0.25):
        row["metadata"] = None


def lose_tax_ids(trade: Trade) -> None:
    """Every third payment has neither customer nor sender."""
    for row in trade.some(0.33):
        row["customer_tax_id"] = row["sender_tax_id"] = None


def mistype_orders(trade: Trade) -> None:
    """One digit of every tenth order reference is another one, which may well be a neighbour's order."""
    for row in trade.some(0.1):
        _respell(trade, row, ("order_ref", "order_id"), _another_digit)


def swap_digits(trade: Trade) -> None:
    """Two neighbouring digits of a tenth of all keys stand the wrong way round."""
    for row in trade.some(0.1):
        _respell(trade, row, ("order_ref", "order_id", "folio", "invoice"), _turned_digits)


def swap_senders(trade: Trade) -> None:
    """Every twentieth payment bears the tax id of some other payer."""
    known = [row["sender_tax_id"] for row in trade.payments.values() if row["sender_tax_id"]]
    for row in trade.some(0.05):
        if row["sender_tax_id"]:
            row["sender_tax_id"] = trade.random.choice(known)


def cross_keys(trade: Trade) -> None:
    """Every twelfth payment exchanged what it says with another one's."""
    chosen = [row for row in trade.some(0.08) if row["metadata"]]
    for one, other in zip(chosen[::2], chosen[1::2], strict=False):
        one["metadata"], other["metadata"] = other["metadata"], one["metadata"]


def pay_through_the_holding(trade: Trade) -> None:
    """Companies belong to groups of four, and every third payment comes from the first one's account, unsigned else."""
    owners = sorted({row["customer_tax_id"] for row in trade.claims() if row["customer_tax_id"]})
    heads = {owner: owners[place - place % 4] for place, owner in enumerate(owners)}
    for row in trade.some(0.33):
        owner = row["customer_tax_id"] or row["sender_tax_id"]
        if owner in heads:
            row["customer_tax_id"], row["sender_tax_id"] = None, heads[owner]


def sign_as_nobody(trade: Trade) -> None:
    """A quarter of the payments and documents bear the tax id that stands for foreigners or for the public."""
    for row in trade.some(0.25):
        row["customer_tax_id"] = row["sender_tax_id"] = trade.random.choice(GENERIC)
    for document in trade.claims():
        if trade.random.random() < 0.25:
            document["customer_tax_id"] = trade.random.choice(GENERIC)


def write_references_loosely(trade: Trade) -> None:
    """Half of the keys move into the comment, with other prefixes, zeros and spaces, beside other numbers."""
    for row in trade.some(0.5):
        words = said_by(row)
        name = next((name for name in ("order_ref", "order_id", "folio") if name in words), None)
        if name:
            digits = "".join(sign for sign in str(words[name]) if sign.isdigit())
            neighbour = int(digits) + trade.random.choice((-2, -1, 1, 2))
            row["metadata"], row["texts"] = None, trade.random.choice(LOOSE).format(digits, neighbour)


def pad_keys(trade: Trade) -> None:
    """Keys are written with zeros before them, in small letters, or with the kind of document in front."""
    for row in trade.some(0.5):
        words = said_by(row)
        for name in ("folio", "order_ref", "order_id"):
            if name in words:
                value = str(words[name])
                words[name] = trade.random.choice((f"00{value}", value.lower(), f" {value} ", f"F-{value}"))
        row["metadata"] = json.dumps(words) if words else row["metadata"]


def rewrite_keys(trade: Trade) -> None:
    """Half of the keys stand in other writing, a third of those under a name of the shop's own."""
    for row in trade.some(0.5):
        words = said_by(row)
        for name in ("folio", "order_ref", "order_id", "invoice"):
            if name in words:
                value = _rewritten(trade, str(words.pop(name)))
                words[trade.random.choice((name, name, "pedido"))] = value
        row["metadata"] = json.dumps(words) if words else row["metadata"]


def round_amounts(trade: Trade) -> None:
    """A third of the payments are rounded: a peso off, or to whole tens as cash is."""
    for row in trade.some(0.33):
        amount = int(row["amount"])
        row["amount"] = trade.random.choice((amount - 1, amount + 1, (amount + 5) // 10 * 10))


def pay_in_other_money(trade: Trade) -> None:
    """A tenth of the documents ask for dollars, by the same number."""
    alike = Counter(trade.equals.values())
    for row, document in trade.some_paid(0.1):
        if alike[trade.equals[document["doc_key"]]] > 1:
            continue
        document["currency"] = "USD"
        trade.meant[row["resource_id"]] = set()


def pay_over_several(trade: Trade) -> None:
    """Two payments of one customer become one, with or without the first key, over one document and half of another."""
    pairs = [(row, document) for row, document in trade.some_paid(0.5) if row["customer_tax_id"]]
    by_customer: dict[Any, list[tuple[Row, Row]]] = {}
    for pair in pairs:
        by_customer.setdefault(pair[1]["customer_tax_id"], []).append(pair)
    for group in by_customer.values():
        for (row, first), (other, second) in zip(group[::2], group[1::2], strict=False):
            row["amount"] = int(first["total"]) + int(second["total"]) // 2
            row["metadata"] = row["metadata"] if trade.random.random() < 0.5 else None
            trade.meant[row["resource_id"]] = {first["doc_key"], second["doc_key"]}
            other["amount"], other["metadata"] = int(second["total"]) - int(second["total"]) // 2, None


def _rewritten(trade: Trade, value: str) -> str:
    mark, head = trade.random.choice((" ", "-", "_", "/", ".", "")), trade.random.choice(("", "", "#", "N° ", "No."))
    said = head + value.replace("-", mark)
    wide = "".join(chr(ord(sign) + 0xFEE0) if sign.isdigit() else sign for sign in said)
    return str(trade.random.choice((said, said.lower(), wide)))


def _respell(trade: Trade, row: Row, names: tuple[str, ...], spell: Any) -> None:
    words = said_by(row)
    for name in names:
        if name in words:
            words[name] = spell(trade, str(words[name]))
    row["metadata"] = json.dumps(words) if words else row["metadata"]


def _another_digit(trade: Trade, value: str) -> str:
    places = [place for place, sign in enumerate(value) if sign.isdigit()]
    place = trade.random.choice(places)
    return f"{value[:place]}{trade.random.randrange(10)}{value[place + 1 :]}"


def _turned_digits(trade: Trade, value: str) -> str:
    places = [place for place in range(len(value) - 1) if value[place : place + 2].isdigit()]
    place = trade.random.choice(places[-3:]) if places else 0
    return f"{value[:place]}{value[place + 1 : place + 2]}{value[place : place + 1]}{value[place + 2 :]}"
