"""The merchant's books: files in with a look before they are kept, bank lines, decisions, and days that are closed."""

from flask import Blueprint, abort, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from consumer.facts.messages import translate
from consumer.facts.names import name_document
from reconcile.books import intake
from reconcile.books.intake import Kind
from reconcile.desk import payers, removals
from reconcile.desk.decisions import Signature
from reconcile.desk.removals import RemovalError
from reconcile.runs.close_period import PeriodError, reopen_period
from reports.access.people import Role
from reports.directory import LISTINGS
from reports.pages import desk, lists, staging
from reports.pages.desk import BadQueryError
from reports.pages.protection import need
from reports.pages.staging import UploadError
from reports.pages.words import refusal
from reports.queries import bookkeeping
from reports.queries.listing import BOOKS, Listing, Wanted, read

blueprint = Blueprint("books", __name__, url_prefix="/books")

_TEMPLATES = {"periods": "periods.html", "approvals": "approvals.html", "payers": "payers.html"}
_LATEST = 5
_LONGEST_HEADING = 200
_LISTS = {
    Kind.INVOICES: "invoice-files",
    Kind.BANK: "bank-files",
    Kind.PAYOUT: "payout-reports",
    Kind.REGISTER: "register-files",
}


@blueprint.get("")
def overview() -> ResponseReturnValue:
    """Show what came in lately, up to when the books are closed, and the form for the next file."""
    with desk.installation().store.reading() as session:
        wanted = Wanted(desk.names(), size=_LATEST)
        files = {name: read(session, LISTINGS[name], wanted) for name in _LISTS.values()}
        closed = [(own, bookkeeping.find_last_closing(session, own.name)) for own in desk.connections()]
    return render_template(
        "books.html",
        listings=listings(),
        files=[(LISTINGS[name], page) for name, page in files.items()],
        closed=closed,
        mappings=intake.mappings(desk.installation()),
        may_bring=desk.reader().role.may(Role.FINANCE),
    )


def listings() -> list[Listing]:
    return [listing for listing in LISTINGS.values() if listing.place == BOOKS]


@blueprint.get("/<name>")
def index(name: str) -> ResponseReturnValue:
    if name not in LISTINGS or LISTINGS[name].place != BOOKS:
        abort(404)
    listing = LISTINGS[name]
    wanted = lists.wanted(listing)
    with desk.installation().store.reading() as session:
        drawn = lists.draw(session, listing, wanted)
        closed = [(own, bookkeeping.find_last_closing(session, own.name)) for own in desk.connections()]
        to_decide = payers.list_to_decide(session, wanted.connections)
        waiting = bookkeeping.waiting_approvals(session, wanted.connections, now=desk.now())
    return render_template(
        _TEMPLATES.get(name, "listing.html"),
        home="books",
        listing=listing,
        listings=listings(),
        drawn=drawn,
        page=drawn.page,
        box=lists.box({"state"}),
        wanted=wanted,
        closed=closed,
        waiting=waiting,
        to_decide=to_decide,
        may_close=desk.reader().role.may(Role.FINANCE),
        may_reopen=desk.reader().role.may(Role.ADMIN),
    )


@blueprint.post("/look")
def look() -> ResponseReturnValue:
    """Read a file and show what it would change; it is kept once it is confirmed."""
    need(Role.FINANCE)
    try:
        upload = staging.stage_upload(
            desk.installation(),
            request.files.get("file"),
            who=desk.reader().name,
            now=desk.now(),
            terms={
                "kind": _kind(),
                "connection": desk.find_connection(request.form.get("connection", "")).name,
                "account": request.form.get("account", "").strip()[:64],
                "mapping": request.form.get("mapping", "").strip()[:64],
                "period": request.form.get("period", "").strip()[:64],
            },
        )
    except UploadError as error:
        return desk.refuse(refusal(error.message, desk.language()), "books.overview")
    return redirect(url_for("books.show_upload", key=upload.key))


