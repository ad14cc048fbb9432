"""Every stream `cuadre pull` knows: the lists it reads, the kind of object they hold, what a later pull asks again.

A list that never answered is not missing; one that stopped answering is.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum, auto

import sqlalchemy as sa
from pydantic import SecretStr
from sqlmodel import Session, col, select

from consumer.facts.clock import format_instant, to_instant, utc_now
from consumer.facts.settings import Connection
from consumer.facts.store import Store
from consumer.facts.tables.sync import Checkpoint, Window, WindowState
from consumer.provider.client import Provider
from consumer.provider.errors import MissingError, ProviderError, RefusedError, UnreadableError
from consumer.provider.fields import identity
from consumer.provider.paging import (
    ACCOUNTS,
    BILLING_INVOICES,
    DISPUTES,
    LINK_ACCOUNTS,
    PAYMENT_INTENTS_V1,
    PAYMENT_INTENTS_V2,
    REFUNDS,
    WEBHOOK_ENDPOINTS,
    Collection,
    Page,
    Path,
    is_numbered,
    v1,
    v2,
)
from consumer.sync import sums
from consumer.sync.sums import Finding

_DAY = timedelta(days=1)


LookOver = Callable[[Session, Connection], list[Finding]]
_NOT_OFFERED = {403, 404, 410}
_NO_PRODUCT = "product_access_required"


class Again(Enum):
    """How a pull after the first one asks for less than everything."""

    EVERYTHING = auto()  # a short list of long-lived objects
    DAYS = auto()  # the list takes calendar dates
    MOMENTS = auto()  # the list takes times
    NEWEST = auto()  # the list takes no time; it is newest first and is left where it gets old


@dataclass(frozen=True, slots=True)
class Part:
    """One list of a stream; the name is kept in the ledger and so holds no secret.

    Of optional lists a provider may lack some; their names are single words.
    """

    name: str
    collection: Collection
    ids: Mapping[str, str] = field(default_factory=dict)
    link: SecretStr | None = None
    account_id: str | None = None
    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class Stream:
    """A name of `cuadre pull`; `lookback` is how long its objects still change after they were created.

    `dated` is the field the list's filter reads, `unstable` are fields that change without meaning, and `elsewhere`
    holds objects of the kind that this stream's lists leave out. `look_over` says what in it does not add up.
    """

    name: str
    kind: str
    parts: Callable[[Provider], list[Part]]
    again: Again = Again.EVERYTHING
    lookback: timedelta = timedelta(days=14)
    by_link: bool = False
    query: Mapping[str, str] = field(default_factory=dict)
    dated: str = "created_at"
    unstable: frozenset[str] = frozenset()
    elsewhere: tuple[Collection, ...] = ()
    look_over: LookOver | None = None

    def to_query(self, since: datetime | None, until: datetime | None) -> dict[str, str]:
        """Return the list's own filter, wider than asked: whether its bounds are included is not documented."""
        query = dict(self.query)
        if self.again is Again.DAYS:
            query |= {} if since is None else {"since": (since - _DAY).date().isoformat()}
            query |= {} if until is None else {"until": (until + _DAY).date().isoformat()}
        elif self.again is Again.MOMENTS:
            query |= {} if since is None else {"since": format_instant(_whole(since) - timedelta(seconds=1))}
            query |= {} if until is None else {"until": format_instant(_whole(until) + timedelta(seconds=1))}
        return query


def lists(collection: Collection) -> Callable[[Provider], list[Part]]:
    """Read this list as it is."""
    parts = [Part(collection.name, collection)]
    return lambda _provider: parts


def list_at(*paths: Path) -> Callable[[Provider], list[Part]]:
    """Read the list at these paths, named as the last word of the first."""
    return lists(Collection(paths[0].text.rpartition("/")[2], paths))


def of_each_link(collection: Collection) -> Callable[[Provider], list[Part]]:
    """Read a list once per link token; links are numbered because their tokens are secret."""

    def parts(provider: Provider) -> list[Part]:
        tokens = provider.connection.link_tokens
        return [Part(f"link {number}", collection, link=token) for number, token in enumerate(tokens, start=1)]

    return parts


