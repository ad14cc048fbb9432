"""Every stream `cuadre pull` knows: the lists it reads, the kind of object they hold, what a later pull asks again.

A list that never answered is not missing; one that stopped answering is.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum, auto

from pydantic import SecretStr
from sqlmodel import Session

from consumer.facts.clock import format_instant
from consumer.facts.settings import Connection
from consumer.provider.client import Provider
from consumer.provider.errors import UnreadableError
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
    Path,
    v1,
    v2,
)
from consumer.sync import sums
from consumer.sync.sums import Finding

_DAY = timedelta(days=1)


LookOver = Callable[[Session, Connection], list[Finding]]


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
