"""The errands that pages offer, as functions of the rooms that do them."""

from collections.abc import Callable, Sequence
from datetime import date

import structlog
from sqlmodel import Session

from consumer import disputes
from consumer.alarms import outbox, states
from consumer.alarms.targets import read_targets
from consumer.alarms.wording import advice_of, content_of, sentence_of_alarm
from consumer.facts.alarms import AlarmDesk, ShownAlarm
from consumer.facts.clock import utc_now
from consumer.facts.installation import Connection, Installation
from consumer.facts.messages import Message, parse_message
from consumer.facts.work import Errands, WorkError, closing_job, run_job
from consumer.inbox.apply import drain
from consumer.inbox.events import Replay
from consumer.jobs import by_hand, ticks
from consumer.jobs.processes import Ended
from consumer.jobs.schedule import JobFailedError
from consumer.jobs.worker import worker_name
from consumer.sync.backfill import backfill
from consumer.sync.outcomes import Outcome
from consumer.sync.pull import pull
from consumer.sync.streams import ALL, STREAMS

log = structlog.get_logger("cuadre.jobs")

# A run in a process of its own.
StartRun = Callable[[Installation, Connection, date], Ended]


def errands(installation: Installation, run: StartRun | None = None, close: StartRun | None = None) -> Errands:
    """Return the errands of this installation; long ones run in a background thread."""

    def replay(names: Sequence[tuple[str, str]], by: str) -> list[dict[str, object]]:
        return [one.to_line() for one in Replay(installation.store, installation.settings, utc_now, by).run(names)]

    def start_pull(connection: Connection, stream: str, by: str) -> None:
        wanted = list(STREAMS) if stream == ALL else [stream]
        _start(
            installation,
            f"pull:{connection.name}:{stream}",
            by,
            lambda: _outcome_of(lambda: pull(installation, connection, wanted)),
        )

    def start_backfill(connection: Connection, by: str) -> None:
        def work() -> tuple[bool, str]:
            ended = _outcome_of(lambda: backfill(installation, connection))
            # Without this a page that shows the events would be ahead of the facts behind the lists.
            drain(installation.store, installation.settings, worker=worker_name())
            return ended

        _start(installation, f"backfill:{connection.name}", by, work)

    start_run, cancel_run = _runs_by_hand(installation, run) if run else (None, None)
    closing = _closing_by_hand(installation, close) if close else None
    desks = (_alarm_desk(installation), disputes.desk_of(installation))

    def end_dead_work() -> None:
        ticks.end_dead_work(installation.store, now=utc_now())

    streams = (ALL, *STREAMS)
    return Errands(replay, start_pull, start_backfill, streams, *desks, start_run, cancel_run, closing, end_dead_work)


def _runs_by_hand(
    installation: Installation, run: StartRun
) -> tuple[Callable[[Connection, date, str], None], Callable[[Connection, str], bool]]:
    def start(connection: Connection, on: date, by: str) -> None:
        def work() -> tuple[bool, str]:
            return _end_of(lambda: run(installation, connection, on), by)

        by_hand.start(installation.store, run_job(connection.name), work, worker=worker_name())

    def cancel(connection: Connection, by: str) -> bool:
        job, reason = run_job(connection.name), Message("run.canceled", {"by": by}).to_text()
        is_canceled = ticks.cancel(installation.store, job, reason=reason, now=utc_now())
        if is_canceled:
            log.info("job canceled", job=job, by=by)
        return is_canceled

    return start, cancel


def _closing_by_hand(
    installation: Installation, close: StartRun
) -> Callable[[Connection, Callable[[], None], str], None]:
    def start(connection: Connection, order: Callable[[], None], by: str) -> None:
        def work() -> tuple[bool, str]:
            order()
            return _end_of(lambda: close(installation, connection, utc_now().date()), by)

        by_hand.start(installation.store, closing_job(connection.name), work, worker=worker_name())

    return start


def _end_of(work: Callable[[], Ended], by: str) -> tuple[bool, str]:
    try:
        ended = work()
    except JobFailedError as error:
        why = parse_message(error.stored) or error.stored
        return False, Message("jobs.failed_for", {"why": why, "by": by}).to_text()
    return ended.complete, "\n".join(ended.lines)


def _alarm_desk(installation: Installation) -> AlarmDesk:
    channels = tuple(read_targets(installation.settings))

    def list_shown(session: Session, language: str) -> list[ShownAlarm]:
        return [
            ShownAlarm(
                one.connection, one.cause, one.severity, one.since, sentence_of_alarm(one, language),
                advice_of(one.cause, language), one.acknowledged_by, one.acknowledged_at,
            )
            for one in states.list_standing(session)
        ]  # fmt: skip

    def acknowledge(connection: str, cause: str, by: str) -> None:
        with installation.store.transaction() as session:
            states.acknowledge(session, connection, cause, by=by, now=utc_now())

    def send_test() -> None:
        with installation.store.transaction() as session:
            outbox.put_in(session, channels, content_of("test"), now=utc_now())

    return AlarmDesk(channels, list_shown, acknowledge, send_test)


def _start(installation: Installation, job: str, by: str, work: by_hand.Work) -> None:
    def work_and_sign() -> tuple[bool, str]:
        complete, sentence = work()
        return complete, f"{sentence} ({by})"

    by_hand.start(installation.store, job, work_and_sign, worker=worker_name())


def _outcome_of(do: Callable[[], Outcome]) -> tuple[bool, str]:
    try:
        outcome = do()
    except WorkError as error:
        return False, error.message
    return outcome.complete, "; ".join(outcome.lines)