def ids_of(provider: Provider, part: Part) -> list[str]:
    """Read a list for its ids alone, each once."""
    found: dict[str, None] = {}
    for page in provider.pages(part.collection, link=part.link):
        for raw in page.items:
            id_, _ = identity(raw)
            if id_ is None:
                raise UnreadableError(f"{part.name}: the list holds an object without id")
            found[id_] = None
    return list(found)


def _whole(moment: datetime) -> datetime:
    return moment.replace(microsecond=0)


# The second generation is offered from API version 2026-02-01 on, and a provider may have left the first behind.
_INTENTS = [
    Part("v1", PAYMENT_INTENTS_V1, is_optional=True),
    Part("v2", PAYMENT_INTENTS_V2, is_optional=True),
]


# A Mexican inbound transfer can be returned up to 90 days later.
_RETURNABLE = timedelta(days=92)


def _of_each_account(list_name: str, path: str) -> Callable[[Provider], list[Part]]:
    paths = (v2(f"accounts/{{account}}/{path}"), v1(f"transfers/accounts/{{account}}/{path}"))
    collection = Collection(list_name, paths)

    def parts(provider: Provider) -> list[Part]:
        accounts = ids_of(provider, Part("accounts", ACCOUNTS))
        return [Part(id_, collection, ids={"account": id_}, account_id=id_) for id_ in accounts]

    return parts


def _of_each_linked_account(collection: Collection) -> Callable[[Provider], list[Part]]:
    def parts(provider: Provider) -> list[Part]:
        return [
            Part(f"{link.name} {id_}", collection, ids={"account": id_}, link=link.link, account_id=id_)
            for link in of_each_link(LINK_ACCOUNTS)(provider)
            for id_ in ids_of(provider, link)
        ]

    return parts


def _fiscal(name: str, path: str) -> Callable[[Provider], list[Part]]:
    return of_each_link(Collection(name, (v1(path),), by_link=True))


# A fiscal document is accepted, claimed or corrected by a note for months after its date.
_CORRECTABLE = timedelta(days=120)

