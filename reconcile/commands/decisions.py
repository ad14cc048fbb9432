"""Commands that decide about a payment and a document: match, unmatch, decline, adjust, and withdraw of any of them.

The author of a decision is the one a command names, or else who is logged in.
"""

from collections.abc import Callable

import click
from sqlmodel import Session

from consumer.commands.terminal import Command, CommandError, asking, json_option, login_name, on_connection, print_rows
from consumer.facts.clock import utc_now
from consumer.facts.installation import Connection, Installation
from consumer.facts.money import MoneyError, format_decimal, to_minor
from consumer.facts.work import Completion
from reconcile.desk import decisions
from reconcile.desk.decisions import Adjustment, DecisionError, Pair, Signature
from reconcile.desk.ties import tie
from reconcile.kept import records
from reconcile.tables.desk import Decision

DECISION_KEYS = (
    "connection", "decision_id", "kind", "resource_id", "doc_key", "amount", "reason_type", "reason", "author", "at",
)  # fmt: skip
_MOST_NAMED = 5

author_option = click.option("--author", default=None, help="Who decides (default: your login name).")


def add_signature(command: Command) -> Command:
    """Add the options that say who decides, and which version was looked at."""
    version = click.option("--version", type=int, help="The row version you looked at; refused if it is older.")
    return author_option(version(command))


def signature(author: str | None, reason: str) -> Signature:
    return Signature(author or login_name(), reason, utc_now())


def _pair_command(name: str, words: str, decide: Callable[..., Decision], *, with_amount: bool) -> click.Command:
    """Return a command that decides about a payment and a document, given in either order."""

    @click.command(name, help=words)
    @click.argument("one")
    @click.argument("other", required=with_amount, default="")
    @click.option("--reason", required=True)
    @click.option("--seen", type=int, help="The newest decision about it you looked at; 0 for none.")
    @author_option
    @on_connection
    @json_option
    def command(
        installation: Installation, connection: Connection, *, one: str, other: str, reason: str, seen: int | None,
        author: str | None, as_json: bool, amount: str | None = None,
    ) -> None:  # fmt: skip
        signed = signature(author, reason)
        with installation.store.transaction() as session:
            one, other = (find_key(session, connection, text) for text in (one, other))
            resource_id, doc_key = (other, one) if is_doc_key(one) else (one, other)
            pair = Pair(connection.name, resource_id, doc_key)
            currency = decisions.currency_of(session, pair)
            extra = {"amount": _to_amount(amount, currency)} if with_amount else {}
            decision = decide(session, pair, signed, seen=seen, **extra)
        print_rows([_to_decision_row(decision, currency)], DECISION_KEYS, as_json=as_json)

    if with_amount:
        option = click.option("--amount", help="How much of the payment, in major units; default: what fits.")
        command = option(command)
    return command


@click.command("adjust")
@click.argument("subject")
@click.option("--type", "kind", type=click.Choice([str(kind) for kind in Adjustment]), required=True)
@click.option("--amount", help="How much of a document, in major units, below zero where it was paid too much.")
@click.option("--reason", required=True)
@click.option("--seen", type=int, help="The newest decision about it you looked at; 0 for none.")
@author_option
@on_connection
@json_option
def adjust(
    installation: Installation, connection: Connection, *, subject: str, kind: str, amount: str | None, reason: str,
    seen: int | None, author: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Accept a difference: of a DOCUMENT the amount given or all that is left, of a PAYMENT that it has none."""
    with asking(installation, reason), installation.store.transaction() as session:
        subject = find_key(session, connection, subject)
        pair = Pair(connection.name, **{"doc_key" if is_doc_key(subject) else "resource_id": subject})
        currency = decisions.currency_of(session, pair)
        money, signed = _to_amount(amount, currency), signature(author, reason)
        decision = decisions.adjust(session, pair, signed, amount=money, kind=Adjustment(kind), seen=seen)
        decisions.use_approval(session, decision, installation.settings.approvals)
    print_rows([_to_decision_row(decision, currency)], DECISION_KEYS, as_json=as_json)


def is_doc_key(text: str) -> bool:
    return text.startswith(("cl:", "mx:"))


def find_key(session: Session, connection: Connection, text: str) -> str:
    """Return the key of the document that a text names as a person does; what names none stays as it is.

    A document that is not valid is meant only where no valid one is.
    """
    if not text or is_doc_key(text):
        return text
    found = records.find_documents(session, connection.name, text, most=_MOST_NAMED) or records.find_documents(
        session, connection.name, text, most=_MOST_NAMED, is_valid=False
    )
    if len(found) > 1:
        raise CommandError(f"{text} names several documents: {', '.join(found)}", Completion.MISUSED)
    return found[0] if found else text


def _to_amount(text: str | None, currency: str) -> int | None:
    if text is None:
        return None
    try:
        return to_minor(text, currency)
    except MoneyError as error:
        raise CommandError(f"--amount {error}", Completion.MISUSED) from None


def _to_decision_row(decision: Decision, currency: str) -> dict[str, object]:
    own = {name: getattr(decision, name) for name in DECISION_KEYS if name != "decision_id"}
    amount = None if decision.amount is None else format_decimal(decision.amount, currency)
    return own | {"decision_id": decision.id, "amount": amount}


def _match(
    session: Session, pair: Pair, signed: Signature, *, amount: int | None = None, seen: int | None = None
) -> Decision:
    """Match a payment with a document, or tie a payout to a line of the bank."""
    if decisions.find_payout(session, pair) is None:
        return decisions.match(session, pair, signed, amount=amount, seen=seen)
    if amount is not None:
        raise DecisionError("desk.tie_whole")
    return tie(session, pair, signed, today=signed.at.date(), seen=seen)


match = _pair_command(
    "match", "Bind a payment and a document, or a payout and its line of the bank.", _match,
    with_amount=True,
)  # fmt: skip
unmatch = _pair_command(
    "unmatch", "Keep a payment and a document apart, or a payment unmatched.", decisions.unmatch, with_amount=False
)
decline = _pair_command("decline", "Turn down a suggested pair.", decisions.decline, with_amount=False)
withdraw = _pair_command(
    "withdraw", "Take back what was decided about a payment, a document or both.", decisions.withdraw, with_amount=False
)
