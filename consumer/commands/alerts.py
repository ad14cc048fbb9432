"""The commands of alarms: where they go, what stands, who has it in hand."""

from collections.abc import Callable

import click

from consumer.alarms.outbound import NotSentError
from consumer.alarms.sending import send
from consumer.alarms.states import acknowledge, list_standing
from consumer.alarms.targets import Target, read_targets
from consumer.alarms.wording import advice_of, content_of, sentence_of_alarm
from consumer.commands.terminal import CommandError, json_option, leave, print_findings, print_rows, say
from consumer.facts.clock import format_instant, utc_now
from consumer.facts.installation import OpenInstallation, Settings
from consumer.facts.tables.alarms import ALARM_KEYS, Alarm
from consumer.facts.work import Completion

# Writes who did what into the trail.
Note = Callable[..., None]


def alerts_command(note: Note) -> click.Group:
    """Make the group of what it may not import: the trail."""

    @click.group()
    def alerts() -> None:
        """Where alarms go, and what stands."""

    @alerts.command("acknowledge")
    @click.argument("cause")
    @click.option("--connection", "connection_name", default="", help="Whose; none for the whole installation.")
    @click.option("--author", required=True, help="Who has it in hand.")
    @click.pass_obj
    def alerts_acknowledge(
        open_installation: OpenInstallation, *, cause: str, connection_name: str, author: str
    ) -> None:
        """Take an alarm in hand: more of it is not sent, only its end."""
        store, now = open_installation().store, utc_now()
        with store.transaction() as session:
            acknowledge(session, connection_name, cause, by=author, now=now)
        note(store, author, "acknowledge", f"alarm {connection_name} {cause}", now=now)
        say(f"{author} has {cause} in hand until it is over")

    @alerts.command("list")
    @json_option
    @click.pass_obj
    def alerts_list(open_installation: OpenInstallation, *, as_json: bool) -> None:
        """List what stands, gravest first."""
        with open_installation().store.reading() as session:
            standing = list_standing(session)
        if as_json or not standing:
            print_rows(
                [{key: getattr(one, key) for key in ALARM_KEYS} for one in standing], ALARM_KEYS, as_json=as_json
            )
        else:
            print_findings(_to_finding(one) for one in standing)

    @alerts.command("test")
    @click.pass_obj
    def alerts_test(open_installation: OpenInstallation) -> None:
        """Send a message to each channel now and say what each answers."""
        _send_tests(open_installation().settings)

    return alerts


def _send_tests(settings: Settings) -> None:
    targets = read_targets(settings)
    if not targets:
        raise CommandError("CUADRE_ALERT_URLS names no channel: alarms are in the log and on the page alone")
    sent = [_try(name, target, settings) for name, target in targets.items()]
    if not all(sent):
        leave(Completion.PARTLY_DONE if any(sent) else Completion.NOTHING_DONE)


def _try(name: str, target: Target, settings: Settings) -> bool:
    now = utc_now()
    try:
        send(target, content_of("test"), settings, message_id=f"test-{now:%Y%m%d%H%M%S}", now=now)
    except NotSentError as error:
        click.echo(f"{name}: failed: {error}")
        return False
    click.echo(f"{name}: sent")
    return True


def _to_finding(alarm: Alarm) -> tuple[str, str, str]:
    found = f" ({alarm.found})" if alarm.found else ""
    whose = f"{alarm.connection} " if alarm.connection else ""
    sentence = sentence_of_alarm(alarm, "en").removesuffix(".")
    said = f"{whose}{alarm.cause}: {sentence}. Since {format_instant(alarm.since.replace(microsecond=0))}{found}."
    held = f" {alarm.acknowledged_by} has it in hand." if alarm.acknowledged_by else ""
    return alarm.severity, said + held, advice_of(alarm.cause, "en")
