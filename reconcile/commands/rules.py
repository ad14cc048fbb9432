"""Commands of the rules: the numbers that hold, and what others would have altered."""

import tomllib
from dataclasses import asdict
from pathlib import Path

import click

from consumer.commands.terminal import CommandError, format_count, json_option, on_connection, print_rows, say
from consumer.facts.clock import local_date, utc_now
from consumer.facts.installation import Connection, Installation, OpenInstallation
from consumer.facts.work import Completion
from reconcile.commands import printed
from reconcile.kept import records, snapshots, whole
from reconcile.rules.terms import RulesError, TariffError, to_rules, to_tariff
from reconcile.runs.previews import preview

PREVIEW_KEYS = ("kind", "subject", "before", "after", "closed")
RULE_KEYS = ("rule", "value", "default")


@click.group("rules")
def rule_group() -> None:
    """The tolerances and windows of reconciliation."""


@rule_group.command("list")
@json_option
@click.pass_obj
def list_rules(open_installation: OpenInstallation, *, as_json: bool) -> None:
    """Every number of [rules] as it holds, with its default."""
    chosen, defaults = asdict(to_rules(open_installation().settings.rules)), asdict(to_rules({}))
    rows = [{"rule": name, "value": _plain(value), "default": _plain(defaults[name])} for name, value in chosen.items()]
    print_rows(rows, RULE_KEYS, as_json=as_json)


def _plain(value: object) -> object:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else value


@rule_group.command("preview")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@click.option("--run", "run_id", help="The run to try it on (default the newest).")
@click.option("--closed", "only_closed", is_flag=True, help="Only what it would alter in closed periods.")
@on_connection
@json_option
def preview_rules(
    installation: Installation, connection: Connection, *, file: Path, run_id: str | None, only_closed: bool,
    as_json: bool,
) -> None:  # fmt: skip
    """What the [rules] or [tariff] of a TOML FILE would alter of a run that was made; nothing is written."""
    given = _read(file)
    with installation.store.reading() as session:
        name = connection.name
        today = local_date(utc_now(), connection.country.zone)
        found = records.find_run(session, name, run_id) if run_id else records.last_run(session, name, today=today)
        period = records.last_closed(session, name)
    if found is None:
        raise CommandError(f"connection {name} has no such run: cuadre runs list")
    try:
        whole.bring(installation, found)
        with installation.store.reading() as session:
            kept = whole.read(session, installation.settings.files_dir, found).inputs
        rules = to_rules(given["rules"]) if "rules" in given else kept.rules
        tariff = to_tariff(given["tariff"]) if "tariff" in given else kept.tariff
    except snapshots.SnapshotError as problem:
        raise CommandError(str(problem)) from None
    except (RulesError, TariffError) as problem:
        raise CommandError(f"{file.name}: {problem}", Completion.MISUSED) from None
    until = period.until if period else None
    changes = [printed.in_english(asdict(one)) for one in preview(kept, rules=rules, tariff=tariff, closed_until=until)]
    shown = [change for change in changes if change["closed"] or not only_closed]
    print_rows(shown, PREVIEW_KEYS, as_json=as_json)
    closed = sum(change["closed"] for change in changes)
    say(f"run {found.number}: {format_count(len(changes), 'change')}, {closed} of them in closed periods")


def _read(file: Path) -> dict[str, dict[str, object]]:
    try:
        given = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise CommandError(f"{file.name}: {problem}", Completion.MISUSED) from None
    if not {"rules", "tariff"} & given.keys():
        raise CommandError(f"{file.name} holds neither [rules] nor [tariff]", Completion.MISUSED)
    return given
