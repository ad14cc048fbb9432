"""Pages of the month in one archive: made of a closed period and sent, and checked whoever brings one."""

from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from flask import Blueprint, abort, flash, redirect, render_template, request, send_file, url_for
from flask.typing import ResponseReturnValue
from werkzeug.datastructures import FileStorage

from consumer.facts.messages import RefusalError, translate
from reports.access.people import Role
from reports.output.export import Format
from reports.output.files import Shape
from reports.packs import making
from reports.packs.making import pack
from reports.packs.proofs import Asked, ProofError, Subject, prove
from reports.packs.verifying import ChangedError, Proof, verify
from reports.pages import desk
from reports.pages.desk import BadQueryError
from reports.pages.protection import need
from reports.pages.search import to_reader
from reports.pages.words import refusal
from reports.queries import standing
from reports.search.customers import CustomerError, find_customer

blueprint = Blueprint("packs", __name__)

# A reader waits for this many lines of payouts without wondering.
_MOST_LINES = 200_000
# What the form for a proof offers; the page of an older payout has its own link.
_PAYOUTS = 100


@blueprint.post("/books/periods/<connection>/<int(max=2147483647):number>/pack")
def make(connection: str, number: int) -> ResponseReturnValue:
    """Make the archive of a closed period and send it; its tables open in the country's spreadsheet or in programs."""
    need(Role.FINANCE)
    own = desk.find_connection(connection)
    profile = "machine" if request.form.get("profile") == "machine" else own.country.profile
    language = "en" if profile == "machine" else own.country.language
    shape = Shape(Format.CSV, profile, language)
    asked = making.Asked(shape, own.country.language, desk.reader().name, desk.now(), most_lines=_MOST_LINES)
    try:
        # What is open can still be sent when its folder is gone.
        with TemporaryDirectory(prefix="cuadre-pack.") as folder:
            path, _ = pack(desk.installation(), own, number, asked, Path(folder))
            content = path.open("rb")
    except RefusalError as error:
        flash(refusal(error.message, desk.language()), "alert")
        return redirect(url_for("books.period", connection=own.name, number=number))
    desk.note("pack", f"{own.name} {path.name}")
    return send_file(content, mimetype="application/zip", as_attachment=True, download_name=path.name)


@blueprint.get("/proof")
def choose() -> ResponseReturnValue:
    """Show the newest payouts by name, and forms for a customer and for days, each of which sends a proof."""
    desk.check_names(("connection",))
    own = desk.home_connection()
    with desk.installation().store.reading() as session:
        runs = desk.runs_now(session, [own.name])
        payouts = standing.newest_payouts(session, runs, _PAYOUTS)
    may_invite = desk.reader().role.may(Role.ADMIN)
    return render_template("proof.html", own=own.name, payouts=payouts, may_invite=may_invite)


@blueprint.get("/proof/<connection>.pdf")
def proof(connection: str) -> ResponseReturnValue:
    """Send the proof of one payout, one customer or some days, from the newest run."""
    own = desk.find_connection(connection)
    desk.check_names(("payout", "customer", "from", "to"))
    payout_id, customer, span = request.args.get("payout", "")[:200], desk.short_text("customer"), desk.span()
    if Subject(payout_id, customer, span) == Subject():
        raise BadQueryError("proof.no_subject")
    with desk.installation().store.reading() as session:
        runs = desk.runs_now(session, [own.name])
        if not runs:
            abort(404)
        try:
            tax_id = find_customer(session, own, customer, to_reader(desk.language())) if customer else ""
            subject = Subject(payout_id, tax_id, span)
            content = prove(desk.installation(), session, runs[0], own, Asked(subject, desk.language(), desk.now()))
        except (CustomerError, ProofError) as error:
            raise BadQueryError(error.message) from None
    desk.note("proof", f"{own.name} {subject.name()}")
    name = f"proof_{own.name}_{subject.name()}.pdf"
    return send_file(BytesIO(content), mimetype="application/pdf", as_attachment=True, download_name=name)


@blueprint.get("/verify")
def ask() -> ResponseReturnValue:
    """Show the form that takes an archive or a PDF."""
    return render_template("verify.html", proof=None, problem=None)


@blueprint.post("/verify")
def check() -> ResponseReturnValue:
    """Say what a file proves, or what was done to it; it is not kept."""
    given = request.files.get("file")
    if given is None or not given.filename:
        return render_template("verify.html", proof=None, problem=translate("Choose a file first.", desk.language()))
    name = given.filename.replace("\\", "/").rpartition("/")[2]
    try:
        proof, problem = _verify(given).to_message(name), None
    except ChangedError as error:
        proof, problem = None, f"{name} {translate(error.message, desk.language())}."
    said = translate(proof, desk.language()) if proof else None
    return render_template("verify.html", proof=said, problem=problem), 200 if said else 422


def _verify(given: FileStorage) -> Proof:
    with TemporaryDirectory(prefix="cuadre-verify.") as folder:
        path = Path(folder) / "file"
        given.save(path)
        return verify(path)
