"""Commands of payers' rules: who pays for whom, proposed from decisions, accepted, rejected and revoked by a person."""

from dataclasses import asdict

import click

from consumer.commands.terminal import CommandError, asking, format_count, json_option, on_connection, print_rows, say
from consumer.facts.clock import local_date, utc_now
from consumer.facts.installation import Connection, Installation
from consumer.facts.messages import translate
from reconcile.commands import printed
from reconcile.commands.decisions import author_option, signature
from reconcile.desk import payers
from reconcile.desk.payers import RuleState
from reconcile.kept import records, snapshots
from reconcile.rules.terms import BPS
from reconcile.runs.previews import preview_payers
from reconcile.tables.desk import PayerRule

RULE_KEYS = (
    "connection", "rule_id", "kind", "subject", "object", "state", "right", "wrong", "open", "bound_pct", "right_since",
    "wrong_since", "version", "weighed_at",
)  # fmt: skip
PREVIEW_KEYS = ("kind", "subject", "before", "after", "closed")


@click.group("payers")
def payer_group() -> None:
    """Who pays for whom, learned from decisions and accepted by a person."""


@payer_group.command("list")
@click.option("--state", type=click.Choice([str(state) for state in RuleState]))
@on_connection
@json_option
def list_rules(installation: Installation, connection: Connection, *, state: str | None, as_json: bool) -> None:
    """Every rule with what it would have done to the last year, the best proved first."""
    with installation.store.reading() as session:
        rows = [row for row in payers.list_rules(session, connection.name) if state in (None, row.state)]
        print_rows([_to_row(row) for row in rows], RULE_KEYS, as_json=as_json)


@payer_group.command("propose")
@on_connection
@json_option
def propose(installation: Installation, connection: Connection, *, as_json: bool) -> None:
    """Look for rules in what people decided, as each night does, and weigh those there are."""
    error_bps, now = payers.allowed_bps(installation.settings.rules), utc_now()
    with installation.store.reading() as session:
        run = records.last_run(session, connection.name, today=local_date(now, connection.country.zone))
    if run is None:
        raise CommandError(f"connection {connection.name} has no run yet: cuadre reconcile")
    found = payers.learn(installation, connection.name, run, error_bps=error_bps, now=now)
    print_rows([_to_row(row) for row in found.proposed], RULE_KEYS, as_json=as_json)
    say(f"{format_count(len(found.proposed), 'proposal')}, {format_count(found.weighed, 'rule')} weighed, "
        f"{len(found.sent_back)} sent back")  # fmt: skip


def _deciding(name: str, to: RuleState, words: str) -> click.Command:
    @payer_group.command(name, help=words)
    @click.argument("number", metavar="ID", type=click.IntRange(1, 2**31 - 1))
    @click.option("--reason", required=True)
    @click.option("--version", type=int, help="The version you looked at; refused if it is older.")
    @author_option
    @on_connection
    @json_option
    def command(
        installation: Installation, connection: Connection, *, number: int, reason: str, version: int | None,
        author: str | None, as_json: bool,
    ) -> None:  # fmt: skip
        signed, settings = signature(author, reason), installation.settings
        with asking(installation, reason), installation.store.transaction() as session:
            row = payers.decide(
                session, connection.name, number, to, signed, approvals=settings.approvals, version=version
            )
            shown = _to_row(row)
        print_rows([shown], RULE_KEYS, as_json=as_json)

    return command


accept = _deciding("accept", RuleState.ACCEPTED, "Let a rule hold from the next run on; closed days stay as they are.")
reject = _deciding("reject", RuleState.REJECTED, "Turn a proposal down.")
revoke = _deciding("revoke", RuleState.REVOKED, "End an accepted rule; days closed with it stay as they are.")


@payer_group.command("preview")
@click.argument("number", metavar="ID", type=click.IntRange(1, 2**31 - 1))
@on_connection
@json_option
def preview(installation: Installation, connection: Connection, *, number: int, as_json: bool) -> None:
    """What a rule would alter of the newest run, or ending it if it holds; nothing is written."""
    try:
        with installation.store.reading() as session:
            row = payers.find(session, connection.name, number)
        today = local_date(utc_now(), connection.country.zone)
        found = list(preview_payers(installation, connection, row, today=today))
    except snapshots.SnapshotError as problem:
        raise CommandError(str(problem)) from None
    print_rows([printed.in_english(asdict(one)) for one in found], PREVIEW_KEYS, as_json=as_json)
    say(f"{translate(payers.name_rule(row), 'en')}: {format_count(len(found), 'change')}")


def _to_row(row: PayerRule) -> dict[str, object]:
    names = {"rule_id": "id", "right": "right_count", "wrong": "wrong_count", "open": "open_count"}
    own = {name: getattr(row, names.get(name, name)) for name in RULE_KEYS if name != "bound_pct"}
    return own | {"bound_pct": f"{row.bound_bps * 100 / BPS:.2f}"}
