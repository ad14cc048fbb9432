"""`cuadre refunds` and `cuadre billing`: the back office's writes at the provider, each shown before it is sent."""

import sys
import uuid
from collections.abc import Callable
from functools import reduce
from typing import Any

import click

from consumer.commands.terminal import Command, CommandError, asking, json_option, on_connection, print_rows, say
from consumer.facts.approvals import Deed, Terms, Wish, use
from consumer.facts.clock import utc_now
from consumer.facts.installation import Connection, Installation
from consumer.facts.meaning import JsonObject
from consumer.facts.messages import Message, Value
from consumer.facts.money import format_decimal
from consumer.facts.texts import is_identifier
from consumer.facts.work import Completion
from consumer.provider.client import Provider, open_provider
from consumer.provider.errors import ProviderError
from consumer.provider.writes import (
    NotKeptError,
    Plan,
    keep_answer,
    plan_cancellation,
    plan_outside_payment,
    plan_refund,
    send,
)

KEYS = ("connection", "mode", "id", "status", "amount", "currency", "resource_id", "idempotency_key", "sent")

Planner = Callable[[Provider, bool], Plan]


class _Key(click.ParamType[str]):
    name = "key"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = str(value)
        if not (is_identifier(text) and text.isascii()):
            self.fail("must be 1 to 255 printable characters", param, ctx)
        return text


def _write_options(command: Command) -> Command:
    options = (
        on_connection,
        click.option("--dry-run", is_flag=True, help="Say what would be sent, and send nothing."),
        click.option("--yes", is_flag=True, help="Send without asking."),
        click.option("--idempotency-key", "key", type=_Key(), help="Of an attempt whose answer was lost."),
        json_option,
    )
    return reduce(lambda made, option: option(made), reversed(options), command)


@click.group()
def refunds() -> None:
    """Money on its way back to a payer."""


@refunds.command("create")
@click.argument("payment_id", metavar="PAYMENT")
@click.option("--amount", help="In major units, such as 1500 or 15.00; default all that is left.")
@_write_options
def create(
    installation: Installation, connection: Connection, /, *, payment_id: str, amount: str | None, **options: Any
) -> None:
    """Give back a payment, whole or in part."""
    if options["key"] is not None and amount is None:
        raise CommandError(
            "--idempotency-key needs --amount: what is left may have changed since that attempt", Completion.MISUSED
        )
    _write(
        installation,
        connection,
        lambda provider, again: plan_refund(installation, provider, payment_id, amount, is_repeat=again),
        **options,
    )


@refunds.command("cancel")
@click.argument("refund_id", metavar="REFUND")
@_write_options
def cancel(installation: Installation, connection: Connection, /, *, refund_id: str, **options: Any) -> None:
    """Stop a refund that was not sent yet."""
    _write(
        installation,
        connection,
        lambda provider, again: plan_cancellation(provider, refund_id, is_repeat=again),
        **options,
    )


@click.group()
def billing() -> None:
    """Invoices the provider makes for subscriptions; those of your own books are under `invoices`."""


@billing.command("mark-paid")
@click.argument("invoice_id", metavar="INVOICE")
@_write_options
def mark_paid(installation: Installation, connection: Connection, /, *, invoice_id: str, **options: Any) -> None:
    """Record that an open invoice was paid outside the provider."""
    _write(
        installation,
        connection,
        lambda provider, again: plan_outside_payment(provider, invoice_id, is_repeat=again),
        **options,
    )


def _write(
    installation: Installation,
    connection: Connection,
    to_plan: Planner,
    *,
    dry_run: bool,
    yes: bool,
    key: str | None,
    as_json: bool,
) -> None:
    is_repeat, key = key is not None, key or str(uuid.uuid4())
    with open_provider(installation, connection) as provider:
        plan = to_plan(provider, is_repeat)
        again = ", unless the attempt under this key has done it" if is_repeat else ""
        say(f"{connection.name} ({connection.mode}): {plan.sentence}{again}")
        if not dry_run:
            check_agreed(yes=yes)
            _use_approval(installation, plan, connection.name, key)
        done = {} if dry_run else _send(installation, provider, plan, key)
    row = {
        "connection": connection.name,
        "mode": connection.mode,
        "id": done.get("id"),
        "status": done.get("status"),
        "amount": format_decimal(plan.amount, plan.currency),
        "currency": plan.currency,
        "resource_id": plan.body.get("resource_id") or done.get("resource_id"),
        "idempotency_key": key,
        "sent": not dry_run,
    }
    print_rows([row], KEYS, as_json=as_json)


def _use_approval(installation: Installation, plan: Plan, connection: str, key: str) -> None:
    """Use up the approval of a refund, or leave a request for one, where `[approvals]` says so."""
    if not installation.settings.approvals.refunds or plan.kind != "refund" or plan.action is not None:
        return
    payment, amount = str(plan.body["resource_id"]), format_decimal(plan.amount, plan.currency)
    values: dict[str, Value] = {"payment": payment, "amount": amount, "currency": plan.currency}
    terms: Terms = {"amount": plan.amount, "currency": plan.currency}
    wish = Wish(Deed.REFUND, connection, payment, terms, Message("approvals.refund", values))
    with asking(installation, plan.sentence), installation.store.transaction() as session:
        use(session, wish, now=utc_now(), key=key)


def check_agreed(*, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise CommandError(
            "no terminal to ask on: give --yes, or --dry-run to see what would be sent", Completion.MISUSED
        )
    if not click.confirm("Send it?", err=True):
        raise CommandError("nothing was sent")


def _send(installation: Installation, provider: Provider, plan: Plan, key: str) -> JsonObject:
    # If this process ends from here on, the key is known to the person who must repeat.
    say(f"idempotency key {key}")
    try:
        answer = send(provider, plan, key=key)
    except ProviderError as error:
        if not error.retryable:
            raise CommandError(f"{error} (idempotency key {key})") from None
        again = f"repeat with {plan.repeat}--idempotency-key {key}, and it is done at most once"
        raise CommandError(f"{error}; whether it was done is not known: {again}") from None
    try:
        keep_answer(installation, provider, plan.kind, answer)
    except NotKeptError as error:
        done = f"it was done, as {answer.value.get('id')}, under idempotency key {key}"
        raise CommandError(f"{done}, and could not be kept here: {error}: cuadre pull all brings it") from None
    return answer.value
