"""The command line: every command with the place it lies in, loaded when it is called and not before."""

import gc
import os
import sys
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import click

# Reading the settings and the store costs more than most commands themselves, and the help needs neither.
_OPEN_INSTALLATION = "consumer.opening:open_installation"
_CHECK_TERMS = "reconcile.rules.terms:check_terms"
_TO_REFUSAL = "consumer.commands.refusals:to_refusal"
_CONFIGURE_LOGS = "consumer.logs:configure_logs"


class Row(NamedTuple):
    """Where a command lies and its sentence; `given` makes it from what other rooms may not import themselves."""

    place: str
    sentence: str
    given: Mapping[str, str] = {}


# By who uses them and when.
GROUPS = {
    "Every day": {
        "alerts": Row(
            "consumer.commands.alerts:alerts_command",
            "Where alarms go, and what stands.",
            {"note": "reports.access.people:note"},
        ),
        "doctor": Row(
            "consumer.commands.operating:doctor_command",
            "Look at everything that could be wrong and say what to do.",
            {
                "withheld_by": "reconcile.rules.streams:withheld_by",
                "addresses": "reports.access.people:latest_addresses",
                "lost_files": "reconcile.desk.archive:list_lost",
                "horizon": "reconcile.closing.standing:describe_horizon",
            },
        ),
        "exceptions": Row(
            "reconcile.commands.exceptions:make_group",
            "What needs a person: the work list that runs keep.",
            {"check_owner": "reports.access.owners:check_owner"},
        ),
        "explain": Row(
            "reconcile.commands.reconcile:explain",
            "Why a payout, resource or document is what it is, as the newest run says.",
        ),
        "nightly": Row(
            "reconcile.commands.reconcile:night_command",
            "Backfill, pull, compare, reconcile and report one business day.",
            {"run_nights": "app:run_nights"},
        ),
        "reconcile": Row(
            "reconcile.commands.reconcile:reconcile",
            "Match payouts, payments and documents once, and say what does not tie out.",
        ),
        "report": Row(
            "reports.commands.report:report", "Make any report of the catalogue as a file, and print where it is."
        ),
    },
    "Finance": {
        "accounts": Row(
            "reconcile.commands.journal:accounts_group",
            "The accounts that the journal posts to, its layouts, and what was exported.",
        ),
        "adjust": Row(
            "reconcile.commands.decisions:adjust",
            "Accept a difference: of a DOCUMENT the amount given or all that is left, of a PAYMENT that it has none.",
        ),
        "billing": Row(
            "consumer.commands.provider_writes:billing",
            "Invoices the provider makes for subscriptions; those of your own books are under `invoices`.",
        ),
        "declared": Row("reconcile.commands.fiscal:declared", "What was declared to the tax office, in versions."),
        "decline": Row("reconcile.commands.decisions:decline", "Turn down a suggested pair."),
        "disputes": Row(
            "consumer.commands.disputes:make_group",
            "Contested payments with their deadlines, and the evidence against them.",
            {"list_command": "reports.commands.disputes:list_command"},
        ),
        "journal": Row(
            "reconcile.commands.journal:journal",
            "Entries of the ledger from closed days, in the layouts of ledgers; what was exported is never rewritten.",
        ),
        "match": Row(
            "reconcile.commands.decisions:match", "Bind a payment and a document, or a payout and its line of the bank."
        ),
        "payers": Row(
            "reconcile.commands.payers:payer_group",
            "Who pays for whom, learned from decisions and accepted by a person.",
        ),
        "periods": Row(
            "reconcile.commands.periods:make_period_group",
            "Days whose books are closed.",
            {"pack": "reports.commands.packs:pack_command"},
        ),
        "proof": Row(
            "reports.commands.proofs:proof_command",
            "One payout, one customer or some days as a sealed PDF: every line, its evidence, who decided, and hashes.",
        ),
        "refunds": Row("consumer.commands.provider_writes:refunds", "Money on its way back to a payer."),
        "tie-out": Row(
            "reconcile.commands.fiscal:tie_out_command",
            "What the tax office will compute of a month, against books, money and what was declared.",
        ),
        "unmatch": Row(
            "reconcile.commands.decisions:unmatch", "Keep a payment and a document apart, or a payment unmatched."
        ),
        "verify": Row(
            "reports.commands.packs:verify_command",
            "Check an archive of a month or a PDF, without settings or a database: one line says what it proves.",
        ),
        "withdraw": Row(
            "reconcile.commands.decisions:withdraw", "Take back what was decided about a payment, a document or both."
        ),
    },
    "Data in": {
        "backfill": Row(
            "consumer.commands.sync:backfill",
            "Read the event log until no event is missing and apply it; "
            "without dates, all of it and later what is new.",
        ),
        "bank": Row(
            "reconcile.commands.bank:bank",
            "The merchant's own bank accounts: files count together with the movements that the provider shows.",
        ),
        "invoices": Row("reconcile.commands.books:invoices", "The merchant's invoices and credit notes."),
        "payout-report": Row(
            "reconcile.commands.books:payout_report", "The provider's own report of a payout, for fees per resource."
        ),
        "pull": Row(
            "consumer.commands.sync:pull",
            "Fetch and keep what the provider lists: STREAM is a name of the list below, or all.",
        ),
        "register": Row(
            "reconcile.commands.fiscal:register",
            "The tax office's register as a witness of its own, apart from the books.",
        ),
        "rates": Row("reconcile.commands.bank:rates", "Rates of currencies that documents are priced in."),
    },
    "Setting up": {
        "backup": Row(
            "consumer.commands.backup:backup_command",
            "Write everything that must survive into one file, while everything runs, and read it back.",
            {"prove": "reconcile.runs.proof:prove"},
        ),
        "db": Row(
            "consumer.commands.operating:database_commands",
            "Bring the database's tables to this version, or check that they are.",
            {"open_store": "consumer.opening:open_store"},
        ),
        "demo": Row("app:demo", "Play a month of made-up trade through the whole product and show what came of it."),
        "erase": Row("reports.commands.erase:erase_command", "Take out what is kept of one person; amounts stay."),
        "restore": Row(
            "consumer.commands.backup:restore_command",
            "Bring a backup back into an empty installation, under the settings of this machine.",
            {"read_settings": "consumer.opening:read_settings", "erase_again": "reports.erasing.erase:erase_again"},
        ),
        "rules": Row("reconcile.commands.rules:rule_group", "The tolerances and windows of reconciliation."),
        "sandbox": Row("sandbox.commands:sandbox", "Serve the imitated provider until it is stopped."),
        "search": Row("reports.commands.search:search", "What people find with the search of the pages."),
        "secret-key": Row(
            "consumer.commands.secret_key:secret_key", "The key that everything encrypted is kept under."
        ),
        "serve": Row(
            "consumer.commands.serving:serve_command",
            "Receive, show, apply and schedule, all in one process.",
            {"greet": "reports.commands.access:greet"},
        ),
        "tokens": Row("reports.commands.access:tokens", "Keys with which programs download reports."),
        "users": Row("reports.commands.connections:users", "People who may log in."),
        "web": Row(
            "consumer.commands.serving:web_command",
            "Receive webhooks and show pages; cuadre worker does the rest.",
            {"greet": "reports.commands.access:greet", "share_counters": "consumer.opening:share_counters"},
        ),
        "webhook": Row("consumer.commands.webhook:webhook", "Our endpoint at the provider: where it delivers events."),
        "worker": Row(
            "consumer.commands.working:worker_command",
            "Apply the inbox and run the nights; start as many as needed.",
            {"start_scheduler": "app:start_scheduler", "signals": "reports.alarms:find_signals"},
        ),
    },
    "Looking deeper": {
        "drift": Row(
            "consumer.commands.sync:drift",
            "Hold our mirror against the provider, for every object touched in the last days.",
        ),
        "events": Row("consumer.commands.events:events", "The inbox: every event, once."),
        "gaps": Row(
            "consumer.commands.sync:gaps",
            "List what was asked of the provider and is not read to its end, newest first.",
        ),
        "jobs": Row("consumer.commands.operating:jobs", "Show what is scheduled, the last ticks and how they ended."),
        "runs": Row("reconcile.commands.runs:runs", "The history of runs."),
    },
}
TABLE = {name: row for group in GROUPS.values() for name, row in group.items()}


