"""The pages: server-rendered, without script, behind a login."""

import threading
from collections.abc import Callable, Collection
from datetime import date, datetime
from importlib import import_module
from pathlib import Path

import sqlalchemy as sa
from flask import Blueprint, Flask, Response, current_app, make_response, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_login import current_user
from flask_wtf.csrf import CSRFError
from markupsafe import Markup
from sqlalchemy.orm import configure_mappers
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from consumer.facts.approvals import ApprovalNeededError
from consumer.facts.clock import utc_now
from consumer.facts.durable import is_disk_shut
from consumer.facts.installation import Installation
from consumer.facts.messages import LANGUAGES, Message, is_translated, translate, word
from consumer.facts.money import digits_of
from consumer.facts.names import format_tax_id
from consumer.facts.texts import may_be_erased, say_erased, shorten
from consumer.facts.work import Errands
from reconcile.kept.chunks import DamagedRowsError
from reconcile.tables.desk import ExceptionRow
from reports.access.keys import Scope
from reports.making import columnar
from reports.making.catalogue import NoRunError
from reports.pages import (
    account,
    alarms,
    api,
    approvals,
    bank,
    books,
    bulk,
    closing,
    decisions,
    deliveries,
    desk,
    disputes,
    downloads,
    exceptions,
    journal,
    links,
    lists,
    login,
    names,
    operations,
    packs,
    payers,
    payouts,
    pending,
    people,
    running,
    saved,
    search,
    settings,
    tax,
    today,
    views,
    visibility,
    words,
)
from reports.pages.bodies import limit_bodies, refuse_body
from reports.pages.desk import ERRANDS, EXTENSION, BadQueryError
from reports.pages.protection import Sessions, find_machine, protect
from reports.pages.words import refusal
from reports.queries.asking import SIZES, AskedError
from reports.shapes import notation
from reports.shapes.definitions import label_of, title_of
from reports.wording import cells, evidence, inputs, phrases, stored

# How often a serving process looks for a new run.
_LOOK_SECONDS = 15.0
PUBLIC = ("webhooks", "healthz", "readyz", "metrics", "health")
_FAILED = ("Something went wrong", "The error has been logged. Try again in a moment.")
_UNREADABLE = "This cannot be read"
_TITLES = {400: _UNREADABLE, 403: "Not allowed", 404: "Not found", 405: "Not found", 413: _UNREADABLE, 500: _FAILED[0]}


def pages() -> list[Blueprint]:
    """List the blueprints that people open; `register` hangs them up."""
    own = Blueprint(
        "pages",
        __name__,
        root_path=str(Path(__file__).parent.parent),
        template_folder="templates",
        static_folder="static",
        static_url_path="/assets",
    )
    return [
        own,
        login.blueprint,
        today.blueprint,
        payouts.blueprint,
        search.blueprint,
        bank.blueprint,
        exceptions.blueprint,
        bulk.blueprint,
        decisions.case,
        disputes.blueprint,
        downloads.blueprint,
        views.blueprint,
        alarms.blueprint,
        operations.blueprint,
        running.blueprint,
        books.blueprint,
        closing.blueprint,
        packs.blueprint,
        journal.blueprint,
        tax.blueprint,
        decisions.documents,
        account.blueprint,
        approvals.blueprint,
        payers.blueprint,
        people.blueprint,
        saved.blueprint,
        settings.blueprint,
        visibility.blueprint,
        api.blueprint,
        deliveries.blueprint,
    ]


def register(
    app: Flask, installation: Installation, *, errands: Errands | None = None, public: Collection[str] = PUBLIC
) -> None:
    """Add the pages to an application; `public` names endpoints or blueprints that answer without a login."""
    app.extensions[EXTENSION] = installation
    app.extensions[ERRANDS] = errands
    app.config["SESSION_COOKIE_SECURE"] = (installation.settings.public_url or "").startswith("https://")
    app.session_interface = Sessions(installation.settings.trusted_proxies)
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    app.jinja_env.finalize = _shorten
    limit_bodies(app)
    protect(app, public)
    for blueprint in pages():
        app.register_blueprint(blueprint)
    if installation.settings.oidc_issuer:
        # Its library is there only with the extra `oidc`.
        app.register_blueprint(import_module("reports.pages.oidc").to_blueprint(installation.settings))
    app.context_processor(_words)
    app.register_error_handler(BadQueryError, _bad_query)
    app.register_error_handler(AskedError, _bad_query)
    app.register_error_handler(NoRunError, _no_run)
    app.register_error_handler(CSRFError, _bad_form)
    app.register_error_handler(ApprovalNeededError, approvals.ask_for)
    for status in (403, 404, 405):
        app.register_error_handler(status, _error)
    app.register_error_handler(413, _too_large)
    app.register_error_handler(DamagedRowsError, _answer_damaged)
    for shut in (sa.exc.OperationalError, sa.exc.InternalError, OSError):
        app.register_error_handler(shut, _answer_shut)
    app.register_error_handler(500, _failure)


