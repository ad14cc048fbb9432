"""`cuadre search`: what people can find on the pages."""

import click

from consumer.commands.terminal import connection_option, say
from consumer.facts.installation import OpenInstallation
from reports.search import filling


@click.group()
def search() -> None:
    """What people find with the search of the pages."""


@search.command("rebuild")
@connection_option(None)
@click.pass_obj
def search_rebuild(open_installation: OpenInstallation, *, connection_name: str | None) -> None:
    """Drop what the search has and read everything again; pages find less until it ends."""
    installation = open_installation()
    for connection in installation.connections(connection_name):
        count = filling.rebuild(installation, connection)
        say(f"{connection.name}: {count} rows")
