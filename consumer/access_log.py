"""The access log: one line a request, with the route and not the address, which may hold a link's key or an id."""

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from consumer.facts.addresses import Network, client_address
from consumer.webhooks.blueprint import EVENT, ROUTE

_LOG = logging.getLogger("cuadre.access")
Environ = dict[str, Any]
Application = Callable[..., Iterable[bytes]]


def log_access(application: Application, trusted: Sequence[Network]) -> Application:
    """Wrap an application: a line with method, route, status, milliseconds and address, and for a webhook its event."""

    def answer(environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        began, status = time.monotonic(), ["500"]

        def start(line: str, *more: Any) -> Any:
            status[0] = line.partition(" ")[0]
            return start_response(line, *more)

        try:
            return application(environ, start)
        finally:
            fields = {
                "method": environ["REQUEST_METHOD"],
                "route": environ.get(ROUTE, "none"),
                "status": int(status[0]),
                "ms": round((time.monotonic() - began) * 1000),
                "address": client_address(environ, trusted),
            }
            _LOG.info("request", extra=fields | ({"event_id": environ[EVENT]} if EVENT in environ else {}))

    return answer
