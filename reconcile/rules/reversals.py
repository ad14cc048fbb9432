"""Money that went back: refunds against credit notes, disputes lost or open, and the VAT that moves with money."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import combinations
from typing import TypeAlias

import numpy as np
import pandas as pd
from pandas import DataFrame, Series

from reconcile.rules.columns import Cells, Ints, look_up
from reconcile.rules.documents import Note
from reconcile.rules.findings import About, to_finding
from reconcile.rules.inputs import DISPUTE, MONEY, REFUND, Evidence, Finding, Inputs, Row, rows_of
from reconcile.rules.ledger import Ledger, Reversal
from reconcile.rules.outcomes import CLOSED, DEAD, LOST, Code, FeeSource, Severity
from reconcile.rules.terms import BPS

_MOST_AT_ONCE = 12
Amounts = list[tuple[int, int]]
_IN_REVIEW = "in_review"
_SUBJECT = f"{DISPUTE}:"
_SECOND = "second_payout"


@dataclass(frozen=True, slots=True)
class DisputeLine:
    """A lost dispute as a line: of the payout that took it, or of none while it waits for one."""

    payout_id: str | None
    dispute_id: str
    resource_id: str
    amount: int
    currency: str
    ended_at: pd.Timestamp


def place_disputes(sums: DataFrame, inputs: Inputs) -> list[DisputeLine]:
    """Put lost disputes into the first payout created after they ended, where its identity or fee rate asks for it."""
    waiting = _list_waiting(inputs) if len(inputs.disputes) else {}
    placed = []
    for payout in rows_of(sums.loc[sorted(waiting)]):
        placed += _choose_fitting(waiting[payout.Index], payout, inputs.rules.fee_band_bps)
    return placed


def list_without_payout(inputs: Inputs) -> list[DisputeLine]:
    """Return lost disputes after which no living payout came: the next one may take them."""
    if inputs.disputes.empty:
        return []
    living = inputs.payouts[~inputs.payouts["status"].isin(DEAD)]
    last = living.groupby("currency")["created_at"].max()
    lost = _list_lost(inputs)
    newest = look_up(lost["currency"], last)
    waits = newest.isna() | (newest <= lost["ended_at"])
    return [_to_line(dispute, None) for dispute in rows_of(lost, waits)]


def _list_lost(inputs: Inputs) -> DataFrame:
    is_lost = inputs.disputes["status"].isin(LOST) & inputs.disputes["ended_at"].notna()
    return inputs.disputes[is_lost].sort_values(["ended_at", "dispute_id"])


def _list_waiting(inputs: Inputs) -> dict[str, list[DisputeLine]]:
    """Return for each payout the disputes it may hold: a dead payout passes them on to the next."""
    payouts = inputs.payouts.sort_values(["created_at", "payout_id"], ignore_index=True)
    waiting: dict[str, list[DisputeLine]] = {}
    for dispute in rows_of(_list_lost(inputs)):
        later = payouts[(payouts["created_at"] > dispute.ended_at) & (payouts["currency"] == dispute.currency)]
        for payout in rows_of(later):
            waiting.setdefault(str(payout.payout_id), []).append(_to_line(dispute, str(payout.payout_id)))
            if payout.status not in DEAD:
                break
    return waiting


def _to_line(dispute: Row, payout_id: str | None) -> DisputeLine:
    return DisputeLine(
        payout_id=payout_id,
        dispute_id=dispute.dispute_id,
        resource_id=dispute.resource_id,
        amount=int(dispute.amount),
        currency=dispute.currency,
        ended_at=dispute.ended_at,
    )


def _choose_fitting(disputes: list[DisputeLine], payout: Row, band_bps: int) -> list[DisputeLine]:
    """Choose all of them if that fits, else the only part of them that does."""
    if payout.fee_source != FeeSource.RESIDUAL and payout.over <= 0:
        return []
    if _fits(sum(dispute.amount for dispute in disputes), payout, band_bps):
        return disputes
    if len(disputes) > _MOST_AT_ONCE:
        return []
    fitting = [
        list(chosen)
        for size in range(1, len(disputes))
        for chosen in combinations(disputes, size)
        if _fits(sum(dispute.amount for dispute in chosen), payout, band_bps)
    ]
    return fitting[0] if len(fitting) == 1 else []


def _fits(amount: int, payout: Row, band_bps: int) -> bool:
    if payout.fee_source != FeeSource.RESIDUAL:
        return bool(payout.over == amount)
    fee, allowed = int(payout.fee) * BPS, band_bps * int(payout.gross)
    return fee > allowed and 0 <= fee - amount * BPS <= allowed


def find_lonely_refunds(ledger: Ledger, applied: DataFrame) -> list[Finding]:
    """Find refunds of invoiced sales that no credit note explains; what was paid too much needs none.

    Too much is what a document had been paid when the refund was made: a sale paid again was given back before.
    """
    lonely: dict[str, tuple[Reversal, int]] = {}
    for doc, found in find_uncovered(ledger, applied).items():
        for reversal, _, rest in found:
            if rest > 0 and not reversal.is_dispute:
                lonely.setdefault(reversal.resource_id, (reversal, doc))
    payment_of = {one.resource_id: place for place, made in ledger.payments.reversals.items() for one in made}
    return [_to_lonely_refund(ledger, refund, doc, payment_of[key]) for key, (refund, doc) in sorted(lonely.items())]


def find_lonely_notes(ledger: Ledger, applied: DataFrame) -> list[Finding]:
    """Find credit notes on paid documents for which no money was given back."""
    found: dict[int, list[tuple[Note, int]]] = defaultdict(list)
    first_paid = _find_first_days(ledger, applied)
    for doc in sorted(set(ledger.books.notes) & set(first_paid)):
        if ledger.balance(doc) < 0 and not ledger.books.is_void[doc]:
            late = [note for note in ledger.books.notes[doc] if note.day >= first_paid[doc]]
            for note in _keep_lonely(ledger, doc, late):
                found[note.doc].append((note, doc))
    return [_to_lonely_note(ledger, parts) for parts in found.values()]


def find_uncovered(ledger: Ledger, applied: DataFrame) -> dict[int, list[tuple[Reversal, int, int]]]:
    """Return for each document what went back of it, each with its amount there and the part that is not covered.

    Credit notes and what people accepted cover it, and payments beyond the total: of a refund those made by then, of
    a lost dispute any. A refund is covered whole or not at all.
    """
    docs = sorted(ledger.went_back)
    payments = _list_payments(ledger, applied, docs)
    return {doc: list(_list_uncovered(ledger, doc, payments[doc])) for doc in docs}


def _list_uncovered(ledger: Ledger, doc: int, payments: Amounts) -> Iterator[tuple[Reversal, int, int]]:
    notes = [note.amount for note in ledger.books.notes.get(doc, ())]
    beyond = int(ledger.books.credited[doc] + ledger.adjusted[doc] - ledger.books.total[doc])
    for reversal, amount in sorted(ledger.went_back[doc], key=lambda entry: entry[1] not in notes):
        counted = (paid for moment, paid in payments if reversal.is_dispute or moment <= reversal.at)
        left = beyond + sum(counted)
        beyond -= amount
        if reversal.is_dispute:
            yield reversal, amount, amount - min(amount, max(left, 0))
        else:
            is_covered = left > 0 if notes else left >= amount
            yield reversal, amount, 0 if is_covered else amount


def _list_payments(ledger: Ledger, applied: DataFrame, docs: list[int]) -> dict[int, Amounts]:
    """Return the moment and the amount of everything applied to some documents."""
    applied = applied[applied["doc"].isin(docs)]
    paid: dict[int, Amounts] = defaultdict(list)
    for payment, doc, amount in zip(*(applied[name].tolist() for name in ("payment", "doc", "applied")), strict=True):
        paid[doc].append((int(ledger.payments.moment[payment]), amount))
    return paid


def _keep_lonely(ledger: Ledger, doc: int, notes: list[Note]) -> list[Note]:
    amounts = [amount for _, amount in ledger.went_back.get(doc, ())]
    left = sum(amounts)
    lonely = []
    for note in sorted(notes, key=lambda written: written.amount not in amounts):
        if left <= 0:
            lonely.append(note)
        left -= note.amount
    return lonely


def _find_first_days(ledger: Ledger, applied: DataFrame) -> dict[int, int]:
    """Return the day of the first payment of each document that has notes."""
    noted = applied[applied["doc"].isin(list(ledger.books.notes))]
    days: dict[int, int] = {}
    for payment, doc in zip(noted["payment"].tolist(), noted["doc"].tolist(), strict=True):
        day = int(ledger.payments.day[payment])
        days[doc] = min(day, days.get(doc, day))
    return days


def _to_lonely_refund(ledger: Ledger, refund: Reversal, doc: int, payment: int) -> Finding:
    row = ledger.payments.frame.iloc[payment]
    key = str(ledger.books.keys[doc])
    about = About(
        subject=f"resource:{refund.resource_id}",
        currency=str(row["currency"]),
        payout_id=refund.payout_id,
        resource_id=refund.resource_id,
        doc_key=key,
        evidence={"refund": refund.amount, "payment": str(row["resource_id"]), "document": key, "credit_notes": 0}
        | _count_notes(ledger, doc),
    )
    return to_finding(Code.REFUND_NO_CREDIT_NOTE, about, at_risk=refund.amount)


def _count_notes(ledger: Ledger, doc: int) -> Evidence:
    notes = ledger.books.notes.get(doc, ())
    return {"credit_notes": len(notes), "credited": sum(note.amount for note in notes)}


def _to_lonely_note(ledger: Ledger, parts: Sequence[tuple[Note, int]]) -> Finding:
    """Return the finding of a note, with its parts on the documents for which no money was given back."""
    note, doc = parts[0]
    credited = sum(part.amount for part, _ in parts)
    frame = ledger.books.rows.iloc[ledger.books.place[note.doc]]
    key = str(frame["doc_key"])
    about = About(
        subject=f"document:{key}",
        currency=str(frame["currency"]),
        doc_key=key,
        evidence={
            "credit_note": credited,
            "document": str(ledger.books.keys[doc]),
            "paid": sum(int(ledger.paid[one]) for _, one in parts),
            "refunded": sum(int(ledger.reopened[one]) for _, one in parts),
            "issued": None if pd.isna(frame["issue_date"]) else frame["issue_date"].date().isoformat(),
        },
    )
    return to_finding(Code.CREDIT_NOTE_NO_REFUND, about, at_risk=credited)


def find_disputes(
    ledger: Ledger, applied: DataFrame, lines: Sequence[DisputeLine], inputs: Inputs
) -> Iterator[Finding]:
    """Find lost disputes that are not covered whole, and open ones."""
    if inputs.disputes.empty:
        return
    disputes = inputs.disputes.sort_values("dispute_id")
    lost, waiting = disputes[disputes["status"].isin(LOST)], disputes[~disputes["status"].isin(CLOSED)]
    if len(lost):
        dead = set(inputs.payouts["payout_id"][inputs.payouts["status"].isin(DEAD)])
        payouts = {line.dispute_id: line.payout_id for line in lines if line.payout_id not in dead}
        taken = _add_up_taken(ledger, applied)
        for row in rows_of(lost):
            own = taken.get(row.dispute_id, _Taken())
            at_risk = _to_risk(int(row.amount), own, ledger.rules.amount_tolerance)
            if at_risk > 0:
                yield _to_lost(row, own, payouts.get(row.dispute_id), at_risk=at_risk, inputs=inputs)
    if len(waiting):
        docs = _find_documents(ledger, applied, waiting["resource_id"])
        yield from (_to_open(row, docs, inputs) for row in rows_of(waiting))


def name_dispute_lines(
    findings: Sequence[Finding], lines: Sequence[DisputeLine]
) -> Iterator[tuple[str, str, str, str]]:
    """Return for each dispute that an exception names the code and its line."""
    codes = {found.subject.removeprefix(_SUBJECT): found.code for found in findings if _is_about_dispute(found)}
    for line in lines:
        if line.dispute_id in codes:
            yield codes[line.dispute_id], line.payout_id or "", DISPUTE, line.dispute_id


def _is_about_dispute(finding: Finding) -> bool:
    return finding.subject.startswith(_SUBJECT)


@dataclass(slots=True)
class _Taken:
    """What a lost dispute took back of documents, and how much of it they still ask for."""

    documents: list[str] = field(default_factory=list)
    amount: int = 0
    rest: int = 0


def _add_up_taken(ledger: Ledger, applied: DataFrame) -> dict[str, _Taken]:
    """Add up what lost disputes took back of documents, by the dispute's id."""
    found: dict[str, _Taken] = defaultdict(_Taken)
    for doc, parts in find_uncovered(ledger, applied).items():
        for reversal, amount, rest in parts:
            if reversal.is_dispute:
                taken = found[reversal.resource_id]
                taken.documents.append(str(ledger.books.keys[doc]))
                taken.amount += amount
                taken.rest += rest
    return found


