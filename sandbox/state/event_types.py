"""Every event type of the provider, by family, and the object each family carries."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """What sits in an event's data, and how its ids begin."""

    object: str
    prefix: str


FAMILIES: dict[str, tuple[str, ...]] = {
    "link": ("credentials_changed",),
    "link.refresh_intent": ("succeeded", "failed"),
    "account.refresh_intent": ("succeeded", "failed", "rejected", "movements_removed", "movements_modified"),
    "payment_intent": ("succeeded", "rejected", "failed", "pending", "expired"),
    "subscription": ("payment_method_updated", "payment_method_update_failed"),
    "subscription_intent": ("succeeded", "rejected", "failed"),
    "charge": ("succeeded", "failed"),
    "refund": ("succeeded", "failed", "in_progress"),
    "payout": ("created", "canceled", "succeeded", "returned"),
    "checkout_session": ("finished", "expired"),
    "transfer.inbound": ("succeeded", "returned", "return_failed", "rejected", "reversed"),
    "transfer.outbound": ("succeeded", "partially_succeeded", "failed", "returned", "reversed"),
    "account_number": ("deleted",),
    "account_verification": ("succeeded", "failed"),
    "payment_method": ("activated", "canceled"),
    "invoice": (
        "created",
        "finalized",
        "paid",
        "payment_created",
        "payment_failed",
        "payment_succeeded",
        "upcoming",
        "voided",
    ),
    "dispute": ("waiting_documentation", "in_review", "won", "lost", "expired"),
    "entity.onboarding": ("approved", "rejected"),
}
TYPES: tuple[str, ...] = tuple(f"{family}.{change}" for family, changes in FAMILIES.items() for change in changes)
OBJECTS: dict[str, Kind] = {
    "link": Kind("link", "link"),
    "link.refresh_intent": Kind("refresh_intent", "ri"),
    "account.refresh_intent": Kind("refresh_intent", "ri"),
    "payment_intent": Kind("payment_intent", "pi"),
    "subscription": Kind("subscription", "sub"),
    "subscription_intent": Kind("subscription_intent", "si"),
    "charge": Kind("charge", "ch"),
    "refund": Kind("refund", "re"),
    "payout": Kind("payout", "po"),
    "checkout_session": Kind("checkout_session", "cs"),
    "transfer.inbound": Kind("transfer", "tr"),
    "transfer.outbound": Kind("transfer", "tr"),
    "account_number": Kind("account_number", "acno"),
    "account_verification": Kind("account_verification", "accv"),
    "payment_method": Kind("payment_method", "pm"),
    "invoice": Kind("invoice", "inv"),
    "dispute": Kind("dispute", "cb"),
    "entity.onboarding": Kind("onboarding", "onb"),
}
