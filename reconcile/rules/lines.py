"""The rows of payout-detail and of documents: items with the documents they were applied to, and their notes."""

from typing import NamedTuple, Self

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pandas import DataFrame

from consumer.facts.messages import Message
from reconcile.rules.columns import (
    Cells,
    Indices,
    Ints,
    Mask,
    Words,
    are_in,
    decode,
    find_places,
    sort_rows,
    to_arrow,
    to_bank_days,
    to_ints,
    to_local_times,
    to_texts,
)
from reconcile.rules.expected import name_expected_documents
from reconcile.rules.fees import Fees
from reconcile.rules.inputs import (
    DISPUTE,
    DOCUMENT_RESULTS,
    LINES,
    MOMENT,
    MONEY,
    PAYMENT_TYPES,
    REFUND,
    REFUND_ADJUSTMENT,
    TEXT,
    Finding,
    Inputs,
    LineCode,
    to_types,
)
from reconcile.rules.ledger import MOST_LISTED, Ledger
from reconcile.rules.outcomes import CLOSED, LOST, Outcome, Stage
from reconcile.rules.payouts import NO_PAYOUT_YET, find_carried_again, rank_payouts
from reconcile.rules.reversals import DisputeLine

_SHOWN_UNAPPLIED = (Outcome.SUGGESTED, Outcome.DUPLICATE)
_OF_ITEM = ("payout_id", "resource_type", "resource_subtype", "resource_id", "source_event_id", "local_date",
            "local_time", "bank_day", "currency", "customer_name", "expected_doc")  # fmt: skip
_DOCUMENT = {
    "doc_type": "doc_type",
    "doc_series": "series",
    "doc_folio": "folio",
    "doc_uuid": "uuid",
    "doc_date": "issue_date",
    "doc_due_date": "due_date",
    "doc_total": "total",
    "doc_key": "doc_key",
    "doc_customer_tax_id": "customer_tax_id",
    "doc_vat": "vat",
}
_SHOWN = {"applied_amount": "applied", "doc_balance_after": "balance_after", "difference": "difference",
          "vat_moved": "vat_moved"}  # fmt: skip
# What stands behind the payments' own words: of an item that is none, of refunds and of what came a second time.
_OTHERS = (
    (Outcome.UNEXPLAINED, None),
    (Outcome.REFUND, "refund"),
    (Outcome.ADJUSTMENT, "refund_adjustment"),
    (Outcome.DUPLICATE, "second_payout"),
)
_SAME = ("doc_key", "doc_type", "series", "folio", "uuid", "issue_date", "due_date", "customer_tax_id", "customer_name")


def write_notes(rows: DataFrame, payment_at: Indices, ledger: Ledger, inputs: Inputs) -> Cells:
    """Return what is to be said of each item: codes of messages, one a line."""
    is_payment = rows["resource_type"].isin(PAYMENT_TYPES)
    other = rows["customer_tax_id"].notna() & rows["sender_tax_id"].notna()
    is_open = ~inputs.disputes["status"].isin(CLOSED)
    disputed = inputs.disputes[is_open]["resource_id"]
    refunded = np.zeros(len(ledger.payments) + 1, dtype=bool)
    refunded[[at for at, made in ledger.payments.reversals.items() if not all(one.is_dispute for one in made)]] = True
    lost = inputs.disputes[inputs.disputes["status"].isin(LOST)]["resource_id"]
    is_dead = rows["place"] == "dead"
    is_again = is_dead & rows["thing"].isin(find_carried_again(rows)["thing"])
    marks = [
        (Message("note.payout_dead"), is_dead & ~is_again),
        (Message("note.paid_again"), is_again),
        (Message("note.freed"), rows["freed_at"].notna() & rows["payout_id"].isna()),
        (Message("note.another_payer"), is_payment & other & (rows["customer_tax_id"] != rows["sender_tax_id"])),
        (Message("note.open_dispute"), is_payment & rows["resource_id"].isin(disputed)),
        (Message("note.lost_dispute"), is_payment & rows["resource_id"].isin(lost)),
        (Message("note.refunded"), refunded[payment_at]),
    ]
    # Each set of marks is a number, and few of the numbers occur.
    sets = sum((np.asarray(mask, dtype=np.int64) << bit for bit, (_, mask) in enumerate(marks)), start=0)
    distinct, codes = np.unique(sets, return_inverse=True)
    texts = ["\n".join(note.code for bit, (note, _) in enumerate(marks) if chosen >> bit & 1) for chosen in distinct]
    return decode(codes, [text or None for text in texts])