def _to_risk(amount: int, taken: _Taken, tolerance: int) -> int:
    """What documents still ask for, and what was taken from none of them, which a person must resolve."""
    beyond = amount - taken.amount
    return taken.rest + (0 if taken.amount and beyond <= tolerance else beyond)


def _to_lost(row: Row, taken: _Taken, payout_id: str | None, *, at_risk: int, inputs: Inputs) -> Finding:
    ended_on = _to_local_day(row.ended_at, inputs)
    evidence = {
        "payment": _to_known(row.resource_id),
        "amount": int(row.amount),
        "dispute_state": row.status,
        "ended_on": _format_day(ended_on),
        "documents": taken.documents,
        "taken_back": taken.amount,
        "still_open": at_risk,
    }
    about = _to_about(row, taken.documents, evidence)
    about.payout_id, about.fact_on = payout_id, ended_on
    return to_finding(Code.DISPUTE_LOST, about, at_risk=at_risk)


def _to_open(row: Row, documents: dict[str, list[str]], inputs: Inputs) -> Finding:
    due_on = _to_local_day(row.due_at, inputs)
    left = None if due_on is None else inputs.calendar.days_between(inputs.as_of, due_on)
    evidence = {
        "payment": _to_known(row.resource_id),
        "amount": int(row.amount),
        "dispute_state": row.status,
        "due_on": _format_day(due_on),
        "bank_days_left": left,
    }
    severity = Severity.INFO
    if row.status != _IN_REVIEW:
        is_urgent = left is None or left <= inputs.rules.days_to_deadline
        severity = Severity.HIGH if is_urgent else Severity.MEDIUM
    about = _to_about(row, documents.get(row.resource_id, []), evidence)
    about.due_on = due_on
    return to_finding(Code.DISPUTE_OPEN, about, at_risk=int(row.amount), severity=severity)


