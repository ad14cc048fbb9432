"""What the doctor says of a horizon, without the libraries of tables of numbers until one is looked at."""

from consumer.facts.installation import Connection, Installation


def describe_horizon(installation: Installation, connection: Connection) -> tuple[bool, str] | None:
    """Return whether the next run leaves closed days out, and how far or why not, where the horizon is on."""
    if not installation.settings.horizon:
        return None
    from reconcile.closing import horizon  # noqa: PLC0415 - slow to load, and few horizons are on

    return horizon.describe(installation, connection)