def build_lines(
    rows: DataFrame, fees: Fees, ledger: Ledger, applied: DataFrame, *, disputes: list[DisputeLine], inputs: Inputs
) -> DataFrame:
    """Return one row per item and document applied, in total order; exception codes are added later."""
    rows = rows.assign(expected_doc=name_expected_documents(rows, ledger, applied, inputs))
    spread = _spread_documents(rows, ledger, applied)
    item_at = spread.item_at
    extra = _to_dispute_lines(disputes, inputs) if disputes else None
    order = _sort_lines(rows, item_at, spread.number, extra=extra, payouts=inputs.payouts)
    lines = _fill_lines(rows, fees, ledger, inputs, spread.take(order[order < len(item_at)]))
    if extra is None:
        return lines
    # The lines stand in their order already: what is left is to let the disputes in among them.
    place = np.cumsum(order < len(item_at)) - 1
    among = np.where(order < len(item_at), place, order)
    return pd.concat([lines, extra], ignore_index=True).take(among).reset_index(drop=True)


class _Spread(NamedTuple):
    """The documents shown, and for each line its item, its place among the documents shown, and its number."""

    shown: DataFrame
    item_at: Indices
    shown_at: Indices
    number: Ints

    def take(self, lines: Indices) -> Self:
        return self._replace(item_at=self.item_at[lines], shown_at=self.shown_at[lines], number=self.number[lines])