def _to_about(row: Row, documents: list[str], evidence: Evidence) -> About:
    return About(
        subject=f"{_SUBJECT}{row.dispute_id}",
        currency=row.currency,
        resource_id=_to_known(row.resource_id),
        doc_key=documents[0] if len(documents) == 1 else None,
        evidence=evidence,
    )


def _find_documents(ledger: Ledger, applied: DataFrame, payment_ids: Series) -> dict[str, list[str]]:
    """Return the documents that some payments were applied to."""
    wanted = set(payment_ids.dropna())
    places = {place: key for place, key in enumerate(ledger.payments.ids) if key in wanted}
    own = applied[applied["payment"].isin(list(places))].sort_values(["payment", "doc"])
    found: dict[str, list[str]] = defaultdict(list)
    for payment, doc in zip(own["payment"].tolist(), own["doc"].tolist(), strict=True):
        found[places[payment]].append(str(ledger.books.keys[doc]))
    return found


def _to_local_day(moment: pd.Timestamp, inputs: Inputs) -> date | None:
    return None if pd.isna(moment) else moment.tz_convert(inputs.calendar.country.zone).date()


def _format_day(on: date | None) -> str | None:
    return None if on is None else on.isoformat()


def _to_known(text: str | None) -> str | None:
    return None if pd.isna(text) else str(text)


GivenBack: TypeAlias = Mapping[Reversal, int]


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