_EVERY = (
    # Payouts; their items follow in `payout_items`.
    Stream("payouts", "payout", list_at(v1("payouts"), v2("payouts")), Again.DAYS),
    # Payments and what becomes of them.
    Stream("payment-intents", "payment_intent", lambda _provider: _INTENTS, Again.NEWEST),
    Stream("charges", "charge", list_at(v1("charges"), v2("charges")), Again.NEWEST),
    Stream("refunds", "refund", lists(REFUNDS), Again.DAYS),
    Stream("disputes", "dispute", lists(DISPUTES), Again.DAYS),
    Stream(
        "checkout-sessions",
        "checkout_session",
        list_at(v2("checkout_sessions"), v1("checkout_sessions")),
        Again.NEWEST,
    ),
    Stream(
        "payment-links",
        "payment_link",
        list_at(v1("payment_links"), v2("payment_links")),
        Again.NEWEST,
    ),
    # Recurring billing.
    Stream("customers", "customer", list_at(v2("customers"))),
    Stream(
        "subscriptions",
        "subscription",
        list_at(v2("subscriptions")),
        elsewhere=(Collection("legacy_subscriptions", (v1("subscriptions"),)),),  # their events carry the same word
    ),
    Stream("invoices", "billing_invoice", lists(BILLING_INVOICES)),
    Stream("payment-methods", "payment_method", list_at(v2("payment_methods"))),
    # Business accounts.
    Stream(
        "transfers",
        "transfer",
        list_at(v1("transfers", cursor=True), v2("transfers")),
        Again.MOMENTS,
        lookback=_RETURNABLE,
        dated="transaction_date",
    ),
    Stream("accounts", "account", lists(ACCOUNTS)),
    Stream("account-numbers", "account_number", list_at(v2("account_numbers"))),
    Stream(
        "account-movements",
        "account_movement",
        _of_each_account("account_movements", "movements"),
        Again.MOMENTS,
        dated="transaction_date",
        look_over=sums.running_balances,
    ),
    Stream(
        "account-statements",
        "account_statement",
        _of_each_account("account_statements", "account_statements"),
        unstable=frozenset({"download_url"}),  # signed anew for every reader
        look_over=sums.statement_sums,
    ),
    Stream(
        "account-verifications",
        "account_verification",
        list_at(v2("account_verifications"), v1("account_verifications")),
    ),
    Stream("transfer-batches", "transfer_batch", list_at(v2("transfer_batches")), Again.MOMENTS),
    Stream("entities", "entity", list_at(v1("entities"), v2("entities"))),
    # Links to outside bank accounts.
    Stream("links", "link", list_at(v1("links"), v2("links")), unstable=frozenset({"accounts"})),  # null in lists
    Stream("link-accounts", "link_account", of_each_link(LINK_ACCOUNTS), by_link=True),
    Stream(
        "link-movements",
        "link_movement",
        _of_each_linked_account(Collection("link_movements", (v1("accounts/{account}/movements"),), by_link=True)),
        Again.DAYS,
        by_link=True,
        # Without it the list leaves out what the bank has not confirmed and what it took back.
        query={"confirmed_only": "false"},
        dated="post_date",
    ),
    # What the tax authority knows.
    Stream(
        "tax-invoices",
        "tax_invoice",
        _fiscal("tax_invoices", "invoices"),
        Again.DAYS,
        lookback=_CORRECTABLE,
        by_link=True,
        dated="date",
    ),
    Stream("tax-returns", "tax_return", _fiscal("tax_returns", "tax_returns"), by_link=True),
    Stream(
        "tax-statements",
        "tax_statement",
        _fiscal("tax_statements", "tax_statements"),
        by_link=True,
        look_over=sums.forms_in_force,
    ),
    # The provider's directory, and our endpoints there.
    Stream("institutions", "institution", list_at(v1("institutions"), v2("institutions"))),
    Stream("webhook-endpoints", "webhook_endpoint", lists(WEBHOOK_ENDPOINTS)),
)
# In the order in which `all` reads them.
STREAMS: dict[str, Stream] = {stream.name: stream for stream in _EVERY}
ALL = "all"
# What a payout of the running day is made of.
CUT_STREAMS = ("payouts", "payment-intents", "charges", "refunds", "disputes", "transfers", "account-movements")


class NotOfferedError(Exception):
    """The organisation has no access to the product behind a stream, or the provider no such list, and never had."""

    def __init__(self, error: ProviderError) -> None:
        super().__init__(str(error))
        is_absent = isinstance(error, MissingError)
        self.why = "the provider has no such list" if is_absent else "the organisation has no access to this product"


class Offer:
    """The optional lists of one stream; the ledger remembers with each closed window which of them answered."""

    def __init__(self, store: Store, connection: str, stream: str, parts: Sequence[Part]) -> None:
        optional = [part.name for part in parts if part.is_optional]
        self._has_optional = bool(optional)
        self._known = _lists_that_answered(store, connection, stream, optional) if optional else set()
        self._answered: list[str] = []
        self._refusals: list[RefusedError] = []

    def note(self, part: Part) -> None:
        self._answered.append(part.name)

    def note_refusal(self, part: Part, refusal: RefusedError) -> None:
        """Note that the provider does not have this list, or raise the refusal if it once answered."""
        if not part.is_optional or refusal.status not in _NOT_OFFERED or part.name in self._known:
            raise refusal
        self._refusals.append(refusal)

    def check(self) -> None:
        """Raise the first refusal where no list answered at all."""
        if self._refusals and not self._answered:
            raise self._refusals[0]

    @property
    def mark(self) -> str | None:
        """Return what a closed window remembers of a stream with optional lists."""
        return " ".join(sorted({*self._answered, *self._known})) if self._has_optional else None


