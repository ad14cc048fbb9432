"""The journal of some days and of one payout: accounts with both sides, lines, what is missing, and the export."""

import io
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

from flask import Blueprint, Response, abort, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from consumer.facts.installation import Connection
from consumer.facts.messages import RefusalError
from reconcile.journal import files, showing
from reconcile.journal.booking import BookedEntry
from reconcile.journal.entries import JournalError
from reconcile.journal.profiles import OWN, find_profiles
from reconcile.journal.source import choose_period, load_accounts
from reconcile.kept.records import read_closed_periods
from reports.access.people import Role
from reports.directory import LISTINGS
from reports.making import journals
from reports.pages import desk
from reports.pages.protection import need
from reports.pages.words import refusal
from reports.queries import standing
from reports.queries.listing import Wanted, read

blueprint = Blueprint("journal", __name__, url_prefix="/journal")

_MOST_LINES = 200
_LATEST = 5


@blueprint.get("")
def show() -> ResponseReturnValue:
    """Show the entries of some days of one connection: of the last closed period, or of the last month of a run."""
    own, span = desk.home_connection(), desk.span()
    with desk.installation().store.reading() as session:
        runs = desk.runs_now(session, [own.name])
        periods = read_closed_periods(session, own.name)
        since, until = span.since, span.until
        if since is None and until is None and runs:
            until = periods[-1].until if periods else runs[0].as_of
            since = (periods[-1].since if periods else None) or until.replace(day=1)
        entries: list[BookedEntry] = []
        missing: list[tuple[str, int]] = []
        reason, accounts = "", None
        try:
            settings = desk.installation().settings
            accounts = load_accounts(settings, own)
            if runs:
                missing = showing.find_missing(session, settings, own, runs[0])
                entries = (
                    list(showing.list_entries(session, settings, own, runs[0], since, until)) if not missing else []
                )
        except RefusalError as error:
            reason = refusal(error.message, desk.language())
        exports = read(session, LISTINGS["journal-exports"], Wanted([own.name], size=_LATEST))
    return render_template(
        "journal.html", own=own, since=since, until=until, runs=runs, reason=reason, missing=missing,
        periods=list(reversed(periods)), exports=exports, listing=LISTINGS["journal-exports"],
        profiles=accounts.profiles or (OWN,) if accounts else (), may_export=desk.reader().role.may(Role.FINANCE),
        **_describe(entries),
    )  # fmt: skip


@blueprint.get("/payouts/<payout_id>")
def payout(payout_id: str) -> ResponseReturnValue:
    """Show what one payout moves, from the payments in it to its arrival in the bank."""
    with desk.installation().store.reading() as session:
        runs = desk.runs_now(session, desk.names())
        found = standing.find_payout(session, runs, payout_id)
        if found is None:
            abort(404)
        run = next(run for run in runs if run.connection == found["connection"])
        entries, reason = [], ""
        try:
            own, settings = desk.find_connection(run.connection), desk.installation().settings
            entries = showing.list_entries_of_payout(session, settings, own, run, payout_id)
        except RefusalError as error:
            reason = refusal(error.message, desk.language())
    return render_template("journal_payout.html", payout=found, reason=reason, **_describe(entries))


def _describe(entries: list[BookedEntry]) -> dict[str, object]:
    lines = [(entry, line) for entry in entries for line in entry.lines]
    words = {entry.external_id: journals.describe(entry, desk.language()) for entry in entries}
    return {"accounts": journals.add_up(entries), "lines": lines[:_MOST_LINES], "total": len(lines), "words": words}


@blueprint.post("/export")
def export() -> ResponseReturnValue:
    """Export a closed period in the layouts of the account map, and send the file; several come as one ZIP."""
    need(Role.FINANCE)
    own, number = desk.find_connection(request.form.get("connection", "")), request.form.get("period", "")[:9]
    back = redirect(url_for("journal.show", connection=own.name))
    try:
        if not number.isascii() or not number.isdigit():
            raise JournalError("journal.no_period", number=0, connection=own.name)
        with TemporaryDirectory() as folder:
            paths = _export(own, int(number), Path(folder))
            content = paths[0].read_bytes() if len(paths) == 1 else _to_zip(paths)
            name = paths[0].name if len(paths) == 1 else f"{own.name}_journal_{number}.zip"
    except RefusalError as error:
        flash(refusal(error.message, desk.language()), "alert")
        return back
    desk.note("export journal", f"{own.name} {name}")
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, headers=headers, content_type="application/octet-stream")


def _export(own: Connection, number: int, folder: Path) -> list[Path]:
    installation = desk.installation()
    accounts = load_accounts(installation.settings, own)
    with installation.store.reading() as session:
        days = choose_period(session, own.name, number, today=desk.today())
    profiles = find_profiles(accounts.profiles or (OWN,))
    wanted = files.Wanted(profiles, folder, own.country.language, desk.reader().name, desk.now())
    outcome = files.export(installation, own, accounts, days, wanted)
    return [path for paths in outcome.files.values() for path in paths]


def _to_zip(paths: list[Path]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in paths:
            archive.write(path, path.name)
    return held.getvalue()
