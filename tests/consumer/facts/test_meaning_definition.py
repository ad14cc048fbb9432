"""The digest of a meaning is defined by one slow text; the quick way to it may never differ, or stored digests lie."""

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumer.facts.meaning import meaning_sha256, read_object

_TEXT = st.text(st.characters(exclude_categories=()), max_size=8)
_INTEGERS = st.one_of(st.integers(), st.integers(-(10**299), 10**299))
_JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), _INTEGERS, _TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(_TEXT, inner, max_size=4)),
    max_leaves=12,
)


@given(value=st.dictionaries(_TEXT, _JSON, max_size=5), escaped=st.booleans())
def test_the_quick_digest_is_the_defined_one(value: dict[str, Any], *, escaped: bool) -> None:
    """Whatever the text, its escapes and its integers, the digest is that of sorted keys, no spacing and ASCII."""
    defined = json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
    text = json.dumps(value, ensure_ascii=escaped, indent=1)
    try:
        body = text.encode()
    except UnicodeEncodeError:  # half a character can only be written as an escape
        body = json.dumps(value, indent=1).encode()
    assert meaning_sha256(read_object(body)) == hashlib.sha256(defined).hexdigest()


@pytest.mark.parametrize(
    ("body", "digest"),
    [
        (
            rb'{"id": "evt_1", "b": [1.50, 2e3, -0], "a": {"z": null, "\u00f1": "\u007f/\n"}}',
            "be0a191d45def0330015d9abcced851de31adf7c58f488a3258414bfddeab9f6",
        ),
        (
            b'{"id":"evt_2","n":' + b"9" * 301 + b"}",
            "d3b92a87361aceb35348229b98f93456d1e98b2a5bd2ab8c29a6bbb49fd5fe8e",
        ),
        (
            '{"id":"evt_3","t":"😀ñ\\ud800"}'.encode(),
            "dbbecc4a9144485c06f4ace1b76084a4f918f212baaa1031371f56288c977e0f",
        ),
    ],
    ids=["fractions, exponents, escapes", "a number of 301 digits", "beyond ASCII and half a character"],
)
def test_stored_digests_stay_what_they_were(body: bytes, digest: str) -> None:
    """These digests were computed by the first version of this program and lie in databases."""
    assert meaning_sha256(read_object(body)) == digest
