"""Finds what a reader writes: the newest of each kind, whole words first, with its name and how it stands now."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from itertools import chain, product
from operator import itemgetter
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa
from sqlmodel import Session, SQLModel, col

from consumer.facts.messages import list_words
from consumer.facts.names import format_tax_id, name_document
from consumer.facts.tables.provider import Charge, Dispute, PaymentIntent, Payout, PayoutItem, Refund
from consumer.facts.tables.types import core_of
from reconcile.kept import chunks, extracts
from reconcile.rules.outcomes import Code
from reconcile.tables.books import BankLine, LocalInvoice
from reconcile.tables.desk import ExceptionRow
from reconcile.tables.runs import PayoutResult, Run
from reports.queries import names
from reports.queries.frames import latest_runs, of_runs
from reports.queries.names import Reader, join_name, name_money
from reports.search import words
from reports.search.sources import to_code_word
from reports.search.words import Term
from reports.tables import SearchRow
from reports.wording import phrases

_ROW = core_of(SearchRow)
_PLACE = (_ROW.c.id, _ROW.c.connection, _ROW.c.kind, _ROW.c.key)
_INDEX = sa.table("search_index", sa.column("rowid", sa.Integer), sa.column("search_index", sa.String))
Place: TypeAlias = tuple[str, str]
Line: TypeAlias = sa.ColumnElement[str]
Match: TypeAlias = sa.ColumnElement[bool]
Holds: TypeAlias = Callable[[Line], Match]
# A word that more rows hold is common: then the newest rows of each kind are looked through instead.
_MOST_READ = 4_000
_NEWEST = 3_000
_ENDED = {"failed", "rejected", "expired", "canceled"}


@dataclass(frozen=True, slots=True)
class Hit:
    """Something found: its name, a second line about it, and its state as a group and key of words."""

    kind: str
    connection: str
    key: str
    name: str
    detail: str = ""
    state: tuple[str, str] = ("", "")
    payout_id: str | None = None


def find(
    session: Session, connections: Sequence[str], text: str, kinds: Sequence[str], limit: int, reader: Reader
) -> list[Hit]:
    """Return what a text finds in these connections, at most `limit` of each kind, in the order of `kinds`.

    A text that `is_searchable` refuses finds nothing.
    """
    found: list[Hit] = []
    terms = _read(text, reader)
    if not connections or not is_searchable(text, reader):
        return found
    runs = latest_runs(session, connections, today=reader.today or date.max)
    every = _find_places(session, connections, kinds, terms, limit)
    if "exception" in kinds and (codes := _find_codes(text, reader.language)):
        titled = _find_places(session, connections, ["exception"], codes, limit)["exception"]
        every["exception"] = list(dict.fromkeys([*titled, *every["exception"]]))[:limit]
    for kind, places in every.items():
        hits = _SHOW[kind](session, places, runs, reader) if places else {}
        found += [hits[place] for place in places if place in hits]
    return found


def is_searchable(text: str, reader: Reader) -> bool:
    """Return False for text without a letter or digit, or of one alone, which stands in every row."""
    every = [word for term in _read(text, reader) for group in (*term.groups, term.whole) for word in group]
    return any(len(word) > 1 for word in every)


def _read(text: str, reader: Reader) -> list[Term]:
    return words.drop_kinds(words.read_terms(text, reader.today), list_words("kind", reader.language))


def _find_codes(text: str, language: str) -> list[Term]:
    titles = [(code, phrases.code_title(code, language)) for code in Code]
    codes = tuple(to_code_word(code) for code in words.to_codes(text, titles))
    return [Term(whole=codes)] if codes else []


def _find_places(
    session: Session, connections: Sequence[str], kinds: Sequence[str], terms: Sequence[Term], limit: int
) -> dict[str, list[Place]]:
    """Return connection and key of the newest rows of each kind that hold every term.

    First those with the words as they stand, then those in which the last one only begins a word, as it does while
    one types. Only where both find nothing, every word may be a beginning: that reads most. Of words that very many
    rows hold, only the newest rows of each kind are looked through.
    """
    found: dict[str, dict[Place, None]] = {kind: {} for kind in kinds}
    is_sqlite, is_common = session.connection().dialect.name == "sqlite", False
    rows: Sequence[Any] = ()
    newest: Sequence[Any] = ()
    for beginnings in sorted({0, 1, len(terms)}):
        lacking = [kind for kind, places in found.items() if len(places) < limit]
        if not lacking or (beginnings == len(terms) > 1 and any(found.values())):
            break
        expression = words.to_expression(terms, is_sqlite=is_sqlite, beginnings=beginnings)
        if not is_common:
            rows = session.execute(_select_matches(expression, is_sqlite=is_sqlite).limit(_MOST_READ)).all()
            is_common = len(rows) == _MOST_READ
        if is_common:
            branches = words.to_branches(terms, beginnings)
            holds = partial(_is_in_text, branches) if is_sqlite else partial(_is_match, expression)
            places = product(lacking, connections)
            newest = [row for place in places for row in session.execute(_select_newest(holds, *place).limit(limit))]
        for _, connection, kind, key in chain(
            *(sorted(some, key=itemgetter(0), reverse=True) for some in (newest, rows))
        ):
            if kind in lacking and len(found[kind]) < limit and connection in connections:
                found[kind][connection, key] = None
    return {kind: list(places) for kind, places in found.items()}


def _select_matches(expression: str, *, is_sqlite: bool) -> sa.Select[Any]:
    """Select rows in the order that costs least: PostgreSQL would read all matches to find the newest."""
    columns = sa.select(*_PLACE)
    if not is_sqlite:
        return columns.where(_is_match(expression, _ROW.c.words))
    joined = columns.join(_INDEX, _INDEX.c.rowid == _ROW.c.id)
    return joined.where(_INDEX.c.search_index.op("MATCH")(expression)).order_by(_INDEX.c.rowid.desc())


def _select_newest(holds: Holds, kind: str, connection: str) -> sa.Select[Any]:
    """Walk back over the newest rows of a kind: their numbers alone are in an index, which has them in this order."""
    own = (_ROW.c.connection == connection, _ROW.c.kind == kind)
    newest = sa.select(_ROW.c.id).where(*own).order_by(_ROW.c.id.desc()).limit(_NEWEST).subquery()
    joined = sa.select(*_PLACE).join(newest, newest.c.id == _ROW.c.id)
    return joined.where(holds(_ROW.c.words)).order_by(newest.c.id.desc())


def _is_match(expression: str, line: Line) -> Match:
    return line.op("@@", is_comparison=True)(sa.func.to_tsquery("simple", expression))


def _is_in_text(branches: list[list[list[tuple[str, bool]]]], line: Line) -> Match:
    """Return what holds of a line of words between blanks, where the index would be read from its beginning."""

    def one(word: str, *, may_begin: bool) -> Match:
        return sa.func.instr(" " + line + " ", f" {word}" if may_begin else f" {word} ") > 0

    return sa.and_(
        *(
            sa.or_(*(sa.and_(*(one(word, may_begin=may) for word, may in group)) for group in groups))
            for groups in branches
        )
    )


def _load(session: Session, table: type[SQLModel], key: str, places: Iterable[Place]) -> dict[Place, Any]:
    """Read the rows that were found; one that is gone is left out."""
    columns = core_of(table).c
    by_connection: dict[str, list[str]] = {}
    for connection, one in places:
        by_connection.setdefault(connection, []).append(one)
    return {
        (connection, getattr(row, key)): row
        for connection, keys in by_connection.items()
        for row in session.scalars(sa.select(table).where(columns.connection == connection, columns[key].in_(keys)))
    }


def _show_documents(session: Session, places: Sequence[Place], runs: Sequence[Run], reader: Reader) -> dict[Place, Hit]:
    rows, standing = _load(session, LocalInvoice, "doc_key", places), _read_balances(session, runs, places)
    began = {run.connection: run.started_at for run in runs}
    found = {}
    for place, row in rows.items():
        connection = place[0]
        who = row.customer_name or format_tax_id(row.customer_tax_id)
        detail = name_money(reader, who, row.issue_date, row.total, row.currency, zone=reader.zone_of(connection))
        is_judged = connection in began and row.updated_at < began[connection]
        state = ("document", "void") if row.status != "valid" else ("found", "settled" if is_judged else "new")
        if row.status == "valid" and place in standing:
            state = ("document", standing[place])
        name = name_document(row.country, row.doc_type, row.series, row.folio, row.uuid, reader.language)
        found[place] = Hit("document", *place, name, detail, state)
    return found


def _read_balances(session: Session, runs: Sequence[Run], places: Sequence[Place]) -> dict[Place, str]:
    """Return the state of each of these documents that has a balance in the newest run."""
    found: dict[Place, str] = {}
    for run in runs:
        keys = [key for connection, key in places if connection == run.connection]
        if keys:
            owed = extracts.read(session, run, chunks.RECEIVABLE, ["doc_key", "outcome"])
            mine = owed.filter(pc.is_in(owed["doc_key"], value_set=pa.array(keys, type=owed["doc_key"].type)))
            found |= {(run.connection, row["doc_key"]): row["outcome"] for row in mine.to_pylist()}
    return found


def _show_payouts(session: Session, places: Sequence[Place], runs: Sequence[Run], reader: Reader) -> dict[Place, Hit]:
    rows = _load(session, Payout, "id", places)
    asked = sa.select(col(PayoutResult.connection), col(PayoutResult.payout_id), col(PayoutResult.status_recon))
    mine = (of_runs(PayoutResult, runs), col(PayoutResult.payout_id).in_([key for _, key in places]))
    stood = {(connection, key): ("status", state) for connection, key, state in session.execute(asked.where(*mine))}
    found = {}
    for place, row in rows.items():
        name = name_money(reader, None, row.created_at, row.amount, row.currency, zone=reader.zone_of(place[0]))
        state = stood.get(place, ("payout", row.status or ""))
        bank = reader.bank_name(row.recipient_institution)
        found[place] = Hit("payout", *place, join_name(name, bank) or row.id, "", state)
    return found


def _show_items(kind: str, table: type[SQLModel]) -> Callable[..., dict[Place, Hit]]:
    def show(session: Session, places: Sequence[Place], _runs: Sequence[Run], reader: Reader) -> dict[Place, Hit]:
        rows, paid_out = _load(session, table, "id", places), _find_payouts(session, places)
        named: dict[Place, str] = {}
        for connection in {place[0] for place in rows}:
            keys = [key for own, key in rows if own == connection]
            found = names.name_items(session, connection, keys, reader)
            named |= {(connection, key): name for key, name in found.items()}
        return {
            place: Hit(kind, *place, named.get(place, place[1]), "", _state_of(kind, row, paid_out.get(place)),
                       paid_out.get(place))
            for place, row in rows.items()
        }  # fmt: skip

    return show


def _state_of(kind: str, row: Any, payout_id: str | None) -> tuple[str, str]:
    if kind == "dispute":
        return "dispute", row.status or ""
    if payout_id:
        return "found", "paid_out"
    if row.status == "succeeded":
        return "found", "in_transit"
    return "found", "failed" if row.status in _ENDED else "pending"


def _find_payouts(session: Session, places: Sequence[Place]) -> Mapping[Place, str]:
    item = PayoutItem
    asked = sa.select(col(item.connection), col(item.resource_id), col(item.payout_id))
    rows = session.execute(asked.where(col(item.resource_id).in_([key for _, key in places])))
    return {(connection, key): payout_id for connection, key, payout_id in rows}


def _show_lines(session: Session, places: Sequence[Place], _runs: Sequence[Run], reader: Reader) -> dict[Place, Hit]:
    found = {}
    for place, row in _load(session, BankLine, "id", places).items():
        name = name_money(reader, None, row.booked_on, row.amount, row.currency, zone=reader.zone_of(place[0]))
        found[place] = Hit("bank_line", *place, name, join_name(row.text, row.reference))
    return found


def _show_exceptions(
    session: Session, places: Sequence[Place], _runs: Sequence[Run], reader: Reader
) -> dict[Place, Hit]:
    found = {}
    for place, row in _load(session, ExceptionRow, "id", places).items():
        zone = reader.zone_of(place[0])
        detail = name_money(reader, row.customer_name, row.fact_on, row.amount_at_risk, row.currency, zone=zone)
        title = phrases.code_title(row.code, reader.language)
        found[place] = Hit("exception", *place, title, detail, ("exception", row.state))
    return found


_SHOW: Mapping[str, Callable[..., dict[Place, Hit]]] = {
    "document": _show_documents,
    "payout": _show_payouts,
    "payment": _show_items("payment", PaymentIntent),
    "charge": _show_items("charge", Charge),
    "refund": _show_items("refund", Refund),
    "dispute": _show_items("dispute", Dispute),
    "bank_line": _show_lines,
    "exception": _show_exceptions,
}
