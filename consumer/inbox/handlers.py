"""What each event type does: a handler turns an event's data into the objects it observed."""

from collections.abc import Callable, Mapping, Sequence

from consumer.facts.tables.provider import TransferBatch
from consumer.facts.versions import Known
from consumer.provider.rows import KINDS, Observation, observe

Handler = Callable[[Mapping[str, object], Observation], Sequence[Known]]


def keep_as(kind: str) -> Handler:
    """Return a handler that keeps the object in `data` as this kind, whose own id and name are not looked at."""

    def handle(data: Mapping[str, object], seen: Observation) -> Sequence[Known]:
        return [observe(kind, data, seen)]

    return handle


def _keep_event_alone(_data: Mapping[str, object], _seen: Observation) -> Sequence[Known]:
    """Observe no object: the event carries a preview without an id, or an object that no stream offers."""
    return []


def _keep_entity(data: Mapping[str, object], seen: Observation) -> Sequence[Known]:
    """Keep an entity and no onboarding, which is not mirrored; the documents do not say which of them comes."""
    return [observe("entity", data, seen)] if data.get("object") == "entity" else []


NEEDS_NO_OBJECT = (
    "invoice.upcoming",
    "subscription_intent.succeeded",
    "subscription_intent.rejected",
    "subscription_intent.failed",
)
HANDLERS: dict[str, Handler] = {
    **{event: keep_as(name) for name, kind in KINDS.items() for event in kind.table.events},
    **dict.fromkeys(NEEDS_NO_OBJECT, _keep_event_alone),
    **dict.fromkeys(("entity.onboarding.approved", "entity.onboarding.rejected"), _keep_entity),
}
# What an endpoint asks for. The specification lists no event of a batch, and a provider refuses types it does not know.
SUBSCRIBED = tuple(sorted(HANDLERS.keys() - set(TransferBatch.events)))
