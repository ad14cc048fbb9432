"""The provider's state at one moment: objects and events per mode, faults and deliveries."""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from itertools import count

import httpx

from sandbox.engine.agenda import Agenda
from sandbox.engine.contests import follow_dispute
from sandbox.engine.delivery import Addressee, Delivery, Outbox, Postman
from sandbox.engine.faults import UNKNOWN_CHANGE, Fault, Faults
from sandbox.engine.payday import Payday
from sandbox.engine.settlement import Balances
from sandbox.state.bodies import Answers
from sandbox.state.clock import START_AT, Clock, to_iso
from sandbox.state.credentials import Keyring, Signatures
from sandbox.state.events import Event, EventLog, family_of
from sandbox.state.happening import Happening, Scenario
from sandbox.state.ids import draw, token
from sandbox.state.refusal import missing_resource
from sandbox.state.store import Collection, Collections, Object, PayoutItems, Store
from sandbox.state.versions import LATEST, to_version

SLICE = timedelta(minutes=15)
NO_SCENARIO = Scenario(name="empty", country="cl", happenings=(), documents=(), tariff={}, truth=lambda _: [])
ENDPOINTS = "webhook_endpoints"
# The live set has no truth.
TEST = "test"
MODES = (TEST, "live")


class World:
    """Everything a request can see or change. Hold `lock` while using it."""

    def __init__(
        self,
        scenario: Scenario = NO_SCENARIO,
        *,
        seed: int = 1,
        start_at: datetime = START_AT,
        header_prefix: str = "Fintoc",
        faults: Iterable[Fault] = (),
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.lock = threading.RLock()
        self.header_prefix = header_prefix
        self.secrets: dict[str, str] = {}
        self.keys = Keyring()
        self.signatures = Signatures()
        self.vouchers: dict[str, tuple[str, datetime]] = {}  # token -> refund and the end of its life
        self.store = Store()
        self.collections = Collections(self.store)
        self.faults = Faults(seed, faults, now=start_at)
        self._advancing = threading.Lock()
        self.begin(scenario, seed=seed, start_at=start_at)
        self.postman = Postman(self, header_prefix=header_prefix, transport=transport)

    def begin(self, scenario: Scenario, *, seed: int, start_at: datetime) -> None:
        """Start over with this scenario: its past is played without deliveries. Endpoints and faults stay."""
        self.scenario, self.seed, self.start_at = scenario, seed, start_at
        endpoints = [found for mode in MODES for found in self.collections[mode, ENDPOINTS].newest_first()]
        self.store.close()
        self.store = Store()
        self.collections = Collections(self.store)
        self.payout_items = PayoutItems(self.store)
        self.payday = Payday(self)
        self.balances = Balances(scenario.country)
        self.logs = {mode: EventLog(self.store, mode) for mode in MODES}
        self.outbox = Outbox(self.store)
        self.faults = Faults(seed, self.faults.active(), now=start_at)
        self.answers = Answers()
        self.version = LATEST
        self.requests: dict[str, int] = defaultdict(int)  # how often each address was asked for
        self._serial = count(1)
        self._agenda = Agenda(scenario.happenings)
        self.clock = Clock(min(start_at, self._agenda.next_at() or start_at))
        self._play(start_at)
        for found in reversed(endpoints):
            self.collections[found["mode"], ENDPOINTS].keep(found, start_at)

    def restart(self, scenario: Scenario, *, seed: int) -> None:
        """Begin anew between two steps of the clock, never inside one."""
        with self._advancing, self.postman.hold_back(), self.lock:
            self.begin(scenario, seed=seed, start_at=self.start_at)

    def summary(self) -> dict[str, int]:
        """Return how much was announced and how much of it arrived."""
        deliveries, delivered = self.outbox.counts()
        return {
            "events": sum(len(log) for log in self.logs.values()),
            "deliveries": deliveries,
            "delivered_events": delivered,
            "dropped_events": len(self.outbox.dropped),
        }

    def close(self) -> None:
        self.postman.close()
        self.store.close()

    # -- time

    def now(self) -> datetime:
        return self.clock.now()

    def put_off(self, delay: timedelta, action: Callable[[], object]) -> None:
        """Have the world do this by itself when its clock gets there."""
        self._agenda.put_off(self.now() + delay, action)

    def advance(self, delta: timedelta) -> None:
        """Let that much time pass; returns once everything due on the way has been tried."""
        with self._advancing:
            until = self.now() + delta
            while (slice_end := self._next_slice(until)) is not None:
                with self.lock:
                    self._play(slice_end)
                self.postman.flush(slice_end)
            with self.lock:
                self._play(until)
            self.postman.flush(until, is_last=True)

    def _next_slice(self, until: datetime) -> datetime | None:
        with self.lock:
            due = [at for at in (self._agenda.next_at(), self.outbox.next_due_at()) if at is not None and at <= until]
        return min(until, max(min(due), self.now()) + SLICE) if due else None

    def _play(self, until: datetime) -> None:
        while (due := self._agenda.take(until)) is not None:
            at, thing = due
            self._move_to(at)
            if isinstance(thing, tuple):
                self._play_happening(f"happening {thing[0]}", thing[1])
            else:
                thing()
        self._move_to(until)

    def _move_to(self, at: datetime) -> None:
        self.clock.move_to(at)
        self.faults.end(self.now())

    def tell(self, happening: Happening) -> None:
        """Let something happen now that no scenario wrote."""
        self._play_happening(f"request {next(self._serial)}", happening)

    def _play_happening(self, key: str, happening: Happening) -> None:
        if happening.collection == "payout_resources":
            self.payout_items.add(happening.object)
            return
        found, event = self._as_it_is(happening), happening.event
        if happening.collection == "disputes":
            changed = follow_dispute(self.collections[found["mode"], "disputes"].find(found["id"]), found)
            if changed is None:
                return
            found, event = changed, f"dispute.{changed['status']}"
        if found["id"] is not None:  # a preview is never looked up
            self.collections[found["mode"], happening.collection].keep(found, happening.at)
        if event:
            self._announce(event, {**found, **happening.event_only}, mode=found["mode"], key=key)

    def _as_it_is(self, happening: Happening) -> Object:
        """Return the object as it is after all that requests did."""
        if happening.collection == "payouts":
            return self.payday.join(happening.object)
        return self.balances.correct(happening.collection, happening.object, self.now(), self.payday.worths)

    # -- objects

    def collection(self, mode: str, name: str) -> Collection:
        return self.collections[mode, name]

    def get(self, mode: str, name: str, id_: str) -> Object:
        """Return the current object, or the provider's 404."""
        found = self.collections[mode, name].find(id_)
        if found is None:
            raise missing_resource(name.removesuffix("s").replace("_", " "), id_)
        return found

    def new_id(self, prefix: str) -> str:
        # Endpoints outlive a scenario, and with the same seed its ids begin anew.
        while (id_ := draw(prefix, self.seed, next(self._serial))) in self.secrets:
            pass
        return id_

    def new_secret(self, prefix: str) -> str:
        while (secret := f"{prefix}_{token(self.seed, 'secret', next(self._serial))}") in self.secrets.values():
            pass
        return secret

    def draft(self, mode: str, prefix: str, kind: str, **fields: object) -> Object:
        """Return a new object, not stored yet."""
        return {
            "id": self.new_id(prefix),
            "object": kind,
            "mode": mode,
            "created_at": to_iso(self.now()),
            **fields,
        }

    def keep(self, name: str, found: Object, *, event: str | None = None, **event_only: object) -> Object:
        """Store the object as it is now and announce the change."""
        self.collections[found["mode"], name].keep(found, self.now())
        self.payday.notice(name, found, event_only.get("split_applied"))
        if event:
            self.announce(event, {**found, **event_only}, mode=found["mode"])
        return found

    # -- events

    def announce(self, type_: str, data: Object, *, mode: str) -> Event:
        return self._announce(type_, data, mode=mode, key=f"request {next(self._serial)}")

    def _announce(self, type_: str, data: Object, *, mode: str, key: str) -> Event:
        data = to_version(data, self.version)
        event = self._log(type_, self.faults.damage(key, data), mode=mode, key=key)
        unknown = self.faults.unknown_type(key, type_)
        if unknown:
            self._log(unknown, data, mode=mode, key=f"{key} again")
        return event

    def _log(self, type_: str, data: Object, *, mode: str, key: str) -> Event:
        event = self._event(type_, data, mode=mode, key=key)
        for endpoint in self.collections[mode, ENDPOINTS].choose("enabled", _is_enabled)[:]:
            if _is_subscribed(endpoint, type_):
                self.post(event, endpoint["id"])
        return event

    def _event(self, type_: str, data: Object, *, mode: str, key: str) -> Event:
        log = self.logs[mode]
        created_at = self.faults.created_at(key, self.now(), log.last_at)
        visible_at = self.faults.visible_at(key, created_at)
        event = Event(draw("evt", self.seed, mode, key), type_, mode, created_at, visible_at, data)
        log.append(event)
        return event

    def try_out(self, type_: str, *, mode: str, endpoint_id: str) -> Event:
        """Announce a made-up change to one endpoint; the id of its object does not exist."""
        family = family_of(type_)
        data = {"id": f"{family.prefix}_00000000", "object": family.object, "mode": mode}
        event = self._event(type_, data, mode=mode, key=f"trial {next(self._serial)}")
        self.post(event, endpoint_id)
        return event

    def post(self, event: Event, endpoint_id: str) -> None:
        """Plan the deliveries of one event to one endpoint."""
        planned = self.faults.errands(event.id, self.now())
        if not planned:
            self.outbox.dropped.add(event.id)
        is_stale = self.faults.strikes("stale-retry", event.id) is not None
        deliveries = [
            Delivery(event, endpoint_id, errand.due_at, errand.is_held, errand.is_conflicting, is_stale=is_stale)
            for errand in planned
        ]
        for delivery in deliveries:
            if delivery.is_conflicting:
                deliveries[0].follow_up = delivery
            else:
                self.outbox.post(delivery)

    def addressee(self, endpoint_id: str) -> Addressee | None:
        for mode in MODES:
            endpoint = self.collections[mode, ENDPOINTS].find(endpoint_id)
            if endpoint and endpoint["status"] == "enabled":
                return Addressee(endpoint["url"], self.secrets[endpoint_id])
        return None


def _is_enabled(endpoint: Object) -> bool:
    return bool(endpoint["status"] == "enabled")


def _is_subscribed(endpoint: Object, type_: str) -> bool:
    return type_ in endpoint["enabled_events"] or type_.endswith(f".{UNKNOWN_CHANGE}")
