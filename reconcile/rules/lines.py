"""The rows of payout-detail: every item beside the documents it was applied to, sums only on its first row."""

from typing import Any

import numpy as np
import pandas as pd
from pandas import DataFrame

from reconcile.rules.columns import in_total_order, looked_up
from reconcile.rules.disputes import PlacedDispute
from reconcile.rules.fees import Fees
from reconcile.rules.inputs import LINES, MOMENT, MONEY, TEXT, Inputs, empty, records, typed
from reconcile.rules.ledger import Ledger
from reconcile.rules.notes import notes_of
from reconcile.rules.outcomes import Outcome, Stage
from reconcile.rules.payouts import DISPUTE, PAYMENT_TYPES, REFUND, REFUND_ADJUSTMENT
from reconcile.rules.timing import bank_days, local_times

_MOST_LISTED = 20
_SUMMED = ["amount_signed", "fee_total", "fee_net", "fee_vat", "net_amount"]
_SHOWN_UNAPPLIED = (Outcome.SUGGESTED, Outcome.DUPLICATE)
_CARDS = ("credit_card", "debit_card", "prepaid_card")
_DOCUMENT = {
    "doc_type": "doc_type",
    "doc_series": "series",
    "doc_folio": "folio",
    "doc_uuid": "uuid",
    "doc_date": "issue_date",
    "doc_due_date": "due_date",
    "doc_total": "total",
    "doc_key": "doc_key",
}


def build_lines(
    rows: DataFrame, fees: Fees, ledger: Ledger, applied: DataFrame, *, disputes: list[PlacedDispute], inputs: Inputs
) -> DataFrame:
    """Give one row per item and document applied, in total order; exception codes are added later."""
    items = _items(rows, fees, ledger, inputs)
    shown = pd.concat([applied, _unapplied(ledger)], ignore_index=True)
    shown = shown.assign(item=ledger.payments.frame["row"].to_numpy()[shown["payment"].to_numpy(dtype=np.int64)])
    lines = items.merge(shown.sort_values(["payment", "doc"]), left_on="item", right_on="item", how="left")
    lines["line"] = lines.groupby("item", sort=False).cumcount() + 1
    for name in _SUMMED:
        lines[name] = lines[name].mask(lines["line"] > 1)
    lines = lines.rename(columns={"applied": "applied_amount", "balance_after": "doc_balance_after"})
    lines = _with_documents(lines, ledger, inputs.country)
    whole = pd.concat([typed(lines, LINES), _dispute_lines(disputes, inputs)], ignore_index=True)
    return _in_order(whole, inputs.payouts)


def _items(rows: DataFrame, fees: Fees, ledger: Ledger, inputs: Inputs) -> DataFrame:
    payment_at = _payment_of(rows, ledger)
    items = DataFrame({
        "item": np.arange(len(rows)),
        "amount_signed": rows["signed"].astype("Int64"),
        "occurred_at_utc": rows["occurred_at"],
        "customer_tax_id": rows["customer_tax_id"].fillna(rows["sender_tax_id"]),
        "expected_doc": _expected_documents(rows, inputs.country),
        "exception_code": pd.Series(pd.NA, index=rows.index, dtype=TEXT),
        "note": notes_of(rows, payment_at, ledger, inputs),
    })  # fmt: skip
    for name in ("payout_id", "resource_type", "resource_subtype", "resource_id", "source_event_id", "local_date"):
        items[name] = rows[name]
    for name in ("local_time", "bank_day", "currency", "customer_name"):
        items[name] = rows[name]
    for name in ("fee_total", "fee_net", "fee_vat"):
        items[name] = fees.items[name]
    items["net_amount"] = items["amount_signed"] - items["fee_total"]
    words = _words(ledger) | {"order_ref": np.array([*ledger.payments.order_ref, None], dtype=object)}
    for name, values in words.items():
        items[name] = values[payment_at]
    _override(items, rows)
    return items


def _payment_of(rows: DataFrame, ledger: Ledger) -> Any:
    """Give each row's payment, wherever the row stands; the last place stands for none."""
    frame = ledger.payments.frame
    payment_at = np.full(len(rows), len(frame), dtype=np.int64)
    payment_at[frame["row"].to_numpy()] = np.arange(len(frame))
    elsewhere = rows[(rows["place"] != "home") & rows["resource_type"].isin(PAYMENT_TYPES)]
    if not elsewhere.empty:
        names = ["resource_type", "resource_id"]
        found = elsewhere[names].merge(frame[names].assign(payment=np.arange(len(frame))), on=names, how="left")
        payment_at[elsewhere.index.to_numpy()] = found["payment"].to_numpy(dtype=np.int64)
    return payment_at


def _words(ledger: Ledger) -> dict[str, Any]:
    """Give outcome, stage, rule and rivals of every payment, with one place more for items that are none."""
    reasons = [ledger.reasons[payment] for payment in range(len(ledger.payments))]
    keys = ledger.books.keys
    return {
        "outcome": np.array([*ledger.outcome, str(Outcome.UNEXPLAINED)], dtype=object),
        "match_stage": np.array([*(str(reason.stage) for reason in reasons), str(Stage.NONE)], dtype=object),
        "match_rule": np.array([*(reason.rule for reason in reasons), None], dtype=object),
        "rivals": np.array([*(_listed(reason.rivals, keys) for reason in reasons), None], dtype=object),
    }


def _listed(rivals: tuple[int, ...], keys: Any) -> str | None:
    if not rivals:
        return None
    more = f" +{len(rivals) - _MOST_LISTED}" if len(rivals) > _MOST_LISTED else ""
    return " ".join(str(keys[doc]) for doc in rivals[:_MOST_LISTED]) + more


