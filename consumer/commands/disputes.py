"""`cuadre disputes`: evidence of contested payments, shown before it is sent and sent once."""

from pathlib import Path

import click

from consumer import disputes
from consumer.commands.provider_writes import check_agreed
from consumer.commands.terminal import json_option, login_name, on_connection, print_rows, say
from consumer.facts.clock import utc_now
from consumer.facts.disputes import Chosen, find_evidence_type
from consumer.facts.installation import Connection, Installation
from consumer.facts.uploads import LARGEST
from consumer.provider.client import open_provider

UPLOAD_KEYS = ("connection", "dispute_id", "name", "size", "sha256", "sent")
SUBMIT_KEYS = ("connection", "dispute_id", "documents", "sent")

_dry_run = click.option("--dry-run", is_flag=True, help="Say what would be sent, and send nothing.")
_yes = click.option("--yes", is_flag=True, help="Send without asking.")
_author = click.option("--author", help="Who sends it (default: your login name).")


@click.group("disputes")
def dispute_group() -> None:
    """Contested payments with their deadlines, and the evidence against them."""


def make_group(list_command: click.Command) -> click.Group:
    """Return the commands of disputes with the list, which stands on the reports."""
    dispute_group.add_command(list_command, "list")
    return dispute_group


@dispute_group.command("upload")
@click.argument("dispute_id", metavar="DISPUTE")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@_dry_run
@_yes
@_author
@on_connection
@json_option
def upload(
    installation: Installation, connection: Connection, *, dispute_id: str, file: Path, dry_run: bool, yes: bool,
    author: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Send a document (PDF, JPEG or PNG under 10 MB) to a dispute, once; a copy stays in the archive."""
    with file.open("rb") as opened:
        content = opened.read(LARGEST)
    who = author or login_name()
    find_evidence_type(file.name, content)
    with open_provider(installation, connection) as provider:
        disputes.check_open(disputes.look_up(provider, dispute_id), dispute_id)
        kilobytes = -(-len(content) // 1000)
        say(f"{connection.name} ({connection.mode}): send {file.name} ({kilobytes} kB) to {dispute_id}")
        row = {"connection": connection.name, "dispute_id": dispute_id, "name": file.name, "size": len(content),
               "sha256": None, "sent": not dry_run}  # fmt: skip
        if not dry_run:
            check_agreed(yes=yes)
            chosen = Chosen(file.name, content, who, utc_now())
            kept = disputes.keep_document(installation, connection, dispute_id, chosen)
            disputes.send_document(installation, provider, kept, who=who)
            row["sha256"] = kept.sha256
    print_rows([row], UPLOAD_KEYS, as_json=as_json)


@dispute_group.command("submit")
@click.argument("dispute_id", metavar="DISPUTE")
@_dry_run
@_yes
@_author
@on_connection
@json_option
def submit(
    installation: Installation, connection: Connection, *, dispute_id: str, dry_run: bool, yes: bool,
    author: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Ask for the review of a dispute with the documents it has, once; it takes no more of them then."""
    with open_provider(installation, connection) as provider:
        standing = disputes.look_up(provider, dispute_id)
        documents = standing.documents
        if dry_run:
            disputes.check_ready(standing, dispute_id)
        say(f"{connection.name} ({connection.mode}): submit {dispute_id} with its documents ({documents})")
        if not dry_run:
            check_agreed(yes=yes)
            disputes.submit_dispute(installation, provider, dispute_id, seen=documents, who=author or login_name())
    row = {"connection": connection.name, "dispute_id": dispute_id, "documents": documents, "sent": not dry_run}
    print_rows([row], SUBMIT_KEYS, as_json=as_json)
