"""Files that programs hand in: an ERP's invoices each night, with a token, taken whole or refused line by line."""

from flask import Blueprint, abort, jsonify, request
from flask.typing import ResponseReturnValue

from consumer.facts.uploads import LARGEST
from reconcile.books.intake import TERMS, Kind, Verdict, bring_in, to_safe_name
from reports.access.people import Role
from reports.pages import desk
from reports.pages.desk import BadQueryError
from reports.pages.protection import need

blueprint = Blueprint("deliveries", __name__, url_prefix="/api/v1/books")

FIELDS = ("connection", "account", "currency", "period", "mapping")
STATUS = {Verdict.TAKEN: 201, Verdict.KNOWN: 200, Verdict.REFUSED: 422}


@blueprint.post("/<kind>", provide_automatic_options=False)
def take(kind: str) -> ResponseReturnValue:
    """Bring one file into the books; the same content a second time is answered as known."""
    if not desk.reader().is_machine:
        abort(403)
    need(Role.FINANCE)
    if kind not in set(Kind):
        abort(404, f"there is no kind {kind!r}; there are {', '.join(Kind)}")
    if unknown := sorted(request.form.keys() - {"file", *FIELDS}):
        raise BadQueryError("pages.unknown_field", name=unknown[0][:20], known=", ".join(FIELDS))
    named = request.form.get("connection", "main")
    if named not in desk.names():
        abort(404, f"there is no connection {named[:20]!r}; there are {', '.join(desk.names())}")
    connection = desk.find_connection(named)
    given = request.files.get("file")
    content = given.read(LARGEST + 1) if given else b""
    if given is None or not content:
        raise BadQueryError("pages.no_file")
    if len(content) > LARGEST:
        abort(413)
    name = to_safe_name((given.filename or "").replace("\\", "/").rpartition("/")[2])
    term = request.form.get(TERMS.get(Kind(kind), ""), "").strip()[:64]
    mapping = request.form.get("mapping", "").strip()[:64] or None
    found = bring_in(desk.installation(), connection, Kind(kind), name, content, term=term, mapping=mapping)
    if found.kept:
        desk.note("import", f"{connection.name} {kind} {name}")
    answer = {"file": name, "connection": connection.name, "kind": kind, **found.to_answer()}
    return jsonify(answer), STATUS[found.verdict]
