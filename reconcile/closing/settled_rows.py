"""What a run settles in closed days: rows that hang together, with nothing left to pay, find or wait for; pure.

A cell is everything that payments, documents, refunds, notes and disputes join. It is settled whole or not at all.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

import numpy as np
import pandas as pd
from pandas import DataFrame, Series

from reconcile.reading.frozen import (
    CARRIED,
    DISPUTE,
    DOCUMENT,
    ITEM,
    OF_PAYOUT,
    PAYOUT,
    digest_deposits,
    digest_rows,
    list_names,
    payout_of,
)
from reconcile.rules.columns import Ints, Mask, shift_days
from reconcile.rules.inputs import DAY, NUMBERS, TEXT, Inputs, Result, to_types
from reconcile.rules.inputs import DISPUTE as DISPUTE_LINE
from reconcile.rules.names import is_numbering, join_stretches, list_numbers
from reconcile.rules.outcomes import APPLIED, CLOSED, DEAD, LOST, Code, DocumentOutcome, FeeSource, Outcome, Recon

_DONE = frozenset({*APPLIED, Outcome.REFUND, Outcome.ADJUSTMENT})
_PAID = (DocumentOutcome.PAID, DocumentOutcome.CREDITED)
_STANDING = (Recon.CLOSED, Recon.NO_BANK)
# A cell's number is its day in the upper bits and a digest in these.
_DIGEST_BITS = 47
_LAST_DAY = 2**16 - 1


class Frozen(NamedTuple):
    """Every row with its cell, digest and month, and of the documents of settled cells the names and the numbers.

    A cell has the month of its newest item or document, as a number such as 202611; what is carried has month 0.
    """

    rows: DataFrame
    names: DataFrame
    numbers: DataFrame


@dataclass(slots=True)
class _Nodes:
    """Things that hang together: `number` of each row's thing, and the component of each thing."""

    number: Ints
    component: Ints


def can_freeze(inputs: Inputs, result: Result) -> bool:
    """Return whether a run may leave rows unread after this one: it is complete, and nothing asks all payments."""
    return result.complete and inputs.orders.empty and all(one.code != Code.CALENDAR_GAP for one in result.findings)


def freeze(inputs: Inputs, result: Result, until: date) -> Frozen:
    """Divide the rows of a run into settled cells of the days up to one, and what is carried.

    A cell is numbered by what it holds: frozen again, the same cell has the same number.
    """
    rows = digest_rows(inputs)
    nodes = _join(rows, inputs, result)
    bad = _find_unsettled(rows, inputs, result, until)
    payouts = _choose_payouts(inputs, result, until).difference(inputs.settled["payout_id"])
    while True:
        settled = _settle(rows, nodes, bad, payouts.union(inputs.settled["payout_id"]))
        pinned = _find_pinned(rows, settled, inputs) & payouts
        if not pinned:
            break
        payouts -= pinned
    cells = np.full(len(rows), CARRIED, dtype=np.int64)
    days = _find_days(nodes, inputs)
    cells[settled] = _number_cells(rows[settled], nodes.component[settled], days[settled])
    is_payout = ((rows["kind"] == PAYOUT) & rows["key"].isin(payouts)).to_numpy(dtype=bool)
    cells[is_payout] = OF_PAYOUT
    months = np.where(settled, _to_months(days), 0)
    frozen = rows.assign(cell=cells, month=months)[(rows["kind"] != PAYOUT) | is_payout]
    every = pd.concat([frozen, _list_deposits(payouts, result)], ignore_index=True)
    own = frozen[(frozen["kind"] == DOCUMENT) & (frozen["cell"] > CARRIED)].set_index("key")["cell"]
    documents = inputs.documents[inputs.documents["doc_key"].isin(own.index)]
    return Frozen(every, _name_cells(own, documents), list_stretches(documents))


def _number_cells(rows: DataFrame, components: Ints, days: Ints) -> Ints:
    """Return for each row the number of its cell: its day, then the digest of the first of its keys.

    So cells of about the same days lie in few chunks, and a chunk tells by its first and last cell what it may hold.
    """
    keys = DataFrame({"component": components, "name": rows["kind"] + " " + rows["key"] + " " + rows["part"]})
    first = keys.groupby("component")["name"].min()
    digests = pd.util.hash_pandas_object(first, index=False).to_numpy() >> np.uint64(64 - _DIGEST_BITS)
    own = digests.astype(np.int64)[np.searchsorted(first.index.to_numpy(), components)]
    return (np.clip(days, 1, _LAST_DAY) << _DIGEST_BITS) | own