def _shorten(value: object) -> object:
    """Cut what a page prints; markup, and text that a template escaped itself, stays whole."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return shorten(say_erased(value, word("note", "erased", desk.language())) if may_be_erased(value) else value)


def warm(app: Flask) -> Flask:
    """Compile the templates, join the tables and read the catalogues in a thread: the first page need not wait."""
    threading.Thread(target=_compile, args=(app,), name="templates", daemon=True).start()
    return app


def read_ahead(installation: Installation) -> float:
    """Unpack the lists of new runs before they are opened; return for how many seconds to rest."""
    columnar.read_ahead(installation, utc_now())
    return _LOOK_SECONDS


def _compile(app: Flask) -> None:
    configure_mappers()
    for name in app.jinja_env.list_templates(extensions=["html"]):
        app.jinja_env.get_template(name)
    for language in LANGUAGES:
        is_translated("", language)  # reads the catalogue


def token_check(installation: Installation) -> Callable[[], bool]:
    """Make the check of a request's token, for routes outside the pages such as the metrics."""

    def may_read_metrics() -> bool:
        machine = find_machine(installation.store, request.headers.get("Authorization", ""))
        # Counters of all connections stand in one answer.
        return machine is not None and Scope.METRICS in machine.scopes and machine.limit is None

    return may_read_metrics


# What templates call things, and where they lead.
_NAMES = {
    "document_name": names.document_name,
    "item_name": names.item_name,
    "payout_name": names.payout_name,
    "run_name": names.run_name,
    "prepare_names": names.prepare_names,
    "tax_id": format_tax_id,
    "neighbours": exceptions.find_neighbours,
    "view_address": saved.address_of,
    "bank_name": desk.bank_name,
}


def _words() -> dict[str, object]:
    language = desk.language()
    return {
        **_NAMES,
        "menu": _menu,
        "more": _more,
        "language": language,
        "t": lambda text, **values: translate(text, language, **values),
        "written": desk.written,
        "ticked": desk.ticked,
        "say": lambda group, name: word(group, name, language),
        "code_title": lambda code: phrases.code_title(code, language),
        "action": lambda code, stored: phrases.action_of(stored, language, code),
        "proof_name": lambda name: desk.name_tax_id(evidence.name_of(name, language)),
        "proof_parts": evidence.with_known_reasons,
        "proof": lambda name, value, row: _proof(name, value, row, language),
        "rule_word": lambda text: desk.name_tax_id(phrases.rule(text, language)),
        "stream_word": lambda name: word("stream", name, language),
        "job_word": lambda name: phrases.job(name, language),
        "subject_word": lambda text: phrases.subject(text, language),
        "stored_words": lambda text, own: stored.sentence(text, language, desk.currency_of(own)),
        "history_word": lambda text: word("history", text, language),
        "heading": lambda table, name: desk.name_tax_id(label_of(table, name, language)),
        "cell_word": lambda report, column, row: cells.cell(report, column, row, language),
        "apart_words": lambda names: words.name_differences(names, language),
        "with_links": links.with_links,
        "with_days": lambda text: " – ".join(_day(day, language) for day in text.split(" – ")),
        "trail_word": lambda action: word("trail", action, language),
        "trail_subject": links.of_trail,
        "calendar_words": lambda text: inputs.format_value("calendars", text, language),
        "changed_subject": lambda change: stored.subject_of_change(change.subject, language, change.kind),
        "intake_word": lambda text: refusal(text, language),
        "figure": lambda text: notation.format_figure(text, language),
        "amount": _amount(language),
        "count": lambda number: notation.format_count(number, language),
        "day": lambda on: _day(on, language),
        "moment": lambda at, connection: _moment(at, language, connection),
        "month": lambda text: notation.format_month(text, language),
        "duration": lambda seconds: notation.format_duration(seconds, language),
        "rate": lambda text: text.replace(".", ",") if language == "es-CL" else text,
        "report_title": lambda name: title_of(name, language),
        "pending_now": pending.pending_now,
        "decimals_of": digits_of,
        "count_changes": pending.count_changes,
        "has_runs": running.may_run,
        "same_page": desk.same_page,
        "newest_run": desk.newest_run,
        "shown_address": lists.shown_address,
        "sizes": SIZES,
        # Asked only where a page offers files: a page that refuses an unknown connection has none to offer.
        "offered_profile": lambda: desk.home_connection().country.profile,
        "currency_of": desk.currency_of,
        "connections": desk.visible_connections(),
        "own_language": desk.own_language(),
        "has_provider": desk.installation().settings.oidc_issuer is not None,
        "reader": current_user,
    }


