"""A payout tied to a line of the bank by hand, and the lines and payouts that are free for it."""

from datetime import date

import pyarrow.compute as pc
import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.facts.money import format_decimal
from consumer.facts.store import Row, Turn, take_turn
from reconcile.desk.decisions import DecisionError, Kind, Pair, Signature, find_payout, record_decision
from reconcile.kept import chunks, extracts
from reconcile.kept.records import last_run, read_summary
from reconcile.rules.terms import BPS, RuleSet
from reconcile.tables.desk import Decision
from reconcile.tables.runs import Run


def tie(session: Session, pair: Pair, signed: Signature, *, today: date, seen: int | None = None) -> Decision:
    """Tie a payout to the line of the bank that brought it, on every later run.

    The line is one of the newest run; it may be named by either of the two sources that show it.
    """
    take_turn(session, Turn.PERIODS)
    payout = find_payout(session, pair)
    if payout is None:
        raise DecisionError("desk.no_payout", payout=pair.resource_id, connection=pair.connection)
    if payout.status != "succeeded":
        raise DecisionError("desk.payout_not_paid", payout=pair.resource_id)
    line, run = _find_line(session, pair, today)
    pair = Pair(pair.connection, pair.resource_id, str(line["movement_id"]))
    _check_free(session, pair, line)
    currency = str(line["currency"])
    if currency != payout.currency:
        raise DecisionError("desk.line_currency", line=currency, payout=str(payout.currency))
    paid, brought = payout.amount or 0, int(line["amount_signed"])
    if not may_bring(run, brought, paid):
        raise DecisionError(
            "desk.line_amount", paid=format_decimal(paid, currency), brought=format_decimal(brought, currency),
            currency=currency, share=f"{share_of(run):g}",
        )  # fmt: skip
    return record_decision(session, Kind.TIE, pair, signed, amount=None, seen=seen)


def share_of(run: Run) -> float:
    """Return by how many percent a run lets a deposit differ from its payout; the default if it is older than that."""
    bps = read_summary(run)["tolerances"].get("bank_amount_bps", RuleSet().bank_amount_bps)
    return bps * 100 / BPS


def may_bring(run: Run, brought: int, paid: int) -> bool:
    """Return whether a deposit is near enough to a payout for a person to tie them."""
    return abs(brought - paid) * 100 <= share_of(run) * paid


def find_ties(session: Session, connection: str, column: str, value: str) -> list[Decision]:
    """Return the ties that hold of a payout (`resource_id`) or a line (`doc_key`)."""
    mine = (col(Decision.connection) == connection, col(Decision.kind) == Kind.TIE, col(Decision.undone_by).is_(None))
    return list(session.scalars(sa.select(Decision).where(*mine, getattr(Decision, column) == value)))


def _find_line(session: Session, pair: Pair, today: date) -> tuple[Row, Run]:
    """Return the line as the newest run shows it, and that run."""
    run = last_run(session, pair.connection, today=today)
    if run is not None:
        table = extracts.read(session, run, chunks.BANK)
        names = (pc.equal(table[name], pair.doc_key).fill_null(False) for name in ("movement_id", "file_line_id"))
        for row in chunks.to_rows(table.filter(pc.or_(*names))):
            return row, run
    raise DecisionError("desk.no_bank_line", line=pair.doc_key)


def _check_free(session: Session, pair: Pair, line: Row) -> None:
    """Refuse a line that brought another payout, by a person's word or by the run's, and a payout that is tied."""
    other = next((one for one in find_ties(session, pair.connection, "resource_id", pair.resource_id)), None)
    if other is not None and other.doc_key != pair.doc_key:
        raise DecisionError("desk.payout_tied", payout=pair.resource_id, author=other.author)
    taken = [one.resource_id for one in find_ties(session, pair.connection, "doc_key", pair.doc_key)]
    of_run = line["payout_id"]
    if of_run is not None and not _was_taken_back(session, pair, str(of_run)):
        taken.append(str(of_run))
    for payout_id in taken:
        if payout_id != pair.resource_id:
            raise DecisionError("desk.line_taken", payout=payout_id)
        raise DecisionError("desk.tied_already", payout=payout_id)


def _was_taken_back(session: Session, pair: Pair, payout_id: str) -> bool:
    """Return whether the run has it from a tie that holds no longer."""
    mine = (col(Decision.connection) == pair.connection, col(Decision.kind) == Kind.TIE)
    about = (col(Decision.resource_id) == payout_id, col(Decision.doc_key) == pair.doc_key)
    undone = sa.select(col(Decision.id)).where(*mine, *about, col(Decision.undone_by).is_not(None))
    return session.scalar(undone) is not None
