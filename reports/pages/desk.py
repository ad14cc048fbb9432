"""What every page works with: the installation, the reader's language and connections, and strict query parameters."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, cast
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

import sqlalchemy as sa
import structlog
from flask import abort, current_app, flash, g, redirect, request, session, url_for
from flask.typing import ResponseReturnValue
from flask_login import current_user
from sqlmodel import Session

from consumer.facts.addresses import client_address
from consumer.facts.clock import local_date, utc_now
from consumer.facts.installation import Connection, Installation
from consumer.facts.messages import LANGUAGES, RefusalError, translate
from consumer.facts.work import Errands
from reconcile.tables.runs import Run
from reports.access import people
from reports.access.keys import Scope
from reports.access.people import Role
from reports.directory import LISTINGS
from reports.queries import frames, standing
from reports.queries.asking import read_day
from reports.queries.listing import PAGE_ROWS, Listing, Wanted
from reports.shapes.spans import Span

log = structlog.get_logger("cuadre.pages")

EXTENSION = "cuadre_pages"
ERRANDS = "cuadre_errands"
# Nine digits fit 32 bits, and int() refuses some thousands with an error of its own.
_LONGEST_NUMBER = 9
_LONGEST_TEXT = 2000
_TAX_IDS = {"cl": "RUT", "mx": "RFC"}
_TAX_ID = re.compile(r"\b(?:RUT|RFC)\b")
# Pages, files and lists that a run keeps whole.
_PINNABLE = frozenset({
    "payouts.index", "payouts.show", "views.show", "documents.show", "bank.index", "downloads.download", "api.index",
})  # fmt: skip


class BadQueryError(RefusalError):
    """A parameter of an address that cannot be read."""


@dataclass(frozen=True, slots=True)
class Person:
    """Who is at the desk: a person with a session, or a machine with a token."""

    id: str
    name: str
    role: Role
    is_machine: bool = False
    scopes: frozenset[Scope] = frozenset()
    # Names of connections; None where all are seen.
    limit: frozenset[str] | None = None
    person_id: int | None = None
    is_authenticated: bool = True
    is_active: bool = True
    is_anonymous: bool = False

    def get_id(self) -> str:
        return self.id


def installation() -> Installation:
    found: Installation = current_app.extensions[EXTENSION]
    return found


def errands() -> Errands | None:
    """What a page may set going; None where the pages stand alone."""
    found: Errands | None = current_app.extensions[ERRANDS]
    return found


def end_dead_work() -> None:
    """Say of work whose process was killed that it is over, before a page shows how far it is."""
    if (found := errands()) is not None:
        found.end_dead_work()


def reader() -> Person:
    """Name the person or machine of this request; routes that call it require a login."""
    person: Person = current_user._get_current_object()  # noqa: SLF001 - the documented way to leave the proxy
    return person


def now() -> datetime:
    return utc_now()


def address() -> str:
    """Name where a request comes from, seen through the proxies that the settings trust."""
    return client_address(request.environ, installation().settings.trusted_proxies)


def visible_connections() -> tuple[Connection, ...]:
    """Return the connections the reader may see: pages, files, lists and forms ask here and nowhere else."""
    if not current_user.is_authenticated:
        return ()
    limit = reader().limit
    return tuple(own for own in installation().settings.all_connections if limit is None or own.name in limit)


def every_name() -> list[str]:
    """Name all connections, seen or not: what belongs to a person without a limit may be of any."""
    return [own.name for own in installation().settings.all_connections]


def may_see(names: Collection[str]) -> bool:
    """Return True if what was made of these connections holds nothing the reader may not see."""
    limit = reader().limit
    return limit is None or (len(names) > 0 and limit.issuperset(names))


def connections() -> tuple[Connection, ...]:
    """Return the connection the address names, or all that the reader sees."""
    name, own = args().get("connection", ""), visible_connections()
    found = tuple(one for one in own if name in {"", one.name})
    if not found:
        known = ", ".join(sorted(one.name for one in own))
        raise BadQueryError("pages.unknown_connection", name=name, known=known)
    return found


def names() -> list[str]:
    return [connection.name for connection in connections()]


def find_connection(name: str) -> Connection:
    """Find a connection that an address or a form names; one the reader may not see is as unknown as any other."""
    found = next((own for own in visible_connections() if own.name == name), None)
    if found is None:
        abort(404)
    return found


def note(action: str, subject: str) -> None:
    """Write into the trail what the reader just did; a database that takes no row leaves it to the log."""
    try:
        people.note(installation().store, reader().name, action, subject, now=now(), address=address())
    except (sa.exc.OperationalError, sa.exc.InternalError) as error:
        reason = type(error).__name__
        log.warning("the trail cannot be written", who=reader().name, action=action, reason=reason)


def home_connection() -> Connection:
    """Return the connection that decides language and zone: the one asked for, else the first."""
    return connections()[0]


def zone_of(connection: str) -> str:
    return installation().settings.connection(connection).country.zone


def currency_of(connection: str) -> str:
    return installation().settings.connection(connection).country.currency


def pinned_run() -> int | None:
    """Return the number of the run that the address is pinned to; it names its connection where there are several."""
    text = args().get("run", "")
    number = whole_number(text) if text else None
    if text and (number is None or len(connections()) > 1):
        raise BadQueryError("pages.bad_number", name="run", value=text[:20])
    return number


def check_run() -> None:
    """Refuse an address that is pinned to no run, or to two, and a page that says only how things stand now."""
    if len(given := request.args.getlist("run")) > 1:
        raise BadQueryError("pages.bad_number", name="run", value=", ".join(given)[:20])
    if pinned_run() is not None:
        own = (request.view_args or {}).get("connection")
        with installation().store.reading() as session:
            runs(session, [find_connection(own).name] if own else names())
    name = (request.view_args or {}).get("name")
    if request.endpoint not in _PINNABLE or name == "exceptions" or name in LISTINGS:
        raise BadQueryError("pages.not_pinned")


def runs(session: Session, names: Sequence[str]) -> list[Run]:
    """Return the newest run of each connection, or the one that the address is pinned to."""
    number = pinned_run()
    if number is None:
        return runs_now(session, names)
    return frames.latest_runs(session, names, today=today(), number=number) or abort(404)


def runs_now(session: Session, names: Sequence[str], on: date | None = None) -> list[Run]:
    """Return the newest run of each connection; a request asks for them once, so that all of a page is of one run."""
    known: dict[tuple[object, ...], list[Run]] = g.setdefault("runs_now", {})
    asked = (*names, on or today())
    if asked not in known:
        known[asked] = frames.latest_runs(session, names, today=on or today())
        for run in known[asked]:
            # A session that is rolled back would empty it.
            session.expunge(run)
    return known[asked]


def newest_run(connection: str) -> Run | None:
    with installation().store.reading() as session:
        return next(iter(runs_now(session, [connection])), None)


def today() -> date:
    return local_date(now(), home_connection().country.zone)


def language() -> str:
    chosen: str | None = session.get("language")
    return chosen if chosen in LANGUAGES else own_language()


def own_language() -> str:
    """Return the language of the reader's country, or of the installation's where no one is logged in."""
    return (visible_connections() or installation().settings.all_connections)[0].country.language


def bank_name(institution: str | None) -> str:
    """Name a bank as the provider's directory does; one it does not list keeps its id."""
    if "bank_names" not in g:
        with installation().store.reading() as opened:
            g.bank_names = standing.bank_names(opened)
    names: Mapping[str, str] = g.bank_names
    return names.get(institution or "", institution or "")