def _menu() -> list[tuple[str, str, tuple[str, ...]]]:
    """List what people open each day: address, name, and the blueprints that belong to it."""
    return [
        (url_for("today.show"), "Today", ("today",)),
        (url_for("payouts.index"), "Payouts", ("payouts",)),
        (url_for("exceptions.index"), "Exceptions", ("exceptions", "bulk", "case")),
        (url_for("views.show", place="receivables"), "Receivables", ()),
        (url_for("bank.index"), "Bank", ("bank",)),
        (url_for("books.overview"), "Books", ("books", "closing", "documents")),
        (url_for("tax.index"), "Taxes", ("tax",)),
        (url_for("downloads.index"), "Reports", ("downloads",)),
    ]


def _more() -> list[tuple[str, str, tuple[str, ...]]]:
    """List what is opened now and then; it stands behind one word of the menu."""
    return [
        (url_for("disputes.index"), "report.disputes", ("disputes",)),
        (url_for("views.show", place="in-transit"), "In transit", ()),
        (url_for("views.show", place="fees"), "report.fee-summary", ()),
        (url_for("payers.index"), "report.payers", ("payers",)),
        (url_for("saved.index"), "Saved views", ("saved",)),
        (url_for("packs.choose"), "Proof for an auditor", ("packs",)),
        (url_for("operations.overview"), "Operation", ("operations", "alarms")),
        (url_for("settings.show"), "Settings", ("settings", "people")),
    ]


def _amount(language: str) -> Callable[..., str]:
    def write_amount(amount: int | None, currency: str, *, symbol: bool = False) -> str:
        return "" if amount is None else notation.format_amount(amount, currency, language, symbol=symbol)

    return write_amount


def _day(on: date | str | None, language: str) -> str:
    if not on:
        return ""
    return notation.format_date(on if isinstance(on, date) else date.fromisoformat(on), language)


def _moment(at: datetime | str | None, language: str, connection: str) -> str:
    if not at:
        return ""
    instant = at if isinstance(at, datetime) else datetime.fromisoformat(at)
    return notation.format_moment(instant, language, desk.zone_of(connection))


def _proof(name: str, value: object, row: ExceptionRow, language: str) -> str:
    """Return one piece of evidence in the reader's words, an instant in the zone of the exception's connection."""
    if isinstance(value, str) and stored.is_instant(value):
        return _moment(value, language, row.connection)
    return evidence.format_value(name, value, row.currency, language)


def _bad_query(error: BadQueryError | AskedError) -> ResponseReturnValue:
    return _answer(400, error.message)


def _no_run(error: NoRunError) -> ResponseReturnValue:
    return _answer(404, error.message)


def _bad_form(_error: CSRFError) -> ResponseReturnValue:
    return _answer(400, Message("The form was too old or incomplete. Go back, reload and try again."))


def _error(error: HTTPException) -> ResponseReturnValue:
    own = error.description if error.description != type(error).description else None
    plain = {
        403: Message("Your role does not allow this."),
        404: Message("There is nothing at this address."),
        405: Message("This address is not asked in this way: open it as a link, or send its form."),
    }
    answer = make_response(_answer(error.code or 500, own or plain[error.code or 404]))
    if isinstance(error, MethodNotAllowed):
        answer.allow.update(error.valid_methods or ())
    return answer


def _too_large(_error: HTTPException) -> ResponseReturnValue:
    return _answer(413, refuse_body())


def _answer_damaged(error: DamagedRowsError) -> ResponseReturnValue:
    """Say which rows cannot be read, on the page and in the log with what was found."""
    current_app.logger.error("%s", error, exc_info=error)
    return _answer(500, error.message)


def _answer_shut(error: Exception) -> ResponseReturnValue:
    """Answer 503 where the database or the disk takes nothing; any other fault of theirs is a failure."""
    if isinstance(error, OSError) and not is_disk_shut(error):
        raise error
    current_app.logger.error("nothing can be written: %s", type(error).__name__)
    texts = [translate("pages.nothing_saved", language) for language in ("es-CL", "en")]
    return Response("\n".join(texts) + "\n", 503, {"Retry-After": "30"}, mimetype="text/plain")


def _failure(_error: HTTPException) -> ResponseReturnValue:
    """Say so without a template, which may need the very database that is down; the cause is in the log."""
    texts = [translate(text, language) for text in _FAILED for language in ("es-CL", "en")]
    return Response("\n".join(texts) + "\n", 500, mimetype="text/plain")


def _answer(status: int, sentence: Message | str) -> ResponseReturnValue:
    """Answer programs in plain text and people with a page."""
    is_machine = request.headers.get("Authorization") or request.path.startswith(("/webhooks", "/api/"))
    if is_machine or request.accept_mimetypes.best_match(("text/html", "text/plain"), "text/html") == "text/plain":
        return Response(f"{sentence}\n", status, mimetype="text/plain")
    shown = refusal(sentence, desk.language())
    return render_template("error.html", title=_TITLES[status], sentence=shown), status
