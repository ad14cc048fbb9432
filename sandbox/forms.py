"""Form fields with brackets, read as the nested object they stand for."""

from typing import Any

from werkzeug.datastructures import MultiDict


def read_form(form: MultiDict[str, str]) -> dict[str, Any]:
    """`mx_direct_debit[max_amount]=5` becomes `{"mx_direct_debit": {"max_amount": "5"}}`."""
    fields: dict[str, Any] = {}
    for name, value in form.items(multi=True):
        _place(fields, name.replace("]", "").split("["), value)
    return fields


def _place(fields: dict[str, Any], path: list[str], value: str) -> None:
    for name in path[:-1]:
        inner = fields.setdefault(name, {})
        fields = inner if isinstance(inner, dict) else fields
    fields[path[-1]] = value
