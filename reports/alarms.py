"""What this room raises alarms for: grave exceptions that runs keep open, and logins past the identity provider."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlmodel import Session, col, select

from consumer.facts.alarms import CAUSES, Severity, Signal
from consumer.facts.bankdays import calendar_of
from consumer.facts.clock import format_instant, local_date, utc_now
from consumer.facts.installation import Connection, Installation
from consumer.facts.messages import Message, Value
from reconcile.desk.payers import RuleState
from reconcile.fiscal.calendar import find_near
from reconcile.kept.records import read_summary
from reconcile.rules.outcomes import OF_TAX
from reconcile.tables.desk import ExceptionRow, PayerRule
from reconcile.tables.runs import Run
from reports.queries.frames import latest_runs
from reports.queries.standing import totals_by_code
from reports.tables import AuditEntry, TrailMark

# A login with a password where people log in by the company's own identity provider.
BREAK_GLASS = "break-glass login"
_SHOWN_FOR = timedelta(days=1)
# So many causes an alarm of taxes names, those with most VAT.
_CAUSES_SHOWN = 3


def find_signals(session: Session, connection: Connection, now: datetime) -> Iterator[Signal]:
    """Yield a signal for each code of high exceptions that are open, each subject counted once."""
    open_now = (
        col(ExceptionRow.connection) == connection.name,
        col(ExceptionRow.severity) == Severity.HIGH,
        col(ExceptionRow.resolved_on).is_(None),
    )
    newest = _newest_by_code(session, open_now)
    found: dict[str, Signal] = {}
    for total in totals_by_code(session, ExceptionRow, open_now, sa.null()):
        before = found.get(total.code)
        amounts = {**(before.amounts if before else {}), total.currency: total.at_risk}
        count = total.count + (before.count if before else 0)
        found[total.code] = Signal(
            connection.name, f"exception:{total.code}", Severity.HIGH, count, {k: v for k, v in amounts.items() if v},
            found=f"{count} open", mark=newest[total.code],
        )  # fmt: skip
    yield from found.values()
    yield from _find_sent_back(session, connection.name)
    yield from _find_due(session, connection, now)
    if connection.name == "main":
        yield from _find_break_glass(session, now)
        yield from _find_failed_trail(session)


def _newest_by_code(session: Session, conditions: Sequence[sa.ColumnElement[bool]]) -> dict[str, str]:
    """Return for each code what grows when an exception opens, or opens again."""
    first = sa.and_(col(Run.connection) == col(ExceptionRow.connection), col(Run.id) == col(ExceptionRow.run_first))
    asked = (
        sa.select(col(ExceptionRow.code), sa.func.max(col(ExceptionRow.opened_on)), sa.func.max(col(Run.number)))
        .outerjoin(Run, first)
        .where(*conditions)
        .group_by(col(ExceptionRow.code))
    )
    return {code: f"{opened_on} {number or 0:09}" for code, opened_on, number in session.execute(asked)}


def _find_sent_back(session: Session, connection: str) -> Iterator[Signal]:
    mine = (col(PayerRule.connection) == connection, col(PayerRule.state) == RuleState.SENT_BACK)
    numbers = session.scalars(sa.select(col(PayerRule.id)).where(*mine).order_by(col(PayerRule.id))).all()
    if numbers:
        yield Signal(connection, "payers", CAUSES["payers"], len(numbers), found=f"{len(numbers)} sent back")


def _find_due(session: Session, connection: Connection, now: datetime) -> Iterator[Signal]:
    """Yield what is due to the tax office within days and not declared, worth the VAT of what is open of its month.

    On its last day it is grave.
    """
    today = local_date(now, connection.country.zone)
    for due in find_near(session, connection, calendar_of(connection.country_code), today):
        severity = CAUSES["tax_duty"] if due.days_left else Severity.HIGH
        causes = _add_up_causes(session, connection.name, due.period)
        found = f"{due.duty.code} of {due.period} is due on {due.on}"
        found += "".join(f"; {code} {amount}" for code, amount in causes.most_common(_CAUSES_SHOWN))
        amounts = {connection.country.currency: causes.total()} if causes.total() else {}
        yield Signal(connection.name, f"tax_duty:{due.duty.code}", severity, due.days_left, amounts, found=found)


def _add_up_causes(session: Session, connection: str, period: str) -> Counter[str]:
    """Return what depends on the open exceptions of a month's taxes, by code."""
    sums: Counter[str] = Counter()
    mine = (col(ExceptionRow.connection) == connection, col(ExceptionRow.resolved_on).is_(None))
    asked = select(ExceptionRow).where(*mine, col(ExceptionRow.code).in_(OF_TAX))
    for row in session.exec(asked):
        if json.loads(row.evidence).get("period") == period:
            sums[row.code] += row.amount_at_risk
    return sums


def _find_failed_trail(session: Session) -> Iterator[Signal]:
    since = session.scalar(sa.select(sa.func.min(col(TrailMark.failed_since))))
    if since is not None:
        yield Signal("", "trail", CAUSES["trail"], found=f"not handed on since {format_instant(since)}")


def _find_break_glass(session: Session, now: datetime) -> Iterator[Signal]:
    entry = (col(AuditEntry.action) == BREAK_GLASS, col(AuditEntry.at) > now - _SHOWN_FOR)
    asked = sa.select(sa.func.count(), sa.func.max(col(AuditEntry.at))).where(*entry)
    count, newest = session.execute(asked).one()
    if count:
        mark = format_instant(newest)
        yield Signal("", "break_glass", CAUSES["break_glass"], count, found=f"{count} in a day", mark=mark)


def find_headline(installation: Installation) -> list[str]:
    """Return the lines of the morning, one for each connection: how the newest run ended and what is at risk."""
    now = utc_now()
    with installation.store.reading() as session:
        return [_headline(session, connection, now).to_text() for connection in installation.settings.all_connections]


def _headline(session: Session, connection: Connection, now: datetime) -> Message:
    runs = latest_runs(session, [connection.name], today=local_date(now, connection.country.zone))
    if not runs:
        return Message("alarm.headline_without_run", {"connection": connection.name})
    summary = read_summary(runs[0])
    values: dict[str, Value] = {
        "connection": connection.name,
        "day": runs[0].as_of.isoformat(),
        "closed": summary["payouts_closed"],
        "payouts": summary["payouts"],
        "exceptions": sum(summary["exceptions"].values()),
        "high": summary.get("severities", {}).get(Severity.HIGH, 0),
        "at_risk": json.dumps({name: one["amount"] for name, one in summary.get("value_at_risk", {}).items()}),
    }
    return Message("alarm.headline" if runs[0].complete else "alarm.headline_incomplete", values)