def args() -> Mapping[str, str]:
    """Return what is asked: by the address of this request, or by that of a view while it is looked at."""
    asked: Mapping[str, str] | None = g.get("asked")
    return request.args.to_dict() if asked is None else asked


@contextmanager
def asking(address: str) -> Iterator[None]:
    """Read everything as another address asks it; `address` is what stands after its question mark."""
    asked = dict(parse_qsl(address))
    if "\0" in "".join((*asked, *asked.values())):
        raise BadQueryError("pages.nul_character")
    g.asked = asked
    try:
        yield
    finally:
        g.asked = None


def span() -> Span:
    since, until = day("from"), day("to")
    if since and until and since > until:
        raise BadQueryError("pages.reversed_range", since=since, until=until)
    return Span(since, until)


def day(name: str) -> date | None:
    return to_day(name, args().get(name, ""))


def to_day(name: str, text: str) -> date | None:
    if not text:
        return None
    if (found := read_day(text)) is None:
        raise BadQueryError("pages.bad_date", name=name, value=text)
    return found


def page_number() -> int:
    number = whole_number(text := args().get("page", "1"))
    if number is None or not 0 < number <= 1_000_000:  # noqa: PLR2004 - beyond any list
        raise BadQueryError("pages.bad_page", name="page", value=text[:20])
    return number


