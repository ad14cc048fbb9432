"""What the receiver tells the operator: counters by reason, and a sampled log line without body or secret."""

import logging
import threading
import time

from prometheus_client import Counter, Gauge

RECEIVED = Counter(
    "cuadre_webhook_received", "Authentic events answered with 200, by what they were.", ["connection", "status"]
)
REFUSED = Counter("cuadre_webhook_refused", "Requests not answered with 200, by reason.", ["reason"])
SECRET_USED = Gauge(
    "cuadre_webhook_secret_used_timestamp_seconds",
    "When a webhook secret last verified a request, by its label.",
    ["connection", "label"],
    multiprocess_mode="mostrecent",
)

_EVERY_SECONDS = 10.0
_LOG = logging.getLogger(__name__)


class RefusalLog:
    """At most one line per reason in ten seconds, saying how many it stands for."""

    def __init__(self, every: float = _EVERY_SECONDS) -> None:
        self._every = every
        self._lock = threading.Lock()
        self._since: dict[str, float] = {}
        self._held: dict[str, int] = {}

    def note(self, reason: str, status: int) -> None:
        REFUSED.labels(reason).inc()
        now = time.monotonic()
        with self._lock:
            held = self._held.get(reason, 0)
            if now - self._since.get(reason, float("-inf")) < self._every:
                self._held[reason] = held + 1
                return
            self._since[reason] = now
            self._held[reason] = 0
        _LOG.warning("webhook refused with %d: %s (%d more like it since the last such line)", status, reason, held)