@blueprint.get("/look/<key>")
def show_upload(key: str) -> ResponseReturnValue:
    """Show what a staged file would change: totals to compare, or every reason why it cannot be kept."""
    need(Role.FINANCE)
    upload = staging.find_upload(desk.installation(), key, who=desk.reader().name)
    if upload is None:
        return _say_gone()
    found = _take_in(upload, dry_run=True)
    chosen = upload.content.get("columns")
    try:
        proposal = (
            intake.propose(desk.find_connection(upload.content["connection"]), upload.path)
            if chosen and upload.content["kind"] == Kind.BANK
            else found.proposal
        )
    except FileNotFoundError:
        # Another window of the same reader confirmed or dropped it a moment ago.
        return _say_gone()
    return render_template(
        "look.html",
        found=found,
        upload=upload,
        kind=upload.content["kind"],
        proposal=proposal,
        chosen=chosen or (proposal.guesses if proposal else {}),
        fields=intake.BANK_FIELDS,
        kinds=_name_kinds(upload) if found.lacks_kind else {},
        kind_of_all=_kind_of_all(upload),
    )


def _name_kinds(upload: staging.Staged) -> dict[str, str]:
    country = desk.find_connection(upload.content["connection"]).country_code
    return {code: name_document(country, code, "", "", "", desk.language()) for code in intake.list_kinds(country)}


def _kind_of_all(upload: staging.Staged) -> str:
    """Return the name of the kind that a person said all documents of a list are of, empty if no one did."""
    return _name_kinds(upload).get(intake.kind_of_all(upload.content.get("columns") or {}), "")


@blueprint.post("/columns")
def choose_columns() -> ResponseReturnValue:
    """Read the staged file with what its reader says of it: the columns of a bank's, remembered once the file is kept.

    Of a list of invoices without kinds it is the kind of all its documents.
    """
    need(Role.FINANCE)
    upload = staging.find_upload(desk.installation(), request.form.get("key", ""), who=desk.reader().name)
    if upload is None:
        return _say_gone()
    if upload.content["kind"] == Kind.INVOICES:
        country = desk.find_connection(upload.content["connection"]).country_code
        kind, known = request.form.get("doc_type", ""), intake.list_kinds(country)
        if kind not in known:
            raise BadQueryError("pages.not_one_of", name="doc_type", value=kind[:20], known=", ".join(known))
        chosen = intake.take_all_as(kind)
    else:
        chosen = {field: request.form.get(field, "")[:_LONGEST_HEADING] for field in intake.BANK_FIELDS}
    try:
        staging.change(desk.installation(), upload, {"columns": chosen}, who=desk.reader().name, now=desk.now())
    except FileNotFoundError:
        return _say_gone()
    return redirect(url_for("books.show_upload", key=upload.key))


@blueprint.post("/keep")
def keep() -> ResponseReturnValue:
    """Keep the file that was looked at; a second click finds it gone, and the file itself is never kept twice."""
    need(Role.FINANCE)
    upload = staging.find_upload(desk.installation(), request.form.get("key", ""), who=desk.reader().name)
    if upload is None:
        return _say_gone()
    if request.form.get("action") == "drop":
        staging.drop(desk.installation(), upload)
        return redirect(url_for("books.overview"))
    is_sure = upload.content["kind"] != Kind.BANK or request.form.get("confirm_account") == "yes"
    if not is_sure and _take_in(upload, dry_run=True).asks:
        flash(translate("upload.confirm_account", desk.language()), "alert")
        return redirect(url_for("books.show_upload", key=upload.key))
    found = _take_in(
        upload,
        dry_run=False,
        seen=request.form.get("seen", ""),
        accept_totals=request.form.get("accept_totals") == "yes",
    )
    if not found.kept:
        # Something changed since it was looked at; the look says what.
        if found.stale:
            flash(refusal(found.stale, desk.language()), "alert")
        return redirect(url_for("books.show_upload", key=upload.key))
    staging.drop(desk.installation(), upload)
    accepted = f", {found.totals_accepted} totals accepted" if found.totals_accepted else ""
    kind = _kind_of_all(upload)
    said = f", all taken as {kind}" if kind else ""
    desk.note("import", f"{upload.content['connection']} {upload.content['kind']} {found.name}{accepted}{said}")
    flash(translate("done.import", desk.language(), name=found.name), "done")
    return redirect(url_for("books.index", name=_LISTS[Kind(upload.content["kind"])]))


def _say_gone() -> ResponseReturnValue:
    flash(translate("upload.gone", desk.language()), "alert")
    return redirect(url_for("books.overview"))