def _lists_that_answered(store: Store, connection: str, stream: str, optional: Sequence[str]) -> set[str]:
    mine = (col(Window.connection) == connection) & (col(Window.stream) == stream)
    closed = sa.select(col(Window.part)).where(mine, col(Window.state) == WindowState.CLOSED).distinct()
    with store.reading() as session:
        marks = list(session.execute(closed).scalars())
    # Before windows remembered it, the first list had to answer.
    return {name for mark in marks for name in ([optional[0]] if mark is None else mark.split())}


def is_unoffered(store: Store, connection: str, stream: str, error: ProviderError) -> bool:
    """Return True if the provider never offered this stream (skip it), False if it stopped answering (a gap).

    A list that is not there counts only where the provider itself says so and has answered for other streams: an
    address with a slip in it has no lists either.
    """
    is_absent = _is_absent(error)
    if error.code != _NO_PRODUCT and not is_absent:
        return False
    with store.reading() as session:
        known = session.get(Checkpoint, (connection, stream))
        others = col(Checkpoint.connection) == connection, col(Checkpoint.complete_until).is_not(None)
        is_known_there = session.exec(select(Checkpoint.stream).where(*others).limit(1)).first() is not None
        return (known is None or not known.offered) and (is_known_there or not is_absent)


def was_unoffered(store: Store, connection: str, stream: str, error: ProviderError) -> bool:
    """Return True if a refusal only repeats what the last pull found, so that there is no list to compare."""
    if error.code != _NO_PRODUCT and not _is_absent(error):
        return False
    with store.reading() as session:
        known = session.get(Checkpoint, (connection, stream))
        return not known.offered if known is not None else error.code == _NO_PRODUCT


def _is_absent(error: ProviderError) -> bool:
    return isinstance(error, MissingError) and error.code is not None


@dataclass(slots=True)
class Tally:
    """A resumed walk starts from what the ledger counted before it."""

    ids: dict[str, datetime | None] = field(default_factory=dict)
    before: int = 0
    first_total: int | None = None
    total: int | None = None
    oldest: datetime | None = None
    is_descending: bool = True
    is_numbered: bool = False
    began_at: datetime | None = None

    @property
    def count(self) -> int:
        return self.before + len(self.ids)

    @property
    def agrees(self) -> bool:
        """Return True if no row can have been missed: rows that came during the walk push others back and hide none.

        A total that fell means rows were taken out and others moved to pages already read.
        """
        if self.total is None or self.first_total is None:
            return True
        return self.first_total <= self.count <= self.total

    def notice(self, page: Page) -> None:
        self.total = page.total
        self.first_total = page.total if self.first_total is None else self.first_total
        self.began_at = self.began_at or page.at or utc_now()
        self.is_numbered |= page.next is not None and is_numbered(page.next)
        for raw in page.items:
            id_, created_at = identity(raw)
            at = _moment(created_at)
            # What bears no id was sent all the same; its bytes stand for it.
            self.ids[id_ or hashlib.sha256(raw).hexdigest()] = at
            if at is None or (self.oldest is not None and at > self.oldest):
                self.is_descending = False
            self.oldest = at

    def is_proved(self, earlier: "Tally | None") -> bool:
        """Return True if numbered pages without a total left out no row: a repeated walk finds no old row it lacked."""
        if self.total is not None or not self.is_numbered:
            return True
        if earlier is None or earlier.began_at is None:
            return False
        unseen = [at for id_, at in self.ids.items() if id_ not in earlier.ids]
        return all(at is not None and at >= earlier.began_at for at in unseen)

    def is_older_than(self, moment: datetime) -> bool:
        """Return True if a list that runs newest first has passed a moment."""
        return self.is_descending and self.oldest is not None and self.oldest < moment


def resume(window: Window) -> Tally:
    """Continue from a window's cursor, or begin anew where it has none."""
    if not window.cursor:
        return Tally()
    return Tally(before=window.added_in_pass, first_total=window.announced)


def _moment(text: str | None) -> datetime | None:
    """Read a time; one without zone or that is none does not count for the list's order."""
    try:
        return None if text is None else to_instant(text)
    except (ValueError, OverflowError):
        return None
