"""Everything that a reader may see of the newest run of a connection, as texts by what they are."""

import json
import re
from collections.abc import Iterator
from datetime import date

from consumer.facts.bankdays import read_calendar
from consumer.facts.installation import Connection, Installation
from reconcile.commands.explanations import explain
from reconcile.kept import chunks
from reconcile.kept.records import last_run, read_summary
from reconcile.kept.whole import bring
from reconcile.tables.runs import Run
from reports.making import catalogue, windows
from reports.making.catalogue import AVAILABLE, NoRunError
from reports.output.export import PROFILES, to_csv
from reports.queries import standing
from reports.queries.dossiers import find_dossier
from reports.queries.query import Query
from reports.shapes.spans import Span

# What names the run itself, or what exactly it read.
_OF_THE_RUN = {"inputs"}
# The id of a run, or the moment at which it was made: facts have no fraction of a second.
_RUN = re.compile(r"\b[0-9a-f]{32}\b|\b[0-9T:-]{19}\.[0-9]{6}Z|datetime\((\d+, ){6}\d+")
_ROWS = 25


def read_everything(
    installation: Installation, main: Connection, day: date, about: list[str], span: Span
) -> dict[str, str]:
    """Return every report, page of rows, explanation and count, without the ids and moments of runs."""
    with installation.store.reading() as session:
        run = last_run(session, main.name, today=day)
    assert run is not None
    found = dict(_read_all(installation, main, run, day, about, span))
    return {name: _RUN.sub("RUN", text) for name, text in found.items()}


def _read_all(
    installation: Installation, main: Connection, run: Run, day: date, about: list[str], span: Span
) -> Iterator[tuple[str, str]]:
    yield "summary", json.dumps({name: value for name, value in read_summary(run).items() if name not in _OF_THE_RUN})
    for name in AVAILABLE:
        if name != "run-diff":
            yield f"{name} of {span}", _to_text(installation, Query(name, (main,), day, span))
            whole = Query(name, (main,), day)
            yield name, _to_text(installation, whole)
            yield from ((f"{name} {part}", text) for part, text in _read_pages(installation, whole))
    bring(installation, run)
    calendar = read_calendar(installation.settings.files_dir, main.country_code)
    with installation.store.reading() as session:
        for identity in about:
            facts = explain(session, installation.settings.files_dir, run, identity, calendar)
            yield f"explain {identity}", "\n".join(map(str, facts))
            lines = [*chunks.find_lines(session, run, "resource_id", identity),
                     *chunks.find_lines(session, run, "doc_key", identity)]  # fmt: skip
            yield f"lines {identity}", json.dumps(lines, default=str)
            dossier = find_dossier(session, [run], main.name, identity)
            yield f"dossier {identity}", "" if dossier is None else f"{dossier.result} {dossier.lines}"
        for name in ("76192083-9", "96790240-3"):
            lines = list(chunks.find_lines(session, run, "customer_tax_id", name))
            yield f"customer {name}", json.dumps(lines, default=str)
        yield "standing", str(standing.payouts_by_status(session, [run]))
        yield "newest", str(standing.newest_payouts(session, [run], 5))


def _to_text(installation: Installation, query: Query) -> str:
    try:
        report = catalogue.make(installation, query)
    except NoRunError as refused:
        return f"refused: {refused}"
    return b"".join(to_csv(report, PROFILES["machine"], "en")).decode()


def _read_pages(installation: Installation, query: Query) -> Iterator[tuple[str, str]]:
    if query.name == "journal":
        return
    first = windows.find(installation, query, 0, _ROWS)
    yield "total", str(first.total)
    yield "silent", " ".join(sorted(first.silent))
    for start in range(0, first.total, _ROWS):
        found = windows.find(installation, query, start, _ROWS)
        yield f"from {start}", str(found.report.table.to_pylist())