class Commands(click.Group):
    """The table as a group: its help is the table's, and what goes wrong in a command becomes one line."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(TABLE)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        row = TABLE.get(cmd_name)
        return None if row is None else command_of(row)

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, group in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name, row.sentence) for name, row in group.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Name the command that a mistyped one resembles."""
        near = [] if args[0] in TABLE else get_close_matches(args[0], TABLE, 1)
        if near:
            ctx.fail(f"there is no command {args[0]!r}: did you mean {near[0]}?")
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse an argument that no database takes as text; a file may have any name."""
        for given in args:
            if not _is_text(given) and not Path(given).exists():
                ctx.fail(f"{given!a} is not UTF-8 text")
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.Abort, click.exceptions.Exit):
            raise
        except Exception as error:
            refusal = _load(_TO_REFUSAL)(error)
            if refusal is not None:
                raise refusal from None
            raise


def _is_text(argument: str) -> bool:
    try:
        argument.encode()
    except UnicodeEncodeError:
        return False
    return True


def command_of(row: Row) -> click.Command:
    """Load a command from its place, or make it there of what it is given."""
    found = _load(row.place)
    command: click.Command = found(**{name: _load(place) for name, place in row.given.items()}) if row.given else found
    return command


def _load(place: str) -> Any:
    module, name = place.split(":")
    if module in sys.modules:
        return getattr(sys.modules[module], name)
    # Modules stay: to look for garbage in them, again at the end, takes two fifths of what a short command does.
    gc.disable()
    try:
        return getattr(import_module(module), name)
    finally:
        gc.freeze()
        gc.enable()


@click.group(cls=Commands)
@click.version_option(package_name="cuadre", prog_name="cuadre")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Keep every event of a payments provider and reconcile every payout to the peso."""

    def open_for_the_command() -> Any:
        open_installation: Callable[..., Any] = _load(_OPEN_INSTALLATION)
        installation = open_installation(check=_load(_CHECK_TERMS))
        ctx.call_on_close(installation.store.close)
        return installation

    ctx.obj = open_for_the_command
    _load(_CONFIGURE_LOGS)()


def main() -> None:
    # Bodies, books and reports hold personal data: what this program writes is its owner's alone.
    os.umask(0o077)
    cli(prog_name="cuadre")


if __name__ == "__main__":
    main()
