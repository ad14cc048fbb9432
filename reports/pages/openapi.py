"""Pure: the OpenAPI description of the JSON lists, made from the same definitions that make the lists."""

from collections.abc import Sequence
from typing import Any, TypeAlias, cast

from consumer.facts.columns import Column, Kind
from reconcile.books import intake
from reports.directory import LISTINGS
from reports.making.catalogue import AVAILABLE
from reports.queries.listing import Listing
from reports.shapes.definitions import CATALOGUE, Definition, title_of

Schema: TypeAlias = dict[str, object]
_TEXT: Schema = {"type": "string"}
_TEXTS: Schema = {"type": "array", "items": _TEXT}
_TYPES: dict[Kind, Schema] = {
    Kind.TEXT: {"type": ["string", "null"]},
    Kind.ID: {"type": ["string", "null"]},
    Kind.MONEY: {"type": ["string", "null"], "description": "decimal text in major units"},
    Kind.DECIMAL: {"type": ["string", "null"], "description": "decimal text"},
    Kind.INT: {"type": ["integer", "null"]},
    Kind.DATE: {"type": ["string", "null"], "format": "date"},
    Kind.INSTANT: {"type": ["string", "null"], "format": "date-time"},
}


def describe(usual: int, most: int) -> Schema:
    """Describe every list, its parameters, its rows and its refusals."""
    paths = {f"/{name}": _report_path(CATALOGUE[name], usual, most) for name in AVAILABLE}
    paths |= {f"/{listing.name}": _list_path(listing, usual, most) for listing in LISTINGS.values()}
    paths["/books/{kind}"] = _books_path()
    paths["/search"] = _search_path(usual, most)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Cuadre", "version": "1", "description": "The lists of the pages as JSON, newest run."},
        "servers": [{"url": "/api/v1"}],
        "security": [{"token": []}, {"session": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "session": {"type": "apiKey", "in": "cookie", "name": "session"},
            }
        },
    }


def _report_path(definition: Definition, usual: int, most: int) -> Schema:
    parameters = [
        _parameter("from", {"type": "string", "format": "date"}, "first local business date"),
        _parameter("to", {"type": "string", "format": "date"}, "last local business date, included"),
        _parameter("as_of", {"type": "string", "format": "date"}, "the day that decides what is due"),
        _parameter("payout", {"type": "string"}, "one payout only, in payout-summary and payout-detail"),
    ]
    return _path(definition.name, parameters, _page_of(definition.columns, with_run=True), usual, most)


def _list_path(listing: Listing, usual: int, most: int) -> Schema:
    parameters = [_parameter("q", {"type": "string"}, "search")]
    if listing.states:
        parameters.append(_parameter("state", {"type": "string", "enum": list(listing.states)}, "one state only"))
    return _path(listing.name, parameters, _page_of(listing.columns, with_run=False), usual, most)


def _path(name: str, parameters: list[Schema], page: Schema, usual: int, most: int) -> Schema:
    limit = {"type": "integer", "minimum": 1, "maximum": most, "default": usual}
    always = [
        _parameter("connection", {"type": "string"}, "one connection only"),
        _parameter("limit", limit, "rows a page"),
        _parameter("cursor", {"type": "string"}, "next_cursor of the page before"),
    ]
    return {
        "get": {
            "operationId": name.replace("-", "_"),
            "summary": title_of(name, "en"),
            "parameters": [*parameters, *always],
            "responses": {
                "200": {"description": "one page", "content": {"application/json": {"schema": page}}},
                "400": _refusal("a parameter that cannot be read"),
                "401": _refusal("no login and no valid token"),
                "403": _refusal("a token without scope, or a role that may not read it"),
                "404": _refusal("no finished run yet"),
            },
        }
    }


def _search_path(usual: int, most: int) -> Schema:
    """Describe the search, which has one page: the newest of each kind."""
    row: Schema = dict.fromkeys(("kind", "connection", "key", "name", "detail", "state", "path"), _TEXT)
    found = {"data": {"type": "array", "items": _closed(row)}, "next_cursor": {"type": "null"},
             "total": {"type": "integer", "minimum": 0}}  # fmt: skip
    path = _path("search", [_parameter("q", _TEXT, "what people write")], _closed(found), usual, most)
    get = cast("dict[str, Any]", path["get"])
    get["parameters"] = [one for one in get["parameters"] if one["name"] != "cursor"]
    return path


def _books_path() -> Schema:
    """Describe how a program hands a file of the books in."""
    own = {"connection": _TEXT, "account": _TEXT, "currency": _TEXT, "mapping": _TEXT}
    form = {"type": "object", "properties": {"file": {"type": "string", "format": "binary"}, **own}}
    taken = {
        "201": "taken", "200": "the same content came in before", "422": "refused whole, with every row and reason",
    }  # fmt: skip
    refused = {
        "400": "no file, or a field that is unknown", "401": "no valid token", "403": "a token without scope or role",
        "404": "an unknown kind or connection", "413": "a file of more than 10 MB",
    }  # fmt: skip
    kind = {**_parameter("kind", {"type": "string", "enum": [*intake.Kind]}, "what the file holds"), "in": "path"}
    answer = {"application/json": {"schema": _intake_answer()}}
    answers = {status: {"description": words, "content": answer} for status, words in taken.items()}
    return {
        "post": {
            "operationId": "books_take",
            "summary": "Hand in a file of the books",
            "security": [{"token": []}],
            "parameters": [{**kind, "required": True}],
            "requestBody": {
                "required": True,
                "content": {"multipart/form-data": {"schema": {**form, "required": ["file"]}}},
            },
            "responses": answers | {status: _refusal(words) for status, words in refused.items()},
        }
    }


def _intake_answer() -> Schema:
    reject = {"line": {"type": "integer"}, "column": _TEXT, "value": _TEXT, "reason": _TEXT}
    columns = "every named column of a sheet and the field it was read as, empty where it was left out"
    proposal = "of an unknown bank's sheet: which column each field may be, to confirm on the page"
    return _closed(
        {
            "file": _TEXT,
            "connection": _TEXT,
            "kind": {"type": "string", "enum": [*intake.Kind]},
            "verdict": {"type": "string", "enum": [*intake.Verdict]},
            "rows": {"type": "integer", "minimum": 0},
            "counts": {"type": "object", "additionalProperties": {"type": "integer"}},
            "totals": {"type": "array", "items": {"type": "object"}},
            "rejects": {"type": "array", "items": _closed(reject)},
            "notes": _TEXTS,
            "columns": {"type": "array", "items": _closed({"name": _TEXT, "field": _TEXT}), "description": columns},
            "proposal": {"type": "object", "additionalProperties": _TEXT, "description": proposal},
        }
    )


def _closed(fields: Schema) -> Schema:
    """Describe an object that has exactly these fields."""
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def _parameter(name: str, schema: Schema, description: str) -> Schema:
    return {"name": name, "in": "query", "required": False, "schema": schema, "description": description}


def _refusal(description: str) -> Schema:
    return {"description": description, "content": {"text/plain": {"schema": {"type": "string"}}}}


def _page_of(columns: Sequence[Column], *, with_run: bool) -> Schema:
    row: Schema = {column.name: _TYPES[column.kind] for column in columns}
    fields: Schema = {
        "data": {"type": "array", "items": _closed(row)},
        "next_cursor": {"type": ["string", "null"]},
        "total": {"type": "integer", "minimum": 0},
    }
    if with_run:
        day = {"type": "string", "format": "date"}
        fields |= {"as_of": day, "runs": _TEXTS, "incomplete": _TEXTS, "missing": _TEXTS}
    return _closed(fields)
