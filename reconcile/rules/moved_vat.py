"""VAT that moves with money: collected with each payment of a document, given back with each refund or lost dispute."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
import pandas as pd
from pandas import DataFrame

from reconcile.rules.columns import Cells, Ints
from reconcile.rules.inputs import DISPUTE, MONEY, REFUND
from reconcile.rules.ledger import Ledger, Reversal

GivenBack: TypeAlias = Mapping[Reversal, int]
_SECOND = "second_payout"


def move_vat(ledger: Ledger, applied: DataFrame, country: str) -> tuple[Cells, GivenBack]:
    """Return the VAT that each applied amount collects, and what each reversal gives back; only Mexico's moves so.

    At every moment the VAT of a document is collected in proportion to what is paid of its total, never beyond it.
    """
    if country != "mx":
        return pd.Series(pd.NA, index=applied.index, dtype=MONEY).array, {}
    books = ledger.books
    docs, amounts = (applied[name].to_numpy(dtype=np.int64) for name in ("doc", "applied"))
    vat = pd.Series(books.column("vat", docs)).fillna(0).to_numpy(dtype=np.int64)
    is_whole = (amounts >= books.total[docs]) & (np.bincount(docs, minlength=len(books))[docs] == 1)
    is_whole &= ~np.isin(docs, [*ledger.went_back])
    moved: Ints = np.where(is_whole, vat, 0)
    back: Counter[Reversal] = Counter()
    places: dict[int, list[int]] = defaultdict(list)
    for place in np.flatnonzero(~is_whole & (vat > 0)).tolist():
        places[int(docs[place])].append(place)
    moments = ledger.payments.moment[applied["payment"].to_numpy(dtype=np.int64)]
    for doc, own in places.items():
        paid = [(int(moments[place]), place, int(amounts[place])) for place in own]
        returned = [(one.at, len(docs) + number, -amount, one) for number, (one, amount) in
                    enumerate(ledger.went_back.get(doc, ()))]  # fmt: skip
        shares = _share_out([*paid, *(move[:3] for move in returned)], int(vat[own[0]]), int(books.total[doc]))
        for _, place, _ in paid:
            moved[place] = shares[place]
        for _, place, _, reversal in returned:
            back[reversal] -= shares[place]
    return pd.Series(moved, index=applied.index, dtype=MONEY).array, back


def _share_out(moves: Sequence[tuple[int, int, int]], vat: int, total: int) -> Mapping[int, int]:
    """Return how much VAT each move of money takes along, from the oldest: moment, name and amount."""
    shares, paid, collected = {}, 0, 0
    for _, name, amount in sorted(moves):
        paid += amount
        part = max(0, min(paid, total))
        now = (2 * vat * part + total) // (2 * total) if total > 0 else 0
        shares[name], collected = now - collected, now
    return shares


def describe_reversed(lines: DataFrame, ledger: Ledger, back: GivenBack) -> DataFrame:
    """Add to refunds and lost disputes the document whose money went back, and the VAT given back with it."""
    known = {
        (DISPUTE if one.is_dispute else REFUND, one.resource_id): (doc, back.get(one, 0))
        for doc, parts in sorted(ledger.went_back.items())
        for one, _ in parts
    }
    kinds = lines["resource_type"].isin((REFUND, DISPUTE)) & (lines["match_rule"] != _SECOND)
    places = np.flatnonzero(kinds.to_numpy(dtype=bool))
    some = lines[["resource_type", "resource_id"]].take(places)
    found = [known.get(name, (-1, 0)) for name in zip(some["resource_type"], some["resource_id"], strict=True)]
    docs = np.full(len(lines), -1, dtype=np.int64)
    docs[places] = [doc for doc, _ in found]
    vat = lines["vat_moved"].copy()
    vat.iloc[places] = [-amount for _, amount in found]
    owners = pd.Series(ledger.books.column("customer_tax_id", docs), index=lines.index)
    return lines.assign(
        vat_moved=vat,
        doc_customer_tax_id=lines["doc_customer_tax_id"].fillna(owners),
        reversed_doc_key=ledger.books.column("doc_key", docs),
        reversed_doc_total=ledger.books.column("total", docs),
    )
