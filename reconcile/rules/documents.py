"""The merchant's documents to be paid, oldest due first: what they claim, their notes, their windows and re-issues."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import pandas as pd
from pandas import DataFrame, Series

from consumer.facts.money import split_amount
from consumer.facts.taxids import GENERIC_RFCS, GENERIC_RUTS
from reconcile.rules.columns import (
    Cells,
    Indices,
    Ints,
    Mask,
    Texts,
    Words,
    are_in,
    share_texts,
    shift_days,
    sort_rows,
    to_day_numbers,
)
from reconcile.rules.inputs import DAY, TEXT, Inputs
from reconcile.rules.kinds import CREDIT_NOTES, DEBIT_NOTES, NO_CLAIMS, VOID_STATES
from reconcile.rules.terms import RuleSet

_MOST_REISSUES = 10
_READ = ("doc_key", "doc_type", "folio", "uuid", "issue_date", "customer_tax_id", "total", "currency", "status",
         "payment_method", "ref_type", "ref_number")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Note:
    """A valid credit note on a document, or the part of one that names several."""

    doc: int
    day: int
    amount: int


@dataclass(frozen=True, slots=True)
class Books:
    """Columns of one length; a document is its position in them. Only claims can be paid.

    `rows` are the documents as they came in, and `place` is where among them each one stands.
    """

    rows: DataFrame
    place: Indices
    keys: Words
    total: Ints
    currency: Ints
    customer: Ints
    tax_id: Texts
    money: Words
    is_ppd: Mask
    is_claim: Mask
    is_void: Mask
    issue: Ints
    due: Ints
    since: Ints
    until: Ints
    notes: dict[int, list[Note]]
    reissues: dict[int, list[int]]
    credited: Ints
    # Numbers that documents of closed days bear which are not here.
    numbers: DataFrame

    def __len__(self) -> int:
        return len(self.keys)

    def column(self, name: str, docs: Indices | None = None) -> Cells:
        """Return a column of all documents or of some; −1 stands for none, whose value is missing."""
        places = self.place if docs is None else np.append(self.place, -1)[docs]
        cells: Cells = self.rows[name].array.take(places, allow_fill=True)
        return cells

    def sum_notes_before(self, doc: int, day: int) -> int:
        """Add up the notes written before a day."""
        return sum(note.amount for note in self.notes.get(doc, ()) if note.day < day)

    def is_credited_before(self, doc: int, day: int) -> bool:
        return doc in self.notes and self.sum_notes_before(doc, day) >= int(self.total[doc])

    def is_called_off(self, doc: int) -> bool:
        """Return whether notes, whenever they were written, take a document back whole."""
        return doc in self.notes and int(self.credited[doc]) >= int(self.total[doc])

    def successor(self, doc: int) -> int | None:
        """Follow a void or credited document to the one valid invoice that was issued in its place."""
        for _ in range(_MOST_REISSUES):
            again = [other for other in self.reissues.get(doc, ()) if self._replaces(other, doc)]
            valid = [other for other in again if not self.is_void[other]]
            if len(valid) == 1:
                return valid[0]
            if valid or len(again) != 1:
                return None
            doc = again[0]
        return None

    def name_reissue(self, doc: int) -> str | None:
        """Return the key of the one valid invoice that refers to a dead document, whatever its customer and total."""
        valid = [other for other in self.reissues.get(doc, ()) if not self.is_void[other] and other != doc]
        return str(self.keys[valid[0]]) if len(valid) == 1 else None

    def _replaces(self, other: int, doc: int) -> bool:
        same = self.customer[other] == self.customer[doc] and self.total[other] == self.total[doc]
        return bool(same and self.currency[other] == self.currency[doc] and other != doc)


def sort_documents(inputs: Inputs) -> DataFrame:
    """Order documents by due date, issue date and key, and complete the due date where it is missing."""
    term = pd.Timedelta(days=inputs.rules.due_days)
    due = inputs.documents["due_date"].fillna(inputs.documents["issue_date"] + term)
    frame = inputs.documents[list(_READ)].assign(due_on=due.astype(DAY), place=np.arange(len(due)))
    return sort_rows(frame, ["due_on", "issue_date", "doc_key"])


def find_customers(frame: DataFrame, rules: RuleSet) -> Series:
    generic = GENERIC_RUTS | GENERIC_RFCS | set(rules.generic_tax_ids)
    return frame["customer_tax_id"].mask(frame["customer_tax_id"].isin(generic))


def to_books(frame: DataFrame, codes: tuple[Ints, Ints], inputs: Inputs) -> Books:
    currency, customer = codes
    is_void = _are_void(frame)
    claims = are_claims(frame["doc_type"])
    total = frame["total"].to_numpy(dtype=np.int64)
    links = _link(frame)
    notes = _group_notes(links, frame, currency)
    credited = np.zeros(len(frame), dtype=np.int64)
    for doc, written in notes.items():
        credited[doc] = sum(note.amount for note in written)
    rules, calendar = inputs.rules, inputs.calendar
    return Books(
        rows=inputs.documents,
        place=frame["place"].to_numpy(),
        keys=frame["doc_key"].to_numpy(dtype=object),
        total=total,
        currency=currency,
        customer=customer,
        tax_id=Texts(frame["customer_tax_id"]),
        money=share_texts(frame["currency"]),
        is_ppd=(frame["payment_method"].str.upper() == "PPD").to_numpy(dtype=bool),
        is_claim=claims,
        is_void=is_void,
        issue=to_day_numbers(frame["issue_date"]),
        due=to_day_numbers(frame["due_on"]),
        since=to_day_numbers(shift_days(frame["issue_date"], -rules.days_before_issue, calendar)),
        until=to_day_numbers(shift_days(frame["due_on"], rules.days_after_due, calendar)),
        notes=notes,
        reissues=_group_reissues(links, claims & ~_are_of(frame["doc_type"], DEBIT_NOTES)),
        credited=credited,
        numbers=inputs.numbers,
    )


def are_claims(doc_types: Series) -> Mask:
    """Return which kinds of documents can be paid."""
    return ~_are_of(doc_types, CREDIT_NOTES) & ~_are_of(doc_types, NO_CLAIMS)


def _are_of(doc_types: Series, kinds: Collection[str]) -> Mask:
    return are_in(doc_types.str.upper(), kinds)


def _are_void(frame: DataFrame) -> Mask:
    return are_in(frame["status"].str.strip().str.lower(), VOID_STATES)


def find_notes(documents: DataFrame) -> DataFrame:
    """Return what valid credit notes take from documents: the document, the note's day and its part."""
    frame = documents.reset_index(drop=True)
    notes = _group_notes(_link(frame), frame, pd.factorize(frame["currency"])[0])
    keys = frame["doc_key"].to_numpy(dtype=object)
    rows = [(keys[doc], int(note.day), note.amount) for doc, written in notes.items() for note in written]
    found = DataFrame(rows, columns=["doc_key", "day", "amount"]).astype({"amount": "int64"})
    return found.assign(day=pd.to_datetime(found["day"], unit="D"))


