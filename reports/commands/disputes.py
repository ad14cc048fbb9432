"""`cuadre disputes list`: contested payments with their deadlines."""

import click

from consumer.commands.terminal import Connections, json_option, on_connections, print_rows
from consumer.facts.clock import local_date, utc_now
from consumer.facts.columns import Kind
from consumer.facts.installation import Installation
from consumer.facts.money import format_decimal
from reports.making import catalogue
from reports.queries.query import Query
from reports.shapes.build import CURRENCY
from reports.shapes.definitions import definition_of


@click.command("list")
@on_connections
@json_option
def list_command(installation: Installation, connections: Connections, *, as_json: bool) -> None:
    """Contested payments with their deadlines, newest first."""
    query = Query("disputes", connections, local_date(utc_now(), connections[0].country.zone))
    definition = definition_of(query.name)
    money = [column.name for column in definition.columns if column.kind is Kind.MONEY]
    rows = reversed(catalogue.make(installation, query).table.to_pylist())
    written = ({**row, **{name: format_decimal(row[name], row[CURRENCY]) for name in money}} for row in rows)
    print_rows(written, definition.names, as_json=as_json)
