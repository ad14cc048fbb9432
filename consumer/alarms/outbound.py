"""Requests to addresses that the operator named: alarms and pings, without the provider's key, budget or retries."""

from collections.abc import Mapping
from urllib.parse import urlsplit

import httpx

TIMEOUT = httpx.Timeout(10.0)
_OK = range(200, 300)


class NotSentError(Exception):
    """What was to be sent is not known to have arrived; the message names the host and no more of the address."""


def post(url: str, body: bytes, headers: Mapping[str, str]) -> None:
    """Post a body once; follow no redirect. Raise NotSentError unless it is answered with 2xx."""
    host = urlsplit(url).hostname
    try:
        answer = httpx.post(url, content=body, headers=dict(headers), timeout=TIMEOUT, follow_redirects=False)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise NotSentError(f"no answer from {host} ({type(error).__name__})") from None
    if answer.status_code not in _OK:
        raise NotSentError(f"{host} answered {answer.status_code}")
