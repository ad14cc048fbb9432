"""Checks that stop a run whose books do not balance: nothing lost, nothing twice, nothing beyond its amount."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pandas import DataFrame

from reconcile.rules.columns import Indices, Ints, join_keys, look_up, to_texts
from reconcile.rules.inputs import Result
from reconcile.rules.ledger import Ledger
from reconcile.rules.outcomes import Outcome
from reconcile.rules.payouts import DISPUTE


class ChecksFailed(RuntimeError):  # noqa: N818 - named for what happened
    """A result that must not be published; the message names the check and what broke it."""


def check_result(rows: DataFrame, ledger: Ledger, applied: DataFrame, result: Result) -> None:
    _check_every_item_once(rows, result.lines)
    _check_sums(rows, result.lines)
    _check_payouts(result)
    _check_payments(ledger, applied)
    _check_documents(ledger, applied, result.documents)


def _check_every_item_once(rows: DataFrame, lines: DataFrame) -> None:
    names = ["payout_id", "resource_type", "resource_id"]
    firsts = lines.loc[(lines["line"] == 1) & (lines["resource_type"] != DISPUTE), names]
    _require(len(firsts) == len(rows), f"{len(rows)} items went in and {len(firsts)} came out")
    if not _are_the_same(rows[names], firsts):
        came_out = join_keys(firsts, names).unique()
        _require(len(came_out) == len(firsts), "an item has two first lines")
        found = pc.sum(pc.is_in(join_keys(rows, names), value_set=came_out)).as_py() or 0
        _require(found == len(rows), f"{len(rows) - found} items have no line")
    _require(not (lines["outcome"] == Outcome.UNEXPLAINED).any(), "an item was left unexplained")


def _are_the_same(rows: DataFrame, firsts: DataFrame) -> bool:
    """Tell, where every id occurs once, whether each stands in a line of its own kind and payout."""
    places = pc.index_in(to_texts(rows["resource_id"]), value_set=to_texts(firsts["resource_id"]))
    if places.null_count or len(np.unique(places.to_numpy())) < len(rows):
        return False
    came_out = firsts.take(places.to_numpy())
    return all(
        to_texts(came_out[name]).fill_null("").equals(to_texts(rows[name]).fill_null(""))
        for name in ("payout_id", "resource_type")
    )


def _check_sums(rows: DataFrame, lines: DataFrame) -> None:
    items = lines.loc[lines["resource_type"] != DISPUTE, ["currency", "amount_signed"]]
    went_in = rows.groupby("currency")["signed"].sum().to_dict()
    came_out = items.groupby("currency")["amount_signed"].sum().to_dict()
    for currency, amount in went_in.items():
        other = came_out.get(currency)
        _require(other is not None and int(other) == int(amount), f"{currency}: {amount} in, {other} out")


def _check_payouts(result: Result) -> None:
    payouts = result.payouts.set_index("payout_id")
    is_own = result.lines["currency"] == look_up(result.lines["payout_id"], payouts["currency"])
    own = result.lines.loc[is_own, ["payout_id", "amount_signed"]]
    sums = own.groupby("payout_id")["amount_signed"].sum().reindex(payouts.index).fillna(0)
    wrong = payouts[(payouts["computed_amount"] + payouts["fee_total"]) != sums]
    _require(wrong.empty, f"payout {wrong.index[0] if len(wrong) else ''} is not the sum of its lines")
    wrong = payouts[payouts["payout_amount"] - payouts["computed_amount"] != payouts["difference"]]
    _require(wrong.empty, f"payout {wrong.index[0] if len(wrong) else ''} has a wrong difference")


def _check_payments(ledger: Ledger, applied: DataFrame) -> None:
    payments = applied["payment"].to_numpy()
    sums = _add_at(payments, applied, len(ledger.payments))
    is_beyond = (sums - ledger.payments.amount)[payments] > ledger.rules.amount_tolerance
    _require(not is_beyond.any(), "a payment was applied beyond its amount")


def _check_documents(ledger: Ledger, applied: DataFrame, documents: DataFrame) -> None:
    wanted, known = (pa.array(keys, type=pa.large_string()) for keys in (ledger.books.keys, documents["doc_key"]))
    places = pc.index_in(wanted, value_set=known)
    _require(places.null_count == 0, "a document is missing")
    paid = (
        documents["paid"].to_numpy(dtype="int64")[places.to_numpy(zero_copy_only=False).astype("int64")]
        + ledger.reopened * ledger.books.is_claim
    )
    expected = _add_at(applied["doc"].to_numpy(), applied, len(paid)) * ledger.books.is_claim
    _require(bool((paid == expected).all()), "a document's paid amount is not the sum of what was applied to it")


def _add_at(places: Indices, applied: DataFrame, count: int) -> Ints:
    """Add up what was applied at each of so many places."""
    sums = np.zeros(count, dtype=np.int64)
    np.add.at(sums, places, applied["applied"].to_numpy())
    return sums


def _require(holds: bool, message: str) -> None:  # noqa: FBT001 - reads as a sentence at every call
    if not holds:
        raise ChecksFailed(f"the result does not balance: {message}")
