"""Sums that must hold before a run is published: every peso that went in comes out once; pure."""

from collections.abc import Iterator

import pandas as pd
from pandas import DataFrame

from reconcile.rules.inputs import Inputs, Result


class RunDoesNotBalance(Exception):  # noqa: N818 - names what is wrong with the run
    """A run whose own sums contradict each other; nothing of it is published."""


def check_result(inputs: Inputs, result: Result) -> None:
    problems = [*_identities(result.payouts), *_lines_and_payouts(result), *_presence(inputs, result)]
    problems += _documents(result.documents)
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise RunDoesNotBalance(f"the run does not balance, nothing is published: {problems[0]}{more}")


def _identities(payouts: DataFrame) -> Iterator[str]:
    """Each payout's difference is what its amount and its computed amount leave."""
    off = payouts[payouts["payout_amount"] - payouts["computed_amount"] != payouts["difference"]]
    for payout_id in off["payout_id"]:
        yield f"payout {payout_id}: amount less computed amount is not its difference"


def _lines_and_payouts(result: Result) -> Iterator[str]:
    """Each payout's lines add up to what the payout was computed from."""
    lines = result.lines
    signed = lines[lines["line"] == 1].dropna(subset=["payout_id"]).groupby("payout_id")["amount_signed"].sum()
    payouts = result.payouts.set_index("payout_id")
    computed = payouts["computed_amount"] + payouts["fee_total"].fillna(0)
    off = computed[computed != signed.reindex(computed.index).fillna(0)]
    for payout_id in off.index:
        yield f"payout {payout_id}: its lines do not add up to its computed amount and fees"


def _presence(inputs: Inputs, result: Result) -> Iterator[str]:
    """Every payout, document and listed item comes out, none twice."""
    for name, before, after in (
        ("payout_id", inputs.payouts, result.payouts),
        ("doc_key", inputs.documents, result.documents),
    ):
        if sorted(before[name]) != sorted(after[name]):
            yield f"the result has {len(after)} rows by {name}, the inputs {len(before)}"
    keys = ["payout_id", "resource_type", "resource_id"]
    first = result.lines.loc[result.lines["line"] == 1, keys]
    if bool(first.duplicated().any()):
        yield f"item {first[first.duplicated()].iloc[0]['resource_id']} comes out twice"
    listed = inputs.items.dropna(subset=["payout_id"])[keys].drop_duplicates()
    lost = pd.MultiIndex.from_frame(listed).difference(pd.MultiIndex.from_frame(first.dropna(subset=["payout_id"])))
    for _, _, resource_id in lost[:1]:
        yield f"item {resource_id} was listed by a payout and did not come out"


def _documents(documents: DataFrame) -> Iterator[str]:
    """Each document's balance is its total less what was paid and credited."""
    has_balance = documents[~documents["outcome"].isin(["void"])]
    left = has_balance["total"] - has_balance["paid"] - has_balance["credited"]
    off = has_balance[left != has_balance["balance"]]
    for doc_key in off["doc_key"][:1]:
        yield f"document {doc_key}: total less paid and credited is not its balance"