def _link(frame: DataFrame) -> DataFrame:
    """Pair each document that refers to others (`source`) with each of them (`target`), if all of them are here."""
    refs = _list_references(frame) if frame["ref_number"].notna().any() else DataFrame()
    if refs.empty:
        return DataFrame({"source": np.array([], dtype=np.int64), "target": np.array([], dtype=np.int64)})
    named = DataFrame({
        "target": np.arange(len(frame)),
        "uuid": frame["uuid"].str.upper(),
        "folio": frame["folio"].str.lstrip("0"),
        "kind": frame["doc_type"].str.upper(),
        "customer": frame["customer_tax_id"],
    })  # fmt: skip
    by_uuid = refs.merge(named.dropna(subset=["uuid"])[["target", "uuid"]], left_on="number", right_on="uuid")
    loose = refs.assign(folio=refs["number"].str.lstrip("0"))
    by_folio = loose.merge(named.dropna(subset=["folio"]), on=["kind", "folio"])
    # A folio that several series have is decided by the customer.
    is_only = ~by_folio.duplicated(["source", "line"], keep=False)
    by_folio = by_folio[is_only | (by_folio["payer"].fillna("") == by_folio["customer"].fillna(""))]
    columns = ["source", "line", "target"]
    pairs = pd.concat([by_uuid[columns], by_folio[columns]]).drop_duplicates()
    pairs = pairs[(pairs["source"] != pairs["target"]) & ~pairs.duplicated(["source", "line"], keep=False)]
    asked = refs.groupby("source")["line"].nunique()
    is_whole = pairs.groupby("source")["line"].transform("nunique") == pairs["source"].map(asked)
    return pairs.loc[is_whole, ["source", "target"]].drop_duplicates()


def _list_references(frame: DataFrame) -> DataFrame:
    """Return a row for each number that a document refers to; spaces stand between several, and between their kinds."""
    has_ref = frame["ref_number"].notna().to_numpy()
    number = frame["ref_number"][has_ref].str.upper().str.split()
    kind = frame["ref_type"][has_ref].fillna("").str.strip().str.upper()
    kinds = [said.split() if len(said.split()) == len(of) else [said] * len(of)
             for said, of in zip(kind, number, strict=True)]  # fmt: skip
    refs = DataFrame({"source": np.flatnonzero(has_ref), "number": number.array, "kind": kinds,
                      "payer": frame["customer_tax_id"][has_ref].array})  # fmt: skip
    refs = refs.explode(["number", "kind"], ignore_index=True).dropna(subset=["number"]).astype({"number": TEXT})
    return refs.assign(kind=refs["kind"].astype(TEXT), line=np.arange(len(refs)))


def _group_notes(links: DataFrame, frame: DataFrame, currency: Ints) -> dict[int, list[Note]]:
    """Return the valid notes on each document; of one on several, each has its part by their totals."""
    grouped: dict[int, list[Note]] = {}
    if links.empty:
        return grouped
    is_note = _are_of(frame["doc_type"], CREDIT_NOTES) & ~_are_void(frame)
    days, totals = to_day_numbers(frame["issue_date"]), frame["total"].to_numpy(dtype=np.int64)
    written = links[is_note[links["source"].to_numpy(dtype=np.int64)]].sort_values(["source", "target"])
    for source, named in written.groupby("source")["target"]:
        docs = named.to_numpy(dtype=np.int64)
        if (currency[docs] != currency[source]).any():
            continue
        parts = split_amount(abs(int(totals[source])), totals[docs].tolist())
        for doc, part in zip(docs.tolist(), parts, strict=True):
            grouped.setdefault(doc, []).append(Note(int(source), int(days[source]), part))
    return {doc: sorted(notes, key=lambda note: (note.day, note.doc)) for doc, notes in grouped.items()}


def _group_reissues(links: DataFrame, can_replace: Mask) -> dict[int, list[int]]:
    grouped: dict[int, list[int]] = {}
    if links.empty:
        return grouped
    single = links[~links.duplicated("source", keep=False)]
    for source, target in single.sort_values(["target", "source"]).to_numpy():
        if can_replace[source]:
            grouped.setdefault(int(target), []).append(int(source))
    return grouped
