"""The archive of a closed month, made of what its closing froze: the same bytes whenever and wherever it is made.

Entries of the journal that no export held yet are remembered as exported, as by `cuadre journal`.
"""

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from tempfile import mkdtemp

from sqlmodel import Session, select

from consumer.facts.clock import format_instant, local_date
from consumer.facts.erasures import is_touched
from consumer.facts.installation import Connection, Installation
from consumer.facts.messages import RefusalError
from consumer.facts.tables.erasures import PERIOD, RUN
from reconcile.journal import files as journal
from reconcile.journal.accounts import FILE
from reconcile.journal.profiles import OWN, find_profiles
from reconcile.journal.source import choose_period, load_accounts
from reconcile.kept import snapshots
from reconcile.kept.records import find_run, read_closed_periods, read_summary
from reconcile.kept.snapshots import SnapshotError
from reconcile.tables.closing import EXCEPTION, ClosedFigure, Period
from reports.output.files import Shape
from reports.packs import sealing, summary
from reports.packs.contents import Month, copy_files, write_tables
from reports.packs.manifest import (
    INPUTS,
    SUMMARY,
    About,
    Manifest,
    digest_data,
    load_private_key,
    to_text,
)
from reports.packs.summary import Figures, Page
from reports.packs.zipping import list_files, write
from reports.queries import frames


class PackError(RefusalError):
    """A period that cannot be packed; the message says why in one sentence."""


@dataclass(frozen=True, slots=True)
class Asked:
    """How an archive is made: the tables' profile, the page's language, the journal's layouts, and who asks.

    Without layouts it has the journal of this program if there is an account map, else none.
    """

    shape: Shape
    language: str
    author: str
    at: datetime
    layouts: Sequence[str] | None = None
    # A period of more lines of payouts is refused: whoever asks waits for it.
    most_lines: int | None = None


def name_of(connection: Connection, period: Period) -> str:
    days = "_".join(day.isoformat() for day in (period.since, period.until) if day)
    return f"month_{days}_{connection.country_code}_{connection.name}_p{period.id}.zip"


def pack(
    installation: Installation, connection: Connection, number: int, asked: Asked, folder: Path
) -> tuple[Path, Manifest]:
    """Write the archive of a closed period into a folder, whole or not at all.

    1. Export the journal of its days, which remembers it. A missing account or an open item too many ends here.
    2. Write every table, the files of exceptions, the hashes of the run's inputs, and the page with one digest of all.
    3. Put them into one file, which appears under its name when it is whole.
    """
    pem = installation.settings.signing_key
    key = load_private_key(pem.get_secret_value()) if pem else None
    with installation.store.reading() as session:
        month = _find_month(installation, session, connection, number)
        lines = frames.count_lines(session, [month.run], month.span)
    if asked.most_lines is not None and lines > asked.most_lines:
        raise PackError("month.too_large", number=number, lines=lines)
    folder.mkdir(parents=True, exist_ok=True)
    draft = Path(mkdtemp(prefix=".pack.", dir=folder))
    try:
        snapshots.bring(installation, connection.name, month.run.id)
        layouts = _write_journal(installation, connection, number, asked, draft)
        with installation.store.reading() as session:
            month = _find_month(installation, session, connection, number)
            inputs = snapshots.read_manifest(installation.settings.files_dir, connection.name, month.run.id)
            (draft / INPUTS).write_text(json.dumps(inputs, indent=1, sort_keys=True), encoding="utf-8")
            figures = Figures()
            for report in write_tables(month, draft, asked.shape):
                figures.take(report)
            copy_files(month, draft)
            found = list_files(draft)
            page = Page(
                asked.language, layouts, digest_data(found), len(found), to_text(key.public_key()) if key else ""
            )
            (draft / SUMMARY).write_bytes(summary.draw(month, figures, page))
            about = _describe(month, asked)
        sealing.seal(draft / SUMMARY)
        out = folder / name_of(connection, month.period)
        versions = {"cuadre": version("cuadre"), "rules": inputs["rules_code"], "calendar": inputs["calendar"]}
        return out, write(draft, out, about, versions, key)
    except SnapshotError as error:
        raise PackError("month.no_inputs", number=number, problem=str(error)) from None
    finally:
        shutil.rmtree(draft)


def _find_month(installation: Installation, session: Session, connection: Connection, number: int) -> Month:
    closed = read_closed_periods(session, connection.name)
    period = next((one for one in closed if one.id == number), None)
    if period is None:
        raise PackError("month.not_closed", number=number, connection=connection.name)
    run = find_run(session, connection.name, period.run_id)
    if run is None or run.pruned_at is not None:
        raise PackError("month.no_rows", number=number)
    figure = ClosedFigure
    frozen = session.exec(select(figure.subject).where(figure.period_id == number, figure.kind == EXCEPTION).limit(1))
    if frozen.first() is None and any(read_summary(run)["exceptions"].values()):
        # Closed by the first release, which froze no work list.
        raise PackError("month.closed_before", number=number)
    return Month(installation, session, connection, period, run)


def _write_journal(
    installation: Installation, connection: Connection, number: int, asked: Asked, draft: Path
) -> list[str]:
    """Write the journal in the layouts asked for, each in a folder of its name, and return their names."""
    settings = installation.settings
    names = asked.layouts
    if names is None:
        names = [OWN] if (settings.config_dir / FILE).is_file() else []
    profiles = find_profiles(names)
    if profiles:
        accounts = load_accounts(settings, connection)
        with installation.store.reading() as session:
            today = local_date(asked.at, connection.country.zone)
            days = choose_period(session, connection.name, number, today=today)
        wanted = journal.Wanted(profiles, draft / "journal", connection.country.language, asked.author, asked.at)
        journal.export(installation, connection, accounts, days, wanted)
    return [one.name for one in profiles]


def _describe(month: Month, asked: Asked) -> About:
    own, period, run = month.connection, month.period, month.run
    return About(
        connection=own.name,
        country=own.country_code,
        mode=own.mode,
        period=period.id or 0,
        since=period.since.isoformat() if period.since else None,
        until=period.until.isoformat(),
        as_of=run.as_of.isoformat(),
        run_id=run.id,
        run_number=run.number,
        closed_by=period.closed_by,
        closed_at=format_instant(period.closed_at),
        reason=period.reason,
        profile=asked.shape.profile,
        language=asked.language,
        erased=is_touched(month.session.connection(), RUN, own.name, run.id)
        or is_touched(month.session.connection(), PERIOD, period.id),
    )
