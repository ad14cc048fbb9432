"""Every path of the provider's API in one table, with the other generation of a path where sources disagree."""

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


def _v1(path: str, *, cursor: bool = False) -> Path:
    return Path(f"/v1/{path}", cursor)


def _v2(path: str) -> Path:
    return Path(f"/v2/{path}", cursor=True)


def _of_account(path: str) -> tuple[Path, Path]:
    return _v2(f"accounts/{{account}}/{path}"), _v1(f"transfers/accounts/{{account}}/{path}")


# Where two paths stand, the first is the specification's and the second what the provider's SDKs use; where the
# specification shows none, the second is the same list in the other generation.
EVENTS = Collection("events", (_v2("events"),))
WEBHOOK_ENDPOINTS = Collection("webhook_endpoints", (_v1("webhook_endpoints"),))
INSTITUTIONS = Collection("institutions", (_v1("institutions"), _v2("institutions")))

PAYMENT_INTENTS_V1 = Collection("payment_intents_v1", (_v1("payment_intents"),))
PAYMENT_INTENTS_V2 = Collection("payment_intents_v2", (_v2("payment_intents"),))
CHARGES = Collection("charges", (_v1("charges"), _v2("charges")))
REFUNDS = Collection("refunds", (_v1("refunds"), _v2("refunds")))
# Its one item is `voucher`, an address that is good for five minutes.
REFUND_VOUCHERS = Collection("refund_vouchers", (_v1("refunds/{refund}"),))
DISPUTES = Collection("disputes", (_v1("disputes"), _v2("disputes")))
CHECKOUT_SESSIONS = Collection("checkout_sessions", (_v2("checkout_sessions"), _v1("checkout_sessions")))
PAYMENT_LINKS = Collection("payment_links", (_v1("payment_links"), _v2("payment_links")))
CUSTOMERS = Collection("customers", (_v2("customers"),))
PRODUCTS = Collection("products", (_v2("products"),))
SUBSCRIPTIONS = Collection("subscriptions", (_v2("subscriptions"),))
SUBSCRIPTION_ITEMS = Collection("subscription_items", (_v2("subscriptions/{subscription}/items"),))
SUBSCRIPTION_INTENTS = Collection("subscription_intents", (_v1("subscription_intents"),))
SETUP_INTENTS = Collection("setup_intents", (_v2("setup_intents"), _v1("setup_intents")))
LEGACY_SUBSCRIPTIONS = Collection("legacy_subscriptions", (_v1("subscriptions"),))
BILLING_INVOICES = Collection("billing_invoices", (_v2("invoices"),))
PAYMENT_METHODS = Collection("payment_methods", (_v2("payment_methods"),))
PAYOUTS = Collection("payouts", (_v1("payouts"), _v2("payouts")))
PAYOUT_RESOURCES = Collection(
    "payout_resources", (_v1("payouts/{payout}/resources"), _v2("payouts/{payout}/resources"))
)

TRANSFERS = Collection("transfers", (_v1("transfers", cursor=True), _v2("transfers")))
TRANSFER_BATCHES = Collection("transfer_batches", (_v2("transfer_batches"),))
ACCOUNTS = Collection("accounts", (_v1("transfers/accounts"), _v2("accounts")))
ACCOUNT_NUMBERS = Collection("account_numbers", (_v2("account_numbers"),))
ACCOUNT_MOVEMENTS = Collection("account_movements", _of_account("movements"))
ACCOUNT_STATEMENTS = Collection("account_statements", _of_account("account_statements"))
ACCOUNT_VERIFICATIONS = Collection(
    "account_verifications", (_v2("account_verifications"), _v1("account_verifications"))
)
ENTITIES = Collection("entities", (_v1("entities"), _v2("entities")))
ONBOARDINGS = Collection("onboardings", (_v2("entities/{entity}/onboardings"),))

LINKS = Collection("links", (_v1("links"), _v2("links")))
LINK_ACCOUNTS = Collection("link_accounts", (_v1("accounts"),), by_link=True)
LINK_MOVEMENTS = Collection("link_movements", (_v1("accounts/{account}/movements"),), by_link=True)
REFRESH_INTENTS = Collection("refresh_intents", (_v1("refresh_intents"),), by_link=True)
TAX_INVOICES = Collection("tax_invoices", (_v1("invoices"),), by_link=True)
TAX_RETURNS = Collection("tax_returns", (_v1("tax_returns"),), by_link=True)
TAX_STATEMENTS = Collection("tax_statements", (_v1("tax_statements"),), by_link=True)
