"""Documents are fetched from allowed hosts only, over https, without the key, and never without end."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import httpx
import pytest

from consumer.facts.settings import Settings
from consumer.provider import downloads
from consumer.provider.downloads import NotAllowedError, NotFetchedError, check_allowed, download
from tests.merchant import settings_of

PDF = b"%PDF-1.7 made up"
Settle = Callable[..., Settings]


@pytest.fixture
def settle(tmp_path: Path) -> Settle:
    def build(provider: str = "https://api.provider.test", hosts: str = "") -> Settings:
        return settings_of(provider, tmp_path, download_hosts=hosts)

    return build


def answering(status: int, content: bytes, asked: list[httpx.Request]) -> httpx.MockTransport:
    def reply(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(status, content=content, headers={"Location": "https://evil.test/"})

    return httpx.MockTransport(reply)


@pytest.mark.parametrize(
    ("url", "hosts"),
    [
        ("https://api.provider.test/a.pdf?sig=1", ""),
        ("https://API.Provider.test:443/a.pdf", ""),
        ("https://files.test/a.pdf", "files.test,other.test"),
        ("https://files.test/a.pdf", "FILES.test"),
    ],
)
def test_a_named_host_is_asked(settle: Settle, url: str, hosts: str) -> None:
    """The provider's own host by default, or those the settings name, whatever the case."""
    assert check_allowed(url, settle(hosts=hosts))


def test_a_connection_with_its_own_provider_is_given_its_documents(settle: Settle) -> None:
    """The host of the connection's own provider is allowed in place of that of the settings."""
    assert check_allowed("https://mx.provider.test/a.pdf", settle(), provider_url="https://mx.provider.test")
    with pytest.raises(NotAllowedError):
        check_allowed("https://api.provider.test/a.pdf", settle(), provider_url="https://mx.provider.test")


@pytest.mark.parametrize(
    "url",
    [
        "https://elsewhere.test/a.pdf",
        "http://api.provider.test/a.pdf",
        "https://api.provider.test:8443/a.pdf",
        "https://api.provider.test@elsewhere.test/a.pdf",
        "https://user:word@api.provider.test/a.pdf",
        "https://sub.api.provider.test/a.pdf",
        "https://api.provider.test.elsewhere.test/a.pdf",
        "http://127.0.0.1:8000/a.pdf",
        "https://169.254.169.254/latest",
        "file:///etc/passwd",
        "ftp://api.provider.test/a.pdf",
        "https://[::1/a.pdf",
        "https://api.provider.test:port/a.pdf",
        "https://api.provider.test/\x07.pdf",
        "https://api.provider.test/a\n.pdf",
        "https://api.provider.test/\ud800.pdf",
        f"https://api.provider.test/{'a' * 70_000}",
        "a.pdf",
        "",
    ],
)
def test_anything_else_is_not_asked(settle: Settle, url: str) -> None:
    """Other hosts, ports, schemes, logins in the address and what is no address keep their link alone."""
    asked: list[httpx.Request] = []
    with pytest.raises(NotAllowedError):
        download(url, settle(), transport=answering(200, PDF, asked))
    assert asked == []


def test_named_hosts_stand_in_place_of_the_providers(settle: Settle) -> None:
    """A list is the whole list."""
    with pytest.raises(NotAllowedError, match=r"api\.provider\.test is not among CUADRE_DOWNLOAD_HOSTS"):
        check_allowed("https://api.provider.test/a.pdf", settle(hosts="files.test"))


def test_only_the_sandbox_itself_may_speak_http(settle: Settle) -> None:
    """On loopback the provider's own address and port are asked as they are, and no other port is."""
    sandbox = settle("http://127.0.0.1:9000")
    assert check_allowed("http://127.0.0.1:9000/a.pdf", sandbox) == "127.0.0.1"
    for url in ("http://127.0.0.1:9001/a.pdf", "http://localhost:9000/a.pdf"):
        with pytest.raises(NotAllowedError):
            check_allowed(url, sandbox)
    with pytest.raises(NotAllowedError):
        check_allowed("http://provider.test/a.pdf", settle("http://provider.test"))


def test_the_key_is_never_sent(settle: Settle) -> None:
    """The request carries no Authorization, and the bytes come back as they are."""
    asked: list[httpx.Request] = []
    assert download("https://api.provider.test/a.pdf", settle(), transport=answering(200, PDF, asked)) == PDF
    assert "Authorization" not in asked[0].headers
    assert "sk_test_sandbox" not in str(asked[0].headers)


@pytest.mark.parametrize(
    ("status", "content", "message", "may_come"),
    [
        (302, b"", "api.provider.test answered 302", False),
        (403, b"expired", "api.provider.test answered 403", False),
        (503, b"", "api.provider.test answered 503", True),
        (429, b"", "api.provider.test answered 429", True),
        (408, b"", "api.provider.test answered 408", True),
        (200, b"<html>log in</html>", "what api.provider.test sent is not a PDF", False),
        (200, b"", "what api.provider.test sent is not a PDF", False),
    ],
)
def test_what_is_no_document_is_named(
    settle: Settle, status: int, content: bytes, message: str, *, may_come: bool
) -> None:
    """Redirects are not followed, refusals and other contents are final, a broken host may do better later."""
    asked: list[httpx.Request] = []
    with pytest.raises(NotFetchedError) as caught:
        download("https://api.provider.test/a.pdf?sig=secret", settle(), transport=answering(status, content, asked))
    assert (str(caught.value), caught.value.may_come) == (message, may_come)
    assert len(asked) == 1


def test_a_document_without_end_is_cut_off(settle: Settle, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is larger than the limit is dropped while it comes."""
    monkeypatch.setattr(downloads, "MOST_BYTES", 1024 * 1024)
    asked: list[httpx.Request] = []
    with pytest.raises(NotFetchedError, match=r"larger than 1 MB"):
        download("https://api.provider.test/a", settle(), transport=answering(200, PDF + b"x" * 1024 * 1024, asked))


def test_a_document_that_drips_is_left_for_a_later_pull(settle: Settle) -> None:
    """Bytes that come one by one, each in time, end after two minutes in all."""
    moments = count(0, 25)

    class Dripping(httpx.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            for number in range(100):
                taken.append(number)
                yield b"x"

    taken: list[int] = []
    transport = httpx.MockTransport(lambda _request: httpx.Response(200, stream=Dripping()))
    with pytest.raises(NotFetchedError) as caught:
        download("https://api.provider.test/a", settle(), transport=transport, clock=lambda: float(next(moments)))
    assert (str(caught.value), caught.value.may_come) == ("api.provider.test took longer than 120 s", True)
    assert len(taken) == 5


def test_a_host_that_is_away_is_named_without_the_signed_link(settle: Settle) -> None:
    """The reason holds the host and the kind of failure."""

    def away(_request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("https://api.provider.test/a.pdf?sig=secret")

    with pytest.raises(NotFetchedError) as caught:
        download("https://api.provider.test/a.pdf?sig=secret", settle(), transport=httpx.MockTransport(away))
    assert str(caught.value) == "no answer from api.provider.test (ConnectError)"
