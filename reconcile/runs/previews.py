"""What other rules, a tariff or a payers' rule would have made of a kept run: every change, and if it is closed."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date

import pandas as pd
from pandas import DataFrame, Series

from consumer.facts.installation import Connection, Installation
from reconcile.closing.figures import DOCUMENT_OF_RUN, PAYOUT_OF_RUN, item_words, to_messages
from reconcile.kept import records, whole
from reconcile.kept.snapshots import SnapshotError
from reconcile.reading.payers import ACCEPTED
from reconcile.rules.inputs import DISPUTE, PAYERS, Inputs, Result, to_types
from reconcile.rules.pipeline import UnbalancedError, reconcile
from reconcile.rules.terms import RuleSet, Tariff
from reconcile.runs.comparison import Published, compare, to_risk
from reconcile.runs.pending import MOST_ROWS
from reconcile.tables.desk import PayerRule


@dataclass(frozen=True, slots=True)
class Preview:
    """One change; `closed` if it touches days whose books are closed."""

    kind: str
    subject: str
    before: str
    after: str
    closed: bool


def preview(inputs: Inputs, *, rules: RuleSet, tariff: Tariff | None, closed_until: date | None) -> Iterator[Preview]:
    """Reconcile the same inputs under both, so that only the rules can make a difference."""
    yield from _compare(inputs, replace(inputs, rules=rules, tariff=tariff), closed_until)


def preview_payers(
    installation: Installation, connection: Connection, row: PayerRule, *, today: date
) -> Iterator[Preview]:
    """Reconcile the newest run's inputs with and without a payers' rule, from where the closed days end.

    No transaction is open meanwhile. Raise SnapshotError if the inputs are gone or more than one waits for.
    """
    with installation.store.reading() as session:
        run = records.last_run(session, connection.name, today=today)
        period = records.last_closed(session, connection.name)
    if run is None:
        raise SnapshotError(f"connection {connection.name} has no run yet")
    summary = records.read_summary(run)
    if (rows := summary["items"] + summary["documents"]) > MOST_ROWS:
        raise SnapshotError(f"run {run.number} has {rows} items and documents; a rule is tried on {MOST_ROWS} at most")
    whole.bring(installation, run)
    with installation.store.reading() as session:
        inputs = whole.read(session, installation.settings.files_dir, run).inputs
    without = inputs.payers[inputs.payers["rule_id"] != row.id]
    since = period.ends_at if period else None
    own = DataFrame([(row.id, row.kind, row.subject, row.object, since, None)], columns=list(PAYERS))
    with_rule = to_types(pd.concat([without.astype(object), own.astype(object)], ignore_index=True), PAYERS)
    other = without.reset_index(drop=True) if row.state == ACCEPTED else with_rule
    now = inputs.payers if row.state == ACCEPTED else without.reset_index(drop=True)
    closed_until = period.until if period else None
    try:
        yield from _compare(replace(inputs, payers=now), replace(inputs, payers=other), closed_until)
    except UnbalancedError as problem:
        raise SnapshotError(f"the rule cannot be tried on run {run.number}: {problem}") from None


def _compare(inputs: Inputs, others: Inputs, closed_until: date | None) -> Iterator[Preview]:
    old, new = reconcile(inputs), reconcile(others)
    closed = _find_closed_subjects(old, closed_until) | _find_closed_subjects(new, closed_until)
    for change in compare(_words(old), _words(new)):
        about = change.subject
        if change.kind == "exception":
            about = about.partition(":")[2].split("@", maxsplit=1)[0]
        yield Preview(change.kind, change.subject, change.before, change.after, about in closed)


def _words(result: Result) -> Published:
    payouts, documents = result.payouts, result.documents
    items = item_words(result.lines[result.lines["resource_type"] != DISPUTE])
    return Published(
        payouts=_pairs(payouts["payout_id"], to_messages(PAYOUT_OF_RUN, payouts)),
        lines=_pairs(items["subject"].str.split(" ").str[-1], items["words"]),
        documents=_pairs(documents["doc_key"], to_messages(DOCUMENT_OF_RUN, documents)),
        exceptions={f"{one.code} {one.subject}": to_risk(one.severity, one.amount_at_risk) for one in result.findings},
    )


def _pairs(keys: "Series[str]", words: "Series[str]") -> dict[str, str]:
    return dict(zip(keys.tolist(), words.fillna("").tolist(), strict=True))


def _find_closed_subjects(result: Result, until: date | None) -> set[str]:
    """Return what belongs to closed days, as a period counts: payout date, local date, issue date."""
    if until is None:
        return set()
    columns = (
        (result.payouts, "payout_id", "payout_date"),
        (result.lines, "resource_id", "local_date"),
        (result.documents, "doc_key", "issue_date"),
    )
    last = pd.Timestamp(until)
    return {str(name) for frame, key, day in columns for name in frame.loc[frame[day] <= last, key].tolist()}