def _list_deposits(payouts: Collection[str], result: Result) -> DataFrame:
    """Return what the bank showed of some payouts, each with the last bank day of its items."""
    own = result.payouts[result.payouts["payout_id"].isin(payouts)]
    lines = result.lines[result.lines["resource_type"] != DISPUTE_LINE]
    days = lines.groupby("payout_id")["bank_day"].max().dt.strftime("%Y-%m-%d")
    deposits = digest_deposits(own)
    return deposits.assign(cell=OF_PAYOUT, month=0, part=deposits["key"].map(days).fillna("").astype(TEXT))


def _find_days(nodes: _Nodes, inputs: Inputs) -> Ints:
    """Return for each row the day of the newest item or document that hangs together with it, counted from 1970."""
    dated = pd.concat([inputs.items["occurred_at"].dt.tz_convert(None), inputs.documents["issue_date"]])
    own = dated.to_numpy(dtype="datetime64[D]").astype(np.int64)
    own[dated.isna().to_numpy()] = 0
    newest = np.zeros(int(nodes.component.max(initial=-1)) + 1, dtype=np.int64)
    # Items and documents are the first rows, in this order.
    np.maximum.at(newest, nodes.component[: len(own)], own)
    return newest[nodes.component]


def _to_months(days: Ints) -> Ints:
    """Return the month of each day as a number such as 202611."""
    months = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    return (1970 + months // 12) * 100 + months % 12 + 1


def list_stretches(documents: DataFrame) -> DataFrame:
    """Return the numbers that documents bear as stretches, where they follow one another closely."""
    found = [DataFrame(columns=list(NUMBERS))]
    given = list_numbers(documents)
    several = given[given.duplicated(["run", "head"], keep=False)]
    for (run, head), group in several.groupby(["run", "head"])["number"]:
        numbers = group.to_numpy(dtype=np.int64)
        since, until = join_stretches(numbers, numbers)
        if is_numbering(since, until):
            found += [DataFrame({"run": run, "head": head, "since": since, "until": until})]
    return to_types(pd.concat(found, ignore_index=True), NUMBERS)


def _name_cells(own: Series, documents: DataFrame) -> DataFrame:
    names = list_names(documents)
    cells = own.reindex(documents["doc_key"].astype(object)).to_numpy()[names["place"].to_numpy(dtype=np.int64)]
    return DataFrame({"word": names["word"], "cell": cells}).drop_duplicates(ignore_index=True)


def _join(rows: DataFrame, inputs: Inputs, result: Result) -> _Nodes:
    """Number the things of the rows, an item by its resource, and join what names or pays another."""
    # Slow to load, and needed at a closing alone.
    from scipy.sparse import coo_array  # noqa: PLC0415
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    names = rows["kind"] + " " + rows["key"]
    lines, items = result.lines, inputs.items
    is_item = lines["resource_type"] != DISPUTE_LINE
    pairs = [
        _pair(ITEM, lines["resource_id"].where(is_item), DOCUMENT, lines["doc_key"]),
        _pair(ITEM, lines["resource_id"].where(is_item), DOCUMENT, lines["reversed_doc_key"]),
        _pair(ITEM, items["resource_id"], ITEM, items["parent_id"]),
        _pair(DISPUTE, inputs.disputes["dispute_id"], ITEM, inputs.disputes["resource_id"]),
        _link_documents(inputs.documents),
    ]
    edges = pd.concat(pairs, ignore_index=True)
    codes, found = pd.factorize(pd.concat([names, edges["left"], edges["right"]], ignore_index=True))
    number, left, right = np.split(codes, [len(rows), len(rows) + len(edges)])
    graph = coo_array((np.ones(len(left), dtype=np.int8), (left, right)), shape=(len(found), len(found)))
    _, component = connected_components(graph, directed=False)
    return _Nodes(number, component[number].astype(np.int64))


def _pair(kind: str, left: Series, other: str, right: Series) -> DataFrame:
    both = DataFrame({"left": left.astype(object), "right": right.astype(object)}).dropna()
    return DataFrame({"left": kind + " " + both["left"], "right": other + " " + both["right"]})


def _link_documents(documents: DataFrame) -> DataFrame:
    """Pair documents with those that bear the number they refer to, whichever of them is meant."""
    refs = documents[documents["ref_number"].notna()]
    asked = DataFrame({"left": refs["doc_key"], "number": refs["ref_number"].str.upper().str.split()})
    asked = asked.explode("number").astype(TEXT)
    asked["number"] = asked["number"].str.lstrip("0")
    named = [DataFrame({"right": documents["doc_key"], "number": documents[name].str.upper().str.lstrip("0")})
             for name in ("folio", "uuid")]  # fmt: skip
    found = asked.merge(pd.concat(named).dropna(), on="number")
    return _pair(DOCUMENT, found["left"], DOCUMENT, found["right"])


def _find_unsettled(rows: DataFrame, inputs: Inputs, result: Result, until: date) -> Mask:
    """Return which rows something is still open about, whatever their payout."""
    bad = np.zeros(len(rows), dtype=bool)
    kinds, keys = rows["kind"], rows["key"]
    found = result.findings
    resources = {one.resource_id for one in found} | set(inputs.decisions["resource_id"].dropna())
    resources |= set(inputs.conflicts["resource_id"].dropna())
    bad |= ((kinds == ITEM) & (keys.isin(resources) | ~_are_done(rows, result))).to_numpy(dtype=bool)
    named = {one.doc_key for one in found} | set(inputs.decisions["doc_key"].dropna())
    done = result.documents["doc_key"][_are_paid(result, inputs, until)]
    bad |= ((kinds == DOCUMENT) & (keys.isin(named) | ~keys.isin(done))).to_numpy(dtype=bool)
    ended = inputs.disputes["dispute_id"][inputs.disputes["status"].isin(CLOSED)]
    disputed = {one.subject.removeprefix(f"{DISPUTE_LINE}:") for one in found}
    bad |= ((kinds == DISPUTE) & (keys.isin(disputed) | ~keys.isin(ended))).to_numpy(dtype=bool)
    return bad


def _are_done(rows: DataFrame, result: Result) -> Series:
    lines = result.lines[(result.lines["line"] == 1) & (result.lines["resource_type"] != DISPUTE_LINE)]
    parts = lines["payout_id"].fillna("") + " " + lines["resource_type"]
    done = (parts + " " + lines["resource_id"])[lines["outcome"].isin([str(word) for word in _DONE])]
    return (rows["part"] + " " + rows["key"]).isin(done)


def _are_paid(result: Result, inputs: Inputs, until: date) -> Mask:
    """Return which documents of the days ask for nothing any more; a void one is a rival until its last day."""
    documents, end = result.documents, pd.Timestamp(until)
    is_paid = documents["outcome"].isin([str(word) for word in _PAID]) & (documents["balance"] == 0)
    due = documents["due_date"].fillna(documents["issue_date"] + pd.Timedelta(days=inputs.rules.due_days))
    is_past = shift_days(due.astype(DAY), inputs.rules.days_after_due, inputs.calendar) <= end
    is_void = (documents["outcome"] == DocumentOutcome.VOID) & is_past
    return ((documents["issue_date"] <= end) & (is_paid | is_void)).to_numpy(dtype=bool)


def _choose_payouts(inputs: Inputs, result: Result, until: date) -> set[str]:
    """Choose the payouts of the days that tie out; a fee that all items of a payout decide keeps it whole."""
    payouts = result.payouts
    named = {one.payout_id for one in result.findings if one.subject.startswith("payout:")}
    is_residual = payouts["fee_source"] == FeeSource.RESIDUAL
    has_fees = payouts["payout_id"].isin(inputs.fees["payout_id"]) | (inputs.tariff is not None)
    ties_out = (payouts["status"] == "succeeded") & payouts["status_recon"].isin([str(word) for word in _STANDING])
    is_past = payouts["payout_date"] <= pd.Timestamp(until)
    chosen = ties_out & is_past & (payouts["difference"] == 0) & ~payouts["payout_id"].isin(named)
    return set(payouts["payout_id"][chosen & ~(is_residual & has_fees)])


def _settle(rows: DataFrame, nodes: _Nodes, bad: Mask, payouts: set[str]) -> Mask:
    """Return which rows are of components without a row that is open or of a payout that is."""
    is_open = bad | ((rows["kind"] == ITEM) & ~payout_of(rows["part"]).isin(payouts)).to_numpy(dtype=bool)
    is_thing = (rows["kind"] != PAYOUT).to_numpy(dtype=bool)
    spoiled = np.zeros(int(nodes.component.max(initial=-1)) + 1, dtype=bool)
    spoiled[nodes.component[is_open]] = True
    return is_thing & ~spoiled[nodes.component]


def _find_pinned(rows: DataFrame, settled: Mask, inputs: Inputs) -> set[str]:
    """Return the payouts that a lost dispute which is carried may still be a line of: their sums decide."""
    carried = set(rows["key"][(rows["kind"] == DISPUTE) & ~settled])
    disputes = inputs.disputes
    lost = disputes[disputes["status"].isin(LOST) & disputes["ended_at"].notna() & disputes["dispute_id"].isin(carried)]
    payouts = inputs.payouts.sort_values(["created_at", "payout_id"])
    pinned: set[str] = set()
    for ended_at, currency in zip(lost["ended_at"], lost["currency"], strict=True):
        later = payouts[(payouts["created_at"] > ended_at) & (payouts["currency"] == currency)]
        pinned |= set(later["payout_id"][~later["status"].isin(DEAD)][:1])
    return pinned
