"""The settings in force, with every secret left out."""

from typing import Any

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue
from pydantic import SecretStr

from reports.pages import desk

blueprint = Blueprint("settings", __name__, url_prefix="/settings")

# The address of the database may hold its password.
_HIDDEN = {"database_url", "connections"}


@blueprint.get("")
def show() -> ResponseReturnValue:
    settings = desk.house().settings
    rows = [(name, _shown(getattr(settings, name))) for name in sorted(type(settings).model_fields)]
    return render_template(
        "settings.html",
        rows=[(name, value) for name, value in rows if name not in _HIDDEN],
        database=settings.database_url.partition(":")[0],
        connections=settings.all_connections,
    )


def _shown(value: Any) -> str | None:
    """Say how many secrets there are, and nothing else about them."""
    if isinstance(value, SecretStr):
        return "set"
    if isinstance(value, tuple) and value and isinstance(value[0], SecretStr):
        return f"{len(value)} set"
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or None
    return None if value is None or value == {} else str(value)
