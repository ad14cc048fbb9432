"""`cuadre search`: what people can find on the pages."""

import click

from consumer.commands.terminal import Connections, on_connections, say
from consumer.facts.installation import Installation
from reports.search import filling


@click.group()
def search() -> None:
    """What people find with the search of the pages."""


@search.command("rebuild")
@on_connections
def search_rebuild(installation: Installation, connections: Connections) -> None:
    """Drop what the search has and read everything again; pages find less until it ends."""
    for connection in connections:
        count = filling.rebuild(installation, connection)
        say(f"{connection.name}: {count} rows")
