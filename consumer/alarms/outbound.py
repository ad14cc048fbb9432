"""Requests to addresses that the operator named: alarms and pings, without the provider's key, budget or retries."""

from collections.abc import Mapping
from urllib.parse import urlsplit

import httpx

from consumer.facts.messages import RefusalError

TIMEOUT = httpx.Timeout(10.0)
_OK = range(200, 300)


class NotSentError(RefusalError):
    """What was to be sent is not known to have arrived; the message names the host and no more of the address."""


def post(url: str, body: bytes, headers: Mapping[str, str]) -> None:
    """Post a body once; follow no redirect. Raise NotSentError unless it is answered with 2xx."""
    host = urlsplit(url).hostname
    try:
        answer = httpx.post(url, content=body, headers=dict(headers), timeout=TIMEOUT, follow_redirects=False)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise NotSentError("channel.no_answer", host=host, error=type(error).__name__) from None
    if answer.status_code not in _OK:
        raise NotSentError("channel.answered", host=host, status=answer.status_code)