def whole_number(text: str) -> int | None:
    """Read ASCII digits that fit every database's integers; None for other text."""
    is_plain = text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER
    return int(text) if is_plain else None


def choice(name: str, allowed: Collection[str], default: str = "") -> str:
    text = args().get(name)
    if text is None:
        return default
    if text and text not in allowed:
        raise BadQueryError("pages.not_one_of", name=name, value=text, known=", ".join(allowed))
    return text


def check_names(allowed: Collection[str]) -> None:
    """Raise BadQueryError if the address has a parameter that is not allowed."""
    unknown = sorted(set(args()) - set(allowed))
    if unknown:
        raise BadQueryError("pages.unknown_parameter", name=unknown[0], known=", ".join(sorted(allowed)))


def wanted(listing: Listing, *, number: int = 1, size: int = PAGE_ROWS) -> Wanted:
    """Return which rows of a list the address asks for, of those the reader may see."""
    own, is_whole = names(), reader().limit is None and not args().get("connection")
    return Wanted(own, choice("state", listing.states), search(), number, size, is_whole)


def refuse(message: str, endpoint: str, **values: object) -> ResponseReturnValue:
    """Show a page again that holds the form which was refused, with why; what was written stays in its fields."""
    flash(message, "alert")
    g.shown = endpoint, values
    return cast("ResponseReturnValue", current_app.view_functions[endpoint](**values))


def answer(
    refused: str | None, done: str, endpoint: str, anchor: str | None = None, **values: Any
) -> ResponseReturnValue:
    """Answer a form on the page that holds it: why it was refused, or what is done."""
    if refused is not None:
        return refuse(refused, endpoint, **values)
    flash(translate(done, language()), "done")
    return redirect(url_for(endpoint, _anchor=anchor, **values))


def name_tax_id(text: str) -> str:
    """Return a heading with the tax id as the countries of its rows call it: RUT, RFC or both."""
    if not _TAX_ID.search(text):
        return text
    named = {*args().values(), *(request.view_args or {}).values()}
    own = [one for one in visible_connections() if one.name in named] or visible_connections()
    words = sorted({_TAX_IDS[one.country_code] for one in own}, reverse=True)
    return _TAX_ID.sub(" o ".join(words), text) if words else text


def written(address: str, name: str, before: object = "", **own: object) -> str:
    """Return what a form that was refused had in a field; the form is that of an address with these hidden fields."""
    is_own = all(request.form.get(one) == str(value) for one, value in own.items())
    return request.form.get(name, str(before)) if _is_refused(address) and is_own else str(before)


def ticked(address: str) -> set[str]:
    """Return what was picked in a form of an address that was refused; of a pick with a version the first part too."""
    picked = request.form.getlist("pick") if _is_refused(address) else []
    return {one for pick in picked for one in (pick, pick.rpartition("/")[0])}


def _is_refused(address: str) -> bool:
    """Return True if a form of this address is what is being answered: one that was taken leads elsewhere."""
    return request.method == "POST" and request.path == unquote(urlsplit(address).path)


def form_text(name: str) -> str:
    return request.form.get(name, "").strip()[:_LONGEST_TEXT]


def short_text(name: str) -> str:
    return args().get(name, "").strip()[:100]


def search() -> str:
    return short_text("q")


def same_page(**changes: object) -> str:
    """Return this page's address with some parameters changed; None leaves one out."""
    endpoint, values = g.get("shown") or (str(request.endpoint), request.view_args or {})
    path = url_for(endpoint, **values)
    # Not through url_for: a reader's `_scheme` or `endpoint` would be taken as its own arguments.
    asked = urlencode({key: value for key, value in {**args(), **changes}.items() if value not in (None, "")})
    return f"{path}?{asked}" if asked else path
