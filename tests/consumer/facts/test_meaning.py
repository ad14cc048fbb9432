"""The meaning of JSON: spacing, key order and the spelling of numbers aside, and nothing else."""

import pytest

from consumer.facts.meaning import NotJsonError, meaning_sha256, read_object


def same(one: str, other: str) -> bool:
    return meaning_sha256(read_object(one.encode())) == meaning_sha256(read_object(other.encode()))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"a":1,"b":[1,2]}', '{ "b" : [1, 2],\n "a" : 1 }'),
        ('{"a":1}', '{"a":1.0}'),
        ('{"a":1000}', '{"a":1e3}'),
        ('{"a":0.1}', '{"a":0.10}'),
        ('{"a":0.5}', '{"a":5e-1}'),
        ('{"a":0}', '{"a":-0.0}'),
        ('{"a":"é"}', '{"a":"\\u00e9"}'),
        ('{"a":1,"a":2}', '{"a":2}'),
        ('{"a":1e400}', '{"a":10e399}'),
    ],
)
def test_the_same_meaning(one: str, other: str) -> None:
    """Writing the same values in another way does not change their meaning."""
    assert same(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"a":1}', '{"a":"1"}'),
        ('{"a":1}', '{"a":true}'),
        ('{"a":null}', "{}"),
        ('{"a":0.5}', '{"a":"5e-1"}'),
        ('{"a":[1,2]}', '{"a":[2,1]}'),
        ('{"a":9007199254740993}', '{"a":9007199254740992}'),
        ('{"a":0.1}', '{"a":0.1000000000000000055511151231257827}'),
        ('{"a":' + "9" * 5000 + "}", '{"a":' + "9" * 4999 + "8}"),
        ('{"a":1e999999999999}', '{"a":1e999999999998}'),
    ],
)
def test_another_meaning(one: str, other: str) -> None:
    """A difference a reader could see is another meaning, also where doubles would not see it."""
    assert not same(one, other)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b'"text"',
        b"{",
        b'{"a":NaN}',
        b'{"a":Infinity}',
        b'{"a":"\xff"}',
        b"\xef\xbb\xbf{}",
        b'{"a":' * 65 + b"1" + b"}" * 65,
        b"[" * 500_000,
        b'{"a":"' + b"[" * 100,
        '{"a":1}'.encode("utf-16"),
    ],
)
def test_what_is_not_one_json_object_is_refused(body: bytes) -> None:
    """Whatever is not one UTF-8 JSON object, or is nested deeper than 64, is refused without recursing."""
    with pytest.raises(NotJsonError):
        read_object(body)


def test_brackets_inside_text_are_not_nesting() -> None:
    """Only real nesting counts: 64 levels pass, and brackets in a text are text."""
    assert read_object(b'{"a":' * 64 + b"1" + b"}" * 64)
    assert read_object(b'{"a":"' + b'[{\\"' * 100 + b'"}') == {"a": '[{"' * 100}