def _override(items: DataFrame, rows: DataFrame) -> None:
    """Say what refunds, items in a second payout and items of dead payouts are."""
    again = (rows["place"] == "again").to_numpy()
    for mask, outcome, rule in (
        ((rows["resource_type"] == REFUND).to_numpy(), Outcome.REFUND, "refund"),
        ((rows["resource_type"] == REFUND_ADJUSTMENT).to_numpy(), Outcome.ADJUSTMENT, "refund_adjustment"),
        (again, Outcome.DUPLICATE, "second_payout"),
    ):
        items.loc[mask, "outcome"] = str(outcome)
        items.loc[mask, "match_rule"] = rule
        items.loc[mask, "match_stage"] = str(Stage.NONE)
        items.loc[mask, "rivals"] = None


def _expected_documents(rows: DataFrame, country: str) -> Any:
    """Say which document a sale of this kind needs; only cards are known to be vouchers in Chile."""
    is_payment = rows["resource_type"].isin(PAYMENT_TYPES)
    if country == "mx":
        choices = [(is_payment, "cfdi")]
    else:
        is_card = is_payment & rows["resource_subtype"].isin(_CARDS)
        choices = [(is_card, "voucher_or_boleta"), (is_payment, "boleta_or_invoice")]
    choices.append((rows["resource_type"] == REFUND, "credit_note"))
    words = pd.Series(pd.NA, index=rows.index, dtype=TEXT)
    for mask, word in reversed(choices):
        words[mask] = word
    return words


def _unapplied(ledger: Ledger) -> DataFrame:
    """List documents shown beside a payment without being applied: a suggestion, or what a duplicate paid again."""
    pairs = [
        (payment, reason.rivals[0])
        for word in _SHOWN_UNAPPLIED
        for payment in np.flatnonzero(ledger.outcome == word).tolist()
        if (reason := ledger.reasons[payment]).rivals
    ]
    shown = DataFrame(pairs, columns=["payment", "doc"], dtype="int64")
    for name in ("applied", "balance_after", "difference"):
        shown[name] = pd.Series(pd.NA, index=shown.index, dtype=MONEY)
    return shown


def _with_documents(lines: DataFrame, ledger: Ledger, country: str) -> DataFrame:
    docs = lines["doc"].astype("Int64").fillna(-1).to_numpy(dtype=np.int64)
    for name, source in _DOCUMENT.items():
        values = ledger.books.frame[source].array.take(docs, allow_fill=True)
        lines[name] = pd.Series(values, index=lines.index)
    lines["doc_country"] = pd.Series(country, index=lines.index, dtype=TEXT).mask(docs < 0)
    return lines


def _dispute_lines(disputes: list[PlacedDispute], inputs: Inputs) -> DataFrame:
    if not disputes:
        return empty(LINES)
    frame = DataFrame({name: pd.Series(pd.NA, index=range(len(disputes)), dtype=kind) for name, kind in LINES.items()})
    ended = pd.Series([dispute.ended_at for dispute in disputes]).astype(MOMENT)
    local = local_times(ended, inputs.calendar)
    frame["payout_id"] = [dispute.payout_id for dispute in disputes]
    frame["resource_type"] = DISPUTE
    frame["resource_id"] = [dispute.dispute_id for dispute in disputes]
    frame["line"] = 1
    frame["occurred_at_utc"] = ended
    frame["local_date"], frame["local_time"] = local.dt.normalize(), local.dt.strftime("%H:%M:%S")
    frame["bank_day"] = bank_days(ended, inputs.calendar)
    frame["amount_signed"] = [-dispute.amount for dispute in disputes]
    frame["net_amount"] = frame["amount_signed"]
    frame["currency"] = [dispute.currency for dispute in disputes]
    frame["outcome"], frame["match_stage"], frame["match_rule"] = str(Outcome.ADJUSTMENT), str(Stage.NONE), DISPUTE
    frame["note"] = [f"lost dispute of {dispute.resource_id}" for dispute in disputes]
    return typed(frame, LINES)


def _in_order(lines: DataFrame, payouts: DataFrame) -> DataFrame:
    """Sort by payout, kind, moment, id and line, items in no payout last."""
    order = payouts.sort_values(["created_at", "payout_id"])["payout_id"]
    rank = looked_up(lines["payout_id"], pd.Series(np.arange(len(order)), index=order.to_numpy())).fillna(len(order))
    names = ["rank", "payout_id", "resource_type", "occurred_at_utc", "resource_id", "line"]
    return in_total_order(lines.assign(rank=rank), names).drop(columns="rank")


def name_exceptions(lines: DataFrame, codes: DataFrame) -> DataFrame:
    """Write on each item's first row the codes that name it: on its own payout's row where the subject says which."""
    if codes.empty:
        return lines
    said: dict[tuple[str, str, str], dict[str, None]] = {}
    for row in records(codes.sort_values("code")):
        said.setdefault((row.payout_id, row.kind, row.resource_id), {})[row.code] = None
    places = [(*place, " ".join(words)) for place, words in said.items()]
    joined = DataFrame(places, columns=["payout_id", "kind", "resource_id", "codes"], dtype=TEXT)
    kinds = lines["resource_type"].where(~lines["resource_type"].isin(PAYMENT_TYPES), "payment")
    keyed = DataFrame({"payout_id": lines["payout_id"].fillna(""), "kind": kinds, "resource_id": lines["resource_id"]})
    found = keyed.merge(joined, on=["payout_id", "kind", "resource_id"], how="left")["codes"]
    lines["exception_code"] = found.where((lines["line"] == 1).to_numpy()).astype(TEXT).to_numpy()
    return lines