@blueprint.get("/files/<any(invoices, bank):kind>/<connection>/<sha256>")
def file(kind: str, connection: str, sha256: str) -> ResponseReturnValue:
    """Show what taking a file back would do, and everything that rests on it."""
    desk.find_connection(connection)
    try:
        with desk.installation().store.reading() as session:
            found = removals.find_file(session, connection, removals.Kind(kind), sha256)
            removal = removals.look(session, found)
    except RemovalError:
        abort(404)
    may_undo = desk.reader().role.may(Role.FINANCE)
    return render_template("file.html", removal=removal, file=found, kind=kind, may_undo=may_undo)


@blueprint.post("/files/<any(invoices, bank):kind>/<connection>/<sha256>")
def take_back(kind: str, connection: str, sha256: str) -> ResponseReturnValue:
    """Take a file back whole, or say what rests on it; a second click finds it gone."""
    need(Role.FINANCE)
    desk.find_connection(connection)
    try:
        with desk.installation().store.transaction() as session:
            found = removals.find_file(session, connection, removals.Kind(kind), sha256)
            name = removals.take_back(session, found, _signature()).file.name
    except RemovalError as error:
        flash(refusal(error.message, desk.language()), "alert")
        is_gone = error.message.code == "removal.no_file"
        here = url_for("books.file", kind=kind, connection=connection, sha256=sha256)
        return redirect(url_for("books.overview") if is_gone else here)
    flash(translate("done.take back", desk.language(), name=name), "done")
    return redirect(url_for("books.index", name="removed-files"))


@blueprint.get("/periods/<connection>/<int(max=2147483647):number>")
def period(connection: str, number: int) -> ResponseReturnValue:
    """Show one closing: who and why, what it froze, and what later runs found otherwise."""
    desk.find_connection(connection)
    wanted = Wanted([connection], desk.choice("kind", bookkeeping.FIGURE_KINDS), str(number), desk.page_number())
    with desk.installation().store.reading() as session:
        found = bookkeeping.find_period(session, connection, number)
        if found is None:
            abort(404)
        frozen = bookkeeping.figures_by_kind(session, number)
        figures = read(session, LISTINGS["closed-figures"], wanted)
        lines = read(session, LISTINGS["adjustments"], Wanted([connection], "", str(number), size=200))
    return render_template(
        "period.html",
        period=found,
        frozen=frozen,
        figures=figures,
        kinds=bookkeeping.FIGURE_KINDS,
        kind=wanted.state,
        lines=lines,
        listings=listings(),
        may_pack=found["state"] == "closed" and desk.reader().role.may(Role.FINANCE),
        profile=desk.find_connection(connection).country.profile,
    )


@blueprint.post("/reopen")
def reopen() -> ResponseReturnValue:
    """Open the newest closed period again, for a reason."""
    need(Role.ADMIN)
    connection = desk.find_connection(request.form.get("connection", ""))
    try:
        made = reopen_period(desk.installation(), connection, _signature())
    except PeriodError as error:
        return _show_result(refusal(error.message, desk.language()), "alert")
    desk.note("reopen period", f"{connection.name} {made.until.isoformat()}")
    return _show_result(translate("done.reopen period", desk.language()), "done")


def _signature() -> Signature:
    return Signature(author=desk.reader().name, reason=desk.form_text("reason"), at=desk.now())


def _take_in(
    upload: staging.Staged, *, dry_run: bool, seen: str | None = None, accept_totals: bool = False
) -> intake.Intake:
    terms = upload.content
    return intake.take_in(
        desk.installation(),
        desk.find_connection(terms["connection"]),
        Kind(terms["kind"]),
        upload.path,
        account=terms["account"],
        mapping=terms["mapping"] or None,
        columns=terms.get("columns"),
        period=terms.get("period", ""),
        who=desk.reader().name,
        seen=seen,
        accept_totals=accept_totals,
        # The look asks about an account that no payout goes to, and `keep` for the answer.
        is_new_account=True,
        dry_run=dry_run,
    )


def _kind() -> str:
    kind = request.form.get("kind", "")
    if kind not in _LISTS:
        raise BadQueryError("pages.not_one_of", name="kind", value=kind[:20], known=", ".join(_LISTS))
    return kind


def _show_result(sentence: str, category: str) -> ResponseReturnValue:
    flash(sentence, category)
    return redirect(url_for("books.index", name="periods"))
