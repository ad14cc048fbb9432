"""What each event type does: one table, and each handler turns an event's data into the objects it observed."""

from collections.abc import Callable, Mapping, Sequence

from consumer.facts.versions import Known
from consumer.provider.rows import Observation, observe

Handler = Callable[[Mapping[str, object], Observation], Sequence[Known]]


def keeps(kind: str) -> Handler:
    """Keep the object in `data` as this kind, whatever its id's prefix or object name suggests."""

    def handle(data: Mapping[str, object], seen: Observation) -> Sequence[Known]:
        return [observe(kind, data, seen)]

    return handle


def _witness(data: Mapping[str, object], seen: Observation) -> Sequence[Known]:  # noqa: ARG001
    """Nothing beyond the event itself is kept: a preview without an id, or an object no stream offers."""
    return []


def _onboarding(data: Mapping[str, object], seen: Observation) -> Sequence[Known]:
    """The documents do not say which object comes; an entity is kept, an onboarding is not mirrored."""
    return [observe("entity", data, seen)] if data.get("object") == "entity" else []


def _family(prefix: str, names: str, handler: Handler) -> dict[str, Handler]:
    return {f"{prefix}.{name}": handler for name in names.split()}


HANDLERS: dict[str, Handler] = {
    "link.credentials_changed": keeps("link"),
    **_family("link.refresh_intent", "succeeded failed", keeps("refresh_intent")),
    **_family(
        "account.refresh_intent",
        "succeeded failed rejected movements_removed movements_modified",
        keeps("refresh_intent"),
    ),
    **_family("payment_intent", "succeeded rejected failed pending expired", keeps("payment_intent")),
    **_family("subscription", "payment_method_updated payment_method_update_failed", keeps("subscription")),
    **_family("subscription_intent", "succeeded rejected failed", _witness),
    **_family("charge", "succeeded failed", keeps("charge")),
    **_family("refund", "succeeded failed in_progress", keeps("refund")),
    **_family("payout", "created canceled succeeded returned", keeps("payout")),
    **_family("checkout_session", "finished expired", keeps("checkout_session")),
    **_family("transfer.inbound", "succeeded returned return_failed rejected reversed", keeps("transfer")),
    **_family("transfer.outbound", "succeeded partially_succeeded failed returned reversed", keeps("transfer")),
    **_family("transfer_batch", "in_progress succeeded partially_succeeded failed", keeps("transfer_batch")),
    "account_number.deleted": keeps("account_number"),
    **_family("account_verification", "succeeded failed", keeps("account_verification")),
    **_family("payment_method", "activated canceled", keeps("payment_method")),
    **_family(
        "invoice",
        "created finalized paid payment_created payment_failed payment_succeeded voided",
        keeps("billing_invoice"),
    ),
    "invoice.upcoming": _witness,
    **_family("dispute", "waiting_documentation in_review won lost expired", keeps("dispute")),
    **_family("entity.onboarding", "approved rejected", _onboarding),
}

NEEDS_NO_OBJECT = frozenset(name for name, handler in HANDLERS.items() if handler is _witness)
