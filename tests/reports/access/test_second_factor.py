"""Codes of a device and recovery codes: each opens once, near its time, for its own person."""

import base64
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlmodel import col

from consumer.facts.settings import Settings
from consumer.facts.store import Store
from reports.access import second_factor
from reports.access.second_factor import FactorError
from reports.tables import RecoveryCode, SecondFactor
from tests.merchant import settings_of

NOW = datetime(2026, 10, 8, 12, 0, tzinfo=UTC)
STEP = int(NOW.timestamp()) // 30
ANA, LUZ = 1, 2


def to_bytes(secret: str) -> bytes:
    return base64.b32decode(secret)


@pytest.fixture
def secret(store: Store, settings: Settings) -> bytes:
    """The secret of Ana, whose second factor is on since the step before now."""
    with store.transaction() as session:
        made = to_bytes(second_factor.begin(session, settings, ANA, now=NOW))
        second_factor.confirm(session, settings, ANA, second_factor.code_at(made, STEP - 1), now=NOW)
    return made


@pytest.fixture
def accept(store: Store, settings: Settings) -> Callable[..., bool]:
    def give(code: str, *, person: int = ANA, at: datetime = NOW) -> bool:
        with store.transaction() as session:
            return second_factor.accept(session, settings, person, code, now=at)

    return give


@pytest.mark.parametrize(
    ("seconds", "code"),
    [(59, "287082"), (1111111109, "081804"), (1234567890, "005924"), (2000000000, "279037"), (20000000000, "353130")],
)
def test_codes_are_those_of_the_standard(seconds: int, code: str) -> None:
    """The vectors of RFC 6238 for SHA-1, of which a device shows the last six digits."""
    assert second_factor.code_at(b"12345678901234567890", seconds // 30) == code


def test_a_code_is_accepted_once(secret: bytes, accept: Callable[..., bool]) -> None:
    """Who saw a code typed cannot use it again, nor one before it."""
    code, later = second_factor.code_at(secret, STEP), second_factor.code_at(secret, STEP + 1)
    assert [accept(code), accept(code)] == [True, False]
    assert [accept(later), accept(code)] == [True, False]


@pytest.mark.parametrize(("drift", "is_right"), [(-2, False), (-1, False), (0, True), (1, True), (2, False)])
def test_a_clock_may_be_off_by_one_step(
    secret: bytes, accept: Callable[..., bool], drift: int, *, is_right: bool
) -> None:
    """Thirty seconds either way, if no later code was used; the step before was used to set up."""
    assert accept(second_factor.code_at(secret, STEP + drift)) is is_right


@pytest.mark.parametrize("code", ["", "123", "abcdef", "000 000 000", "٣٤٥٦٧٨", "\0" * 6, "9" * 5000])
@pytest.mark.usefixtures("secret")
def test_what_is_no_code_opens_nothing(accept: Callable[..., bool], code: str) -> None:
    """Text of any kind is refused and makes no error."""
    assert not accept(code)


def test_a_code_of_another_person_opens_nothing(secret: bytes, accept: Callable[..., bool]) -> None:
    """A code is of the person whose secret it is, and who has none has no code."""
    assert not accept(second_factor.code_at(secret, STEP), person=LUZ)


@pytest.mark.usefixtures("secret")
def test_recovery_codes_work_once_each(store: Store, accept: Callable[..., bool]) -> None:
    """Ten codes, typed with or without their dashes; none is in the database, and new ones end those before."""
    with store.transaction() as session:
        first = second_factor.renew_recovery_codes(session, ANA)
    assert len(set(first)) == 10
    assert [accept(first[0]), accept(first[0]), accept(first[1].replace("-", " ").upper())] == [True, False, True]
    assert not accept(first[2], person=LUZ)
    with store.transaction() as session:
        assert second_factor.count_recovery_codes(session, ANA) == 8
        kept = session.scalars(sa.select(col(RecoveryCode.sha256))).all()
        second_factor.renew_recovery_codes(session, ANA)
    assert not {code.replace("-", "") for code in first} & set(kept)
    assert not accept(first[3])


def test_a_factor_counts_once_its_first_code_was_given(store: Store, settings: Settings) -> None:
    """A secret whose picture was never read locks no one out; a wrong first code leaves it so."""
    with store.transaction() as session:
        second_factor.begin(session, settings, ANA, now=NOW)
    with store.transaction() as session, pytest.raises(FactorError, match="not the one of now"):
        second_factor.confirm(session, settings, ANA, "000000", now=NOW)
    with store.reading() as session:
        assert not second_factor.is_on(session, ANA)


def test_what_is_on_is_not_begun_again(store: Store, settings: Settings, secret: bytes) -> None:
    """A second secret would take the device away that its person logs in with; and nothing is confirmed twice."""
    with store.transaction() as session, pytest.raises(FactorError, match="on already"):
        second_factor.begin(session, settings, ANA, now=NOW)
    with store.transaction() as session, pytest.raises(FactorError, match="begin again"):
        second_factor.confirm(session, settings, ANA, second_factor.code_at(secret, STEP + 1), now=NOW)


def test_the_secret_is_encrypted(store: Store, tmp_path: Path, secret: bytes) -> None:
    """The table alone makes no codes; under another key of the installation only recovery codes are left."""
    other = settings_of("http://provider.test", tmp_path, secret_key="another key of thirty-two letters")
    with store.transaction() as session:
        codes = second_factor.renew_recovery_codes(session, ANA)
        assert secret not in session.get_one(SecondFactor, ANA).encrypted
        assert not second_factor.accept(session, other, ANA, second_factor.code_at(secret, STEP), now=NOW)
        assert second_factor.accept(session, other, ANA, codes[0], now=NOW)


@pytest.mark.both_databases
def test_two_requests_with_one_code(secret: bytes, accept: Callable[..., bool]) -> None:
    """Side by side on either database one of them is let in."""
    code = second_factor.code_at(secret, STEP)
    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(accept, [code] * 4)) == [False, False, False, True]


def test_a_code_of_an_hour_ago_is_over(secret: bytes, accept: Callable[..., bool]) -> None:
    """Time alone ends a code that was never used."""
    assert not accept(second_factor.code_at(secret, STEP), at=NOW + timedelta(hours=1))