def _spread_documents(rows: DataFrame, ledger: Ledger, applied: DataFrame) -> _Spread:
    shown = pd.concat([applied, _list_unapplied(ledger)], ignore_index=True)
    item = ledger.payments.frame["row"].to_numpy()[shown["payment"].to_numpy(dtype=np.int64)]
    order = np.lexsort((shown["doc"].to_numpy(dtype=np.int64), item))
    counts = np.bincount(item, minlength=len(rows))
    sizes = np.maximum(counts, 1)
    item_at = np.repeat(np.arange(len(rows)), sizes)
    number = np.arange(len(item_at)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + 1
    shown_at = np.full(len(item_at), -1, dtype=np.int64)
    shown_at[counts[item_at] > 0] = order
    return _Spread(shown, item_at, shown_at, number)


def _sort_lines(
    rows: DataFrame, item_at: Indices, number: Ints, *, extra: DataFrame | None, payouts: DataFrame
) -> Indices:
    """Sort by payout, kind, moment, id and line, items in no payout last; disputes are numbered after all others."""
    names = {"rank": "rank", "payout_id": "payout_id", "resource_type": "resource_type",
             "occurred_at": "occurred_at_utc", "resource_id": "resource_id"}  # fmt: skip
    keys = {name: to_arrow(rows[name].array.take(item_at)) for name in names} | {"line": pa.array(number)}
    if extra is not None:
        ranks = np.append(rank_payouts(payouts), NO_PAYOUT_YET)
        others = extra.assign(rank=ranks[find_places(extra["payout_id"], payouts["payout_id"])])
        more = {name: to_arrow(others[column]) for name, column in names.items()} | {"line": to_arrow(extra["line"])}
        keys = {name: pa.chunked_array([key, more[name].cast(key.type)]) for name, key in keys.items()}
    order = pc.sort_indices(pa.table(keys), sort_keys=[(name, "ascending") for name in keys])
    return to_ints(order)


def _fill_lines(rows: DataFrame, fees: Fees, ledger: Ledger, inputs: Inputs, spread: _Spread) -> DataFrame:
    shown, at, shown_at, number = spread
    payment_at = _find_payments(rows, ledger)
    columns = {name: rows[name].array.take(at) for name in _OF_ITEM}
    columns |= {name: values.take(at) for name, values in _describe_items(rows, payment_at, ledger, inputs).items()}
    columns |= _describe_outcomes(rows, ledger, payment_at, at)
    columns |= _sum_first_lines(rows, fees, at, is_later=number > 1)
    columns |= {name: shown[source].astype(MONEY).array.take(shown_at, allow_fill=True)
                for name, source in _SHOWN.items()}  # fmt: skip
    docs = np.append(shown["doc"].to_numpy(dtype=np.int64), -1)[shown_at]
    columns |= {name: ledger.books.column(source, docs)
                for name, source in _DOCUMENT.items()}  # fmt: skip
    columns["doc_country"] = decode(np.where(docs < 0, 1, 0), (inputs.country, None))
    none = np.full(len(at), -1, dtype=np.int64)
    columns |= {"reversed_doc_key": ledger.books.column("doc_key", none),
                "reversed_doc_total": ledger.books.column("total", none)}  # fmt: skip
    columns["line"] = pd.array(number, dtype="Int64")
    columns["exception_code"] = decode(np.zeros(len(at), dtype=np.int64), (None,))
    return to_types(DataFrame({name: columns[name] for name in LINES}, copy=False), LINES)


def _describe_items(rows: DataFrame, payment_at: Indices, ledger: Ledger, inputs: Inputs) -> dict[str, Cells]:
    refs = ledger.payments.order_ref.take(pa.array(payment_at, mask=payment_at == len(ledger.payments)))
    return {
        "occurred_at_utc": rows["occurred_at"].array,
        "customer_tax_id": rows["customer_tax_id"].fillna(rows["sender_tax_id"]).array,
        "note": write_notes(rows, payment_at, ledger, inputs),
        "order_ref": pd.array(refs, dtype=TEXT),
    }


def _sum_first_lines(rows: DataFrame, fees: Fees, at: Indices, *, is_later: Mask) -> dict[str, Cells]:
    """Return the columns that are summed, on the first line of each item alone."""
    columns = {"amount_signed": rows["signed"].astype(MONEY)}
    columns |= {name: fees.items[name].astype(MONEY) for name in ("fee_total", "fee_net", "fee_vat")}
    columns["net_amount"] = columns["amount_signed"] - columns["fee_total"]
    columns["fee_agreed"] = fees.items["asked"].astype(MONEY)
    taken = {name: values.array.take(at) for name, values in columns.items()}
    for values in taken.values():
        values[is_later] = pd.NA
    return taken


def _find_payments(rows: DataFrame, ledger: Ledger) -> Indices:
    """Return each row's payment; the last place stands for none."""
    frame = ledger.payments.frame
    payment_at = np.full(len(rows), len(frame), dtype=np.int64)
    payment_at[frame["row"].to_numpy()] = np.arange(len(frame))
    elsewhere = np.flatnonzero((rows["place"] != "home") & rows["resource_type"].isin(PAYMENT_TYPES))
    if len(elsewhere):
        things = rows["thing"].to_numpy()
        homes = pd.Series(np.arange(len(frame)), index=things[frame["row"].to_numpy()])
        payment_at[elsewhere] = homes.loc[things[elsewhere]].to_numpy()
    return payment_at


def _describe_outcomes(rows: DataFrame, ledger: Ledger, payment_at: Indices, at: Indices) -> dict[str, Cells]:
    """Describe for every line what became of its payment, in which stage and by which rule, and the rivals it left."""
    source = payment_at.copy()
    kinds = rows["resource_type"]
    masks = (kinds == REFUND, kinds == REFUND_ADJUSTMENT, rows["place"] == "again")
    for place, mask in enumerate(masks, start=len(ledger.payments) + 1):
        source[mask.to_numpy()] = place
    source = source[at]
    reasons = list(map(ledger.reasons.__getitem__, range(len(ledger.payments))))
    # Most payments share one reason object with many others.
    identities = np.fromiter(map(id, reasons), dtype=np.int64, count=len(reasons))
    _, first, own = np.unique(identities, return_index=True, return_inverse=True)
    distinct = [reasons[place] for place in first.tolist()]
    codes = np.append(own, len(distinct) + np.arange(len(_OTHERS)))[source]
    rules = [*(reason.rule for reason in distinct), *(rule for _, rule in _OTHERS)]
    stages = [*(str(reason.stage) for reason in distinct), *([str(Stage.NONE)] * len(_OTHERS))]
    rivals = [*(_list_rivals(reason.rivals, ledger.books.keys) for reason in distinct), *([None] * len(_OTHERS))]
    outcomes, words = pd.factorize(np.append(ledger.outcome, [str(outcome) for outcome, _ in _OTHERS]))
    return {
        "outcome": decode(outcomes[source], words.tolist()),
        "match_stage": decode(codes, stages),
        "match_rule": decode(codes, rules),
        "rivals": decode(codes, rivals),
    }


def _list_rivals(rivals: tuple[int, ...], keys: Words) -> str | None:
    if not rivals:
        return None
    more = f" +{len(rivals) - MOST_LISTED}" if len(rivals) > MOST_LISTED else ""
    return " ".join(str(keys[doc]) for doc in rivals[:MOST_LISTED]) + more


def _list_unapplied(ledger: Ledger) -> DataFrame:
    """Return documents shown with a payment without being applied: a suggestion, or what a duplicate paid again."""
    pairs = [
        (payment, reason.rivals[0])
        for word in _SHOWN_UNAPPLIED
        for payment in np.flatnonzero(ledger.outcome == word).tolist()
        if (reason := ledger.reasons[payment]).rivals
    ]
    shown = DataFrame(pairs, columns=["payment", "doc"], dtype="int64")
    for name in ("applied", "balance_after", "difference", "vat_moved"):
        shown[name] = pd.Series(pd.NA, index=shown.index, dtype=MONEY)
    return shown


def _to_dispute_lines(disputes: list[DisputeLine], inputs: Inputs) -> DataFrame:
    frame = DataFrame({name: pd.Series(pd.NA, index=range(len(disputes)), dtype=kind) for name, kind in LINES.items()})
    ended = pd.Series([dispute.ended_at for dispute in disputes]).astype(MOMENT)
    local = to_local_times(ended, inputs.calendar)
    frame["payout_id"] = [dispute.payout_id for dispute in disputes]
    frame["resource_type"] = DISPUTE
    frame["resource_id"] = [dispute.dispute_id for dispute in disputes]
    frame["line"] = 1
    frame["occurred_at_utc"] = ended
    frame["local_date"], frame["local_time"] = local.dt.normalize(), local.dt.strftime("%H:%M:%S")
    frame["bank_day"] = to_bank_days(ended, inputs.calendar)
    frame["amount_signed"] = [-dispute.amount for dispute in disputes]
    frame["net_amount"] = frame["amount_signed"]
    frame["currency"] = [dispute.currency for dispute in disputes]
    frame["outcome"], frame["match_stage"], frame["match_rule"] = str(Outcome.ADJUSTMENT), str(Stage.NONE), DISPUTE
    frame["note"] = [Message("note.lost_dispute_of", {"item": one.resource_id}).to_text() for one in disputes]
    return to_types(frame, LINES)


def name_exceptions(lines: DataFrame, codes: list[LineCode]) -> DataFrame:
    """Write on each item's first row the codes that name it: on its own payout's row where the subject says which."""
    said: dict[tuple[str, str, str], dict[str, None]] = {}
    for code, payout, kind, identity in codes:
        said.setdefault((payout, kind, identity), {})[code] = None
    is_named = are_in(lines["resource_id"], {identity for _, _, identity in said})
    places = np.flatnonzero(is_named & (lines["line"] == 1).to_numpy(dtype=bool))
    some = lines[["payout_id", "resource_type", "resource_id"]].take(places)
    kinds = some["resource_type"].where(~some["resource_type"].isin(PAYMENT_TYPES), "payment")
    columns = (values.to_numpy(dtype=object) for values in (some["payout_id"].fillna(""), kinds, some["resource_id"]))
    numbers: dict[str | None, int] = {None: 0}
    joined = {place: numbers.setdefault(" ".join(words), len(numbers)) for place, words in said.items()}
    chosen = np.zeros(len(lines), dtype=np.int64)
    chosen[places] = [joined.get(place, 0) for place in zip(*columns, strict=True)]
    lines["exception_code"] = decode(chosen, list(numbers))
    return lines


def build_documents(ledger: Ledger, outcomes: Words, applied: DataFrame, findings: tuple[Finding, ...]) -> DataFrame:
    """Return one row per document, in the order of the keys."""
    books, claims = ledger.books, ledger.books.is_claim
    paid = np.where(claims, ledger.paid - ledger.reopened, 0)
    credited = np.where(claims, books.credited + ledger.adjusted, 0)
    asked = np.where(claims & ~books.is_void, books.total, 0)
    balance = asked - paid - np.where(books.is_void, 0, credited)
    payers = applied[["payment", "doc"]].drop_duplicates()["doc"].to_numpy(dtype=np.int64)
    adjusted = np.where(claims & ~books.is_void, ledger.adjusted, 0)
    figures = {"paid": paid, "adjusted_amount": adjusted, "credited": credited, "balance": balance,
               "payments": np.bincount(payers, minlength=len(books))}  # fmt: skip
    outcome, words = pd.factorize(outcomes)
    same = sort_rows(books.rows[[*_SAME, "currency", "total"]].assign(doc=_invert(books.place)), ["doc_key"])
    order = same.pop("doc").to_numpy()
    columns = {name: same[name].array for name in same.columns}
    columns |= {name: pd.array(values[order], dtype=MONEY) for name, values in figures.items()}
    columns["outcome"] = decode(outcome[order], words.tolist())
    columns["exception_code"] = _join_codes(columns["doc_key"], findings)
    return to_types(DataFrame({name: columns[name] for name in DOCUMENT_RESULTS}), DOCUMENT_RESULTS)


def _invert(places: Indices) -> Indices:
    """Return where in an order each place stands."""
    order = np.empty(len(places), dtype=np.int64)
    order[places] = np.arange(len(places))
    return order


def _join_codes(doc_keys: Cells, findings: tuple[Finding, ...]) -> Cells:
    codes: dict[str, str] = {}
    for finding in findings:
        if finding.doc_key is not None and finding.subject.startswith("document:"):
            before = codes.get(finding.doc_key)
            codes[finding.doc_key] = f"{before} {finding.code}" if before else finding.code
    named = pc.index_in(to_texts(doc_keys), value_set=pa.array(list(codes), type=pa.large_string()))
    return decode(named.fill_null(len(codes)), [*codes.values(), None])
