"""Which account a payout went to and a bank line is of, and on which days a source shows everything; pure."""

from typing import Any

import pandas as pd
from pandas import DataFrame

from reconcile.rules.inputs import Inputs, records


def is_of_file(line: Any) -> bool:
    """Tell whether a row of the bank comes from an imported file; the others are movements the provider shows."""
    return not pd.isna(line.known_until)


class Accounts:
    """Compare accounts as far as they are known.

    Whole numbers decide where both are there. Else the last digits do, unless two accounts share them.
    """

    def __init__(self, inputs: Inputs) -> None:
        bank, payouts = inputs.bank, inputs.payouts
        names = DataFrame({
            "account": pd.concat([bank["account"], payouts["recipient_account"]]),
            "last4": pd.concat([bank["account_last4"], payouts["recipient_last4"]]),
        }).dropna().drop_duplicates()  # fmt: skip
        counts = names["last4"].value_counts()
        self._shared = frozenset(counts[counts > 1].index)
        self._whole = dict(zip(names["last4"], names["account"], strict=True))
        columns = ["account", "account_last4", "currency", "known_since", "known_until"]
        self._stretches = records(bank[columns].drop_duplicates())

    def name_of(self, line: Any) -> str | None:
        """Return one name for all lines of an account; None where its last digits are those of several."""
        if not pd.isna(line.account):
            return str(line.account)
        if pd.isna(line.account_last4) or line.account_last4 in self._shared:
            return None
        return str(self._whole.get(line.account_last4, line.account_last4))

    def may_be(self, payout: Any, line: Any) -> bool:
        """Tell whether a line is of the payout's account and currency, and not from before it succeeded."""
        in_time = line.currency == payout.currency and line.booked_on >= payout.since
        return bool(in_time and self._is_same(payout, line))

    def cover(self, payout: Any) -> bool:
        """Tell whether a source shows every day from the payout's success to the one by which it must be there."""
        return any(
            begins and (pd.isna(stretch.known_until) or payout.until <= stretch.known_until)
            for stretch, begins in self._spoken(payout)
        )

    def begin(self, payout: Any) -> bool:
        """Tell whether a source shows the day on which the payout succeeded."""
        return any(
            begins and (pd.isna(stretch.known_until) or payout.since <= stretch.known_until)
            for stretch, begins in self._spoken(payout)
        )

    def _spoken(self, payout: Any) -> list[tuple[Any, bool]]:
        """Give the stretches of a payout's account and currency, and whether each begins early enough for it."""
        if pd.isna(payout.account) and pd.isna(payout.recipient_account_last4):
            return []
        return [
            (stretch, pd.isna(stretch.known_since) or stretch.known_since <= payout.since)
            for stretch in self._stretches
            if stretch.currency == payout.currency and self._is_same(payout, stretch)
        ]

    def _is_same(self, payout: Any, other: Any) -> bool:
        if not pd.isna(payout.account) and not pd.isna(other.account):
            return bool(payout.account == other.account)
        if pd.isna(payout.recipient_account_last4) or pd.isna(other.account_last4):
            return True
        last4 = payout.recipient_account_last4
        return bool(last4 == other.account_last4 and last4 not in self._shared)
