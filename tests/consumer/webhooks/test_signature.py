"""Signatures: the published vectors pass, every hostile header is refused with its own reason, none crashes."""

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumer.webhooks.signature import SignatureError, verify

DATA = json.loads((Path(__file__).parents[2] / "data" / "signatures.json").read_text(encoding="utf-8"))
STATUSES = {"forged": 401}


def check(case: dict[str, Any]) -> int:
    body = bytes.fromhex(case["body_hex"]) if "body_hex" in case else case.get("body", DATA["body"]).encode()
    header = None if case["header"] is None else case["header"] + "a" * case.get("append", 0)
    secrets = [secret.encode() for secret in case.get("secrets", [DATA["secret"]])]
    now = datetime.fromtimestamp(case.get("now", DATA["time"]), UTC)
    return verify(body, header, secrets, now=now, tolerance=case.get("tolerance", 300))


def test_the_published_body_is_the_published_bytes() -> None:
    """The body in the vectors file is the provider's, byte for byte."""
    body = DATA["body"].encode()

    assert (len(body), hashlib.sha256(body).hexdigest()) == (DATA["body_bytes"], DATA["body_sha256"])


@pytest.mark.parametrize("case", DATA["cases"], ids=lambda case: case["name"])
def test_a_vector(case: dict[str, Any]) -> None:
    """Each vector gives the secret it names or the reason it names, with that reason's status."""
    if isinstance(case["result"], int):
        assert check(case) == case["result"]
        return
    with pytest.raises(SignatureError) as refused:
        check(case)
    assert (refused.value.reason, refused.value.status) == (case["result"], STATUSES.get(case["result"], 400))


@given(header=st.one_of(st.binary(max_size=200), st.text(max_size=200)), body=st.binary(max_size=50))
def test_noise_is_refused_and_never_crashes(header: str | bytes, body: bytes) -> None:
    """Any header that was not signed is a SignatureError, whatever bytes it is made of."""
    with pytest.raises(SignatureError):
        verify(body, header, [b"whsec_test_secret"], now=datetime(2026, 10, 1, tzinfo=UTC), tolerance=300)


@given(value=st.binary(max_size=80))
def test_noise_as_a_signature_is_forged(value: bytes) -> None:
    """Whatever stands behind v1, a readable header with a timely t is refused as forged, or as unreadable."""
    now = datetime.fromtimestamp(1743890251, UTC)
    with pytest.raises(SignatureError) as refused:
        verify(b"{}", b"t=1743890251,v1=" + value, [b"whsec_test_secret"], now=now, tolerance=300)
    assert refused.value.reason == "forged" or b"," in value
