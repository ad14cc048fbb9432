"""Paths of the provider's API, with the other generation of a path where sources disagree.

Here stand the lists that more than their stream asks for; any other stands in its stream's row in `sync/streams.py`.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Path:
    """One way to reach a collection and the pagination it speaks there."""

    text: str
    cursor: bool

    @property
    def limit_name(self) -> str:
        return "limit" if self.cursor else "per_page"


@dataclass(frozen=True, slots=True)
class Collection:
    """A list of objects; an item's path is the list's path with `/id` behind it."""

    name: str
    paths: tuple[Path, ...]
    by_link: bool = False


def v1(path: str, *, cursor: bool = False) -> Path:
    return Path(f"/v1/{path}", cursor)


def v2(path: str) -> Path:
    return Path(f"/v2/{path}", cursor=True)


# Where two paths stand, the first is the specification's and the second what the provider's SDKs use; where the
# specification shows none, the second is the same list in the other generation.
EVENTS = Collection("events", (v2("events"),))
WEBHOOK_ENDPOINTS = Collection("webhook_endpoints", (v1("webhook_endpoints"),))
PAYMENT_INTENTS_V1 = Collection("payment_intents_v1", (v1("payment_intents"),))
PAYMENT_INTENTS_V2 = Collection("payment_intents_v2", (v2("payment_intents"),))
REFUNDS = Collection("refunds", (v1("refunds"), v2("refunds")))
DISPUTES = Collection("disputes", (v1("disputes"), v2("disputes")))
BILLING_INVOICES = Collection("billing_invoices", (v2("invoices"),))
PAYOUT_RESOURCES = Collection("payout_resources", (v1("payouts/{payout}/resources"), v2("payouts/{payout}/resources")))
ACCOUNTS = Collection("accounts", (v1("transfers/accounts"), v2("accounts")))
LINK_ACCOUNTS = Collection("link_accounts", (v1("accounts"),), by_link=True)
