"""The doctor about the installation itself: keys, room, writing, clock and the proxy before it."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from consumer.facts.settings import Settings
from consumer.facts.store import Store
from consumer.health.capacity import check_room
from consumer.health.disk import Check, Verdict
from consumer.health.doctor import check_proxy, examine
from consumer.webhooks.keyring import NewSecret, keep_secret
from tests.databases import forbid_writing
from tests.merchant import settings_of

NOW = datetime(2026, 10, 5, 12, 0, tzinfo=UTC)


def answer_late(by: timedelta) -> httpx.MockTransport:
    """Play a provider whose clock is behind ours."""

    def answer(_request: httpx.Request) -> httpx.Response:
        date = (utc_now() - by).strftime("%a, %d %b %Y %H:%M:%S GMT")
        return httpx.Response(200, json=[], headers={"Date": date, "Link": ""})

    return httpx.MockTransport(answer)


def look(installation: Installation, *, late: timedelta = timedelta()) -> dict[str, Check]:
    return {check.check: check for check in examine(installation, "main", transport=answer_late(late))}


def test_a_secret_kept_under_another_key_is_a_failure(installation: Installation) -> None:
    """What cannot be decrypted verifies no webhook, so it is not called valid."""
    changes = {"webhook_secrets": (), "secret_key": "another key, of another installation"}
    other = Installation(Settings.model_validate(dict(installation.settings) | changes), installation.store)
    with installation.store.transaction() as session:
        keep_secret(session, installation.settings, NewSecret("main", "october", "we_2", "whsec_x"), now=NOW)

    assert look(installation)["webhook secrets"].verdict is Verdict.OK
    found = look(other)["webhook secrets"]
    assert (found.verdict, found.found) == (
        Verdict.FAILURE,
        "october cannot be read, so what they sign is refused: CUADRE_SECRET_KEY is not the one it was kept under",
    )


@pytest.mark.parametrize(
    ("free", "verdict"), [(50_000_000, "failure"), (500_000_000, "warning"), (5_000_000_000, "ok")]
)
def test_little_room_is_said_in_time(installation: Installation, free: int, verdict: str) -> None:
    """Under a gigabyte is a warning, under a tenth of one a failure; two folders on one disk are one line."""
    found = check_room(installation, now=NOW, free=lambda _path: free)
    assert [check.verdict for check in found if check.check == "disk space"] == [verdict]


@pytest.mark.both_databases
def test_a_database_that_takes_no_row_is_a_failure(installation: Installation) -> None:
    """It is tried, and the reason is the database's own."""
    with forbid_writing(installation.store):
        found = next(check for check in check_room(installation, now=NOW) if check.check == "writing")
    assert found.verdict is Verdict.FAILURE
    assert "the database takes no row: " in found.found
    assert "read" in found.found


def test_a_data_folder_that_takes_no_file_is_a_failure(installation: Installation) -> None:
    """A file stands where the folder should be."""
    settings = installation.settings.model_copy(update={"data_dir": Path(__file__)})
    found = {check.check: check for check in check_room(Installation(settings, installation.store), now=NOW)}
    assert found["data folder"].verdict is Verdict.FAILURE


@pytest.mark.parametrize(
    ("url", "verdict", "found"),
    [
        ("https://api.provider.test", "ok", "the test key is accepted"),
        ("http://127.0.0.1:9000", "ok", "the test key is accepted"),
        ("http://api.provider.test", "warning", "the test key is accepted, and goes there unencrypted"),
    ],
)
def test_a_key_that_others_can_read_is_a_warning(
    tmp_path: Path, store: Store, url: str, verdict: str, found: str
) -> None:
    """A key leaves this machine encrypted or the doctor says that it does not."""
    check = look(Installation(settings_of(url, tmp_path), store))["provider"]
    assert (str(check.verdict), check.found) == (verdict, found)


@pytest.mark.parametrize(("late", "verdict"), [(0, "ok"), (120, "warning"), (400, "failure")])
def test_a_clock_beyond_the_tolerance_of_signatures_is_a_failure(
    installation: Installation, late: int, verdict: str
) -> None:
    """Within it webhooks still pass, beyond it each is refused."""
    assert look(installation, late=timedelta(seconds=late))["clock"].verdict == verdict


@pytest.mark.parametrize(("url", "begins"), [("http://127.0.0.1:9000", "expected of a sandbox"),
                                             ("https://api.provider.test", "set the machine's clock")])  # fmt: skip
def test_a_sandbox_has_a_clock_of_its_own(tmp_path: Path, store: Store, url: str, begins: str) -> None:
    """No one is sent to set the machine's clock where the provider on it is played."""
    found = look(Installation(settings_of(url, tmp_path), store), late=timedelta(days=40))["clock"]
    assert (str(found.verdict), (found.advice or "").startswith(begins)) == ("failure", True)


@pytest.mark.parametrize(
    ("url", "seen", "verdict"),
    [
        ("https://pay.shop.example", ["127.0.0.1", "127.0.0.1"], "warning"),
        ("https://pay.shop.example", ["127.0.0.1", "198.51.100.7"], "ok"),
        ("https://pay.shop.example", [], "ok"),
        ("http://127.0.0.1:8000", ["127.0.0.1"], "ok"),
    ],
)
def test_a_proxy_that_hides_where_people_come_from(
    installation: Installation, url: str, seen: list[str], verdict: str
) -> None:
    """Behind a public address every login from the proxy itself means that it passes no address on."""
    settings = Settings.model_validate(dict(installation.settings) | {"public_url": url})
    assert check_proxy(Installation(settings, installation.store), seen).verdict == verdict
