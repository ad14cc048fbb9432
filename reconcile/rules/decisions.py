"""What people decided, as constraints before any rule: pairs that must or must not be, differences accepted."""

import pandas as pd
from pandas import DataFrame, Series

from consumer.facts.messages import Message
from reconcile.rules.columns import Words
from reconcile.rules.inputs import Row, rows_of
from reconcile.rules.ledger import LATEST, UNKNOWN, Ledger, Reason, to_instant
from reconcile.rules.outcomes import Code, Outcome, Stage

MATCH, ADJUST, TIE = "match", "adjust", "tie"
_LINKS = (MATCH, "unmatch", "decline")


def apply_decisions(ledger: Ledger, decisions: DataFrame) -> None:
    """Take decisions in the order they were made; a later one about the same pair replaces an earlier one."""
    if decisions.empty:
        return
    ordered = decisions.sort_values(["decision_id", "kind", "resource_id", "doc_key"])
    is_link = ordered["kind"].isin(_LINKS)
    links = ordered[is_link].drop_duplicates(["resource_id", "doc_key"], keep="last")
    payments = _find_places(ledger.payments.ids, ordered["resource_id"])
    docs = _find_places(ledger.books.keys, ordered["doc_key"])
    matched: dict[int, list[tuple[int, int | None]]] = {}
    for row in rows_of(links):
        payment, doc = payments.get(row.resource_id), docs.get(row.doc_key)
        if payment is None:
            continue
        if row.kind != MATCH:
            _forbid(ledger, payment, doc, matched)
        elif doc is not None:
            matched.setdefault(payment, []).append((doc, _to_amount(row)))
    for row in rows_of(ordered[ordered["kind"] == ADJUST]):
        _adjust(ledger, payments.get(row.resource_id), docs.get(row.doc_key), row)
    for payment in sorted(matched):
        _match(ledger, payment, matched[payment])


def _find_places(keys: Words, named: Series) -> dict[str, int]:
    wanted = set(named.dropna())
    return {key: place for place, key in enumerate(keys) if key in wanted} if wanted else {}


def _to_amount(row: Row) -> int | None:
    return None if pd.isna(row.amount) else int(row.amount)


def _forbid(ledger: Ledger, payment: int, doc: int | None, matched: dict[int, list[tuple[int, int | None]]]) -> None:
    """Forbid one pair; without a document the payment stays unmatched until a person matches it."""
    if doc is not None:
        ledger.forbidden.add((payment, doc))
        return
    matched.pop(payment, None)
    reason = Reason(Stage.MANUAL, "manual:unmatch")
    ledger.decide(payment, Outcome.NO_DOCUMENT, reason, Code.PAYMENT_NO_INVOICE)


def _adjust(ledger: Ledger, payment: int | None, doc: int | None, row: Row) -> None:
    """Accept an amount of a document, or all that is left of it, or a payment that needs no document."""
    amount, at = _to_amount(row), None if pd.isna(row.decided_at) else to_instant(row.decided_at)
    if doc is not None and amount is not None:
        if at is not None and _may_be_of_a_dispute(ledger, doc, at):
            # Taken off before, it would leave the disputed payment itself without a document.
            ledger.written_off.append((doc, amount))
        else:
            ledger.adjusted[doc] += amount
    elif doc is not None:
        ledger.accepted[doc] = LATEST if at is None else at
    elif payment is not None:
        ledger.decide(payment, Outcome.ADJUSTMENT, Reason(Stage.MANUAL, "manual:adjust"))


def _may_be_of_a_dispute(ledger: Ledger, doc: int, at: int) -> bool:
    """Return whether a dispute was lost before a moment whose payment may have been this document's."""
    payments, books = ledger.payments, ledger.books
    return any(
        one.is_dispute
        and one.at < at
        and payments.currency[payment] == books.currency[doc]
        and (UNKNOWN in (payments.customer[payment], books.customer[doc])
             or payments.customer[payment] == books.customer[doc])
        for payment, made in payments.reversals.items()
        for one in made
    )  # fmt: skip


def _match(ledger: Ledger, payment: int, pairs: list[tuple[int, int | None]]) -> None:
    rest = int(ledger.payments.amount[payment])
    named = [pair for pair in pairs if ledger.books.currency[pair[0]] == ledger.payments.currency[payment]]
    same = _follow_reissues(ledger, payment, named)
    if named and not same:
        _leave_cancelled(ledger, payment, named[0][0])
    for place, (doc, asked) in enumerate(same):
        found = ledger.open_at(doc, payment)
        is_last = place == len(same) - 1
        amount = min(rest, asked) if asked is not None else rest if is_last else min(rest, max(found, 0))
        if amount > 0:
            ledger.apply(payment, doc, amount, difference=amount - found if is_last else 0)
            rest -= amount
    if same:
        _conclude(ledger, payment, same)


def _follow_reissues(ledger: Ledger, payment: int, pairs: list[tuple[int, int | None]]) -> list[tuple[int, int | None]]:
    """Replace documents that became void since then by those issued for them, and drop the others."""
    books = ledger.books
    found = [(books.successor(doc) if books.is_void[doc] else doc, amount) for doc, amount in pairs]
    return [(doc, amount) for doc, amount in found if doc is not None and (payment, doc) not in ledger.forbidden]


def _leave_cancelled(ledger: Ledger, payment: int, doc: int) -> None:
    evidence = {"document": ledger.books.keys[doc], "document_state": Message("note.void").code, "valid_reissue": None}
    reason = Reason(Stage.NONE, "manual:match:cancelled", (doc,), evidence)
    ledger.decide(payment, Outcome.NO_DOCUMENT, reason, Code.PAID_CANCELLED_DOC)


def _conclude(ledger: Ledger, payment: int, pairs: list[tuple[int, int | None]]) -> None:
    """Decide the outcome of the match; a payment above the balance stays an exception until a person accepts it."""
    last = pairs[-1][0]
    over = -ledger.balance(last)
    reason = Reason(Stage.MANUAL, "manual:match")
    if over <= ledger.rules.amount_tolerance:
        ledger.decide(payment, _to_outcome(ledger, payment, pairs), reason)
        return
    amount = int(ledger.payments.amount[payment])
    evidence = {
        "document": ledger.books.keys[last], "amount": amount, "open_balance": amount - over, "difference": over,
    }  # fmt: skip
    reason = Reason(Stage.MANUAL, "manual:match", (), evidence)
    ledger.decide(payment, _to_outcome(ledger, payment, pairs), reason, Code.AMOUNT_DIFF)


def _to_outcome(ledger: Ledger, payment: int, pairs: list[tuple[int, int | None]]) -> Outcome:
    if len(pairs) > 1:
        return Outcome.SET
    balance = ledger.balance(pairs[0][0])
    if balance == 0 or int(ledger.payments.amount[payment]) == 0:
        return Outcome.MATCHED
    return Outcome.PARTIAL if balance > 0 else Outcome.MATCHED_WITH_DIFFERENCE
