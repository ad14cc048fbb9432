"""Statement documents: fetched once into the archive, kept as a link elsewhere, and never called there when lost."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlmodel import select

from consumer.facts.installation import Installation
from consumer.facts.settings import Settings
from consumer.facts.store import Store
from consumer.facts.tables.sync import StatementDocument
from consumer.facts.work import Completion
from consumer.provider.budget import Budget
from consumer.provider.client import Provider
from consumer.sync.pull import STREAMS, read_streams
from tests.merchant import settings_of

PDF = b"%PDF-1.7 made up"
STREAM = [STREAMS["account-statements"]]
ACCOUNT = {"id": "acc_1", "object": "account", "mode": "test", "currency": "CLP", "status": "active"}
STATEMENTS = "/v2/accounts/acc_1/account_statements"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return settings_of("https://provider.test", tmp_path, download_hosts="files.test")


class Files:
    """A host of documents beside the provider's lists."""

    def __init__(self, lists: Any) -> None:
        self.asked: list[str] = []
        self.answer: Callable[[], httpx.Response] = lambda: httpx.Response(200, content=PDF)
        self._lists = lists

    def reply(self, request: httpx.Request) -> httpx.Response:
        if request.url.host == "provider.test":
            found: httpx.Response = self._lists.answer(request)
            return found
        self.asked.append(str(request.url))
        return self.answer()


@pytest.fixture
def files(list_server: Any) -> Files:
    list_server.lists |= {"/v1/transfers/accounts": [ACCOUNT], STATEMENTS: [statement("https://files.test/1?sig=a")]}
    return Files(list_server)


@pytest.fixture
def provider(files: Files, store: Store, settings: Settings, pauses: list[float]) -> Iterator[Provider]:
    transport = httpx.MockTransport(files.reply)
    connection = settings.connection("main")
    with Provider(connection, settings, Budget(store, 100_000), transport=transport, sleep=pauses.append) as provider:
        yield provider


def statement(link: str | None) -> dict[str, Any]:
    sums = {"initial_balance_cents": 0, "final_balance_cents": 0, "total_credited_cents": 0, "total_debited_cents": 0}
    own = {"id": "acst_1", "object": "account_statement", "mode": "test", "account_id": "acc_1", "download_url": link}
    return {**own, **sums, "start_date": "2026-09-01", "end_date": "2026-09-30"}


def document(installation: Installation) -> StatementDocument:
    with installation.store.reading() as session:
        return session.exec(select(StatementDocument)).one()


def test_a_document_is_fetched_once_and_lies_in_the_archive(
    installation: Installation, provider: Provider, files: Files
) -> None:
    """The row holds place, digest and size; a later pull with a new signature does not ask again."""
    assert read_streams(installation, provider, STREAM).status is Completion.DONE
    row = document(installation)
    assert row.path is not None
    assert (installation.settings.data_dir / row.path).read_bytes() == PDF
    assert row.sha256 == "cd030cd3bd9050f2116c85df8cd0df9c8db3261df8879912ed0af43395b4e7bd"
    assert (row.size, row.problem) == (16, None)
    read_streams(installation, provider, STREAM)
    assert files.asked == ["https://files.test/1?sig=a"]


@pytest.mark.both_databases
def test_another_machine_does_not_fetch_a_document_again(
    installation: Installation, provider: Provider, files: Files, tmp_path: Path
) -> None:
    """With PostgreSQL it comes out of the database, with one folder for all it is there."""
    read_streams(installation, provider, STREAM)
    place = {"data_dir": tmp_path / "other"}
    if installation.store.is_sqlite:
        place["shared_dir"] = installation.settings.data_dir
    other = Installation(installation.settings.model_copy(update=place), installation.store)
    read_streams(other, provider, STREAM)
    assert len(files.asked) == 1
    row = document(other)
    assert row.path is not None
    assert (other.settings.files_dir / row.path).read_bytes() == PDF


class CountedBudget(Budget):
    turns = 0

    @contextmanager
    def spend(self) -> Iterator[None]:
        self.turns += 1
        with super().spend():
            yield


def test_a_document_waits_for_its_turn_in_the_budget(
    installation: Installation, files: Files, list_server: Any
) -> None:
    """The host is the provider's by default, so a document counts as a request like any other."""
    budget, connection = CountedBudget(installation.store, 100_000), installation.settings.connection("main")
    with Provider(connection, installation.settings, budget, transport=httpx.MockTransport(files.reply)) as provider:
        assert read_streams(installation, provider, STREAM).status is Completion.DONE
    assert budget.turns == len(list_server.asked) + len(files.asked)
    assert len(files.asked) == 1


def test_a_document_that_was_deleted_here_is_fetched_again(
    installation: Installation, provider: Provider, files: Files
) -> None:
    """A row whose file is gone is not taken for the file."""
    read_streams(installation, provider, STREAM)
    (installation.settings.data_dir / str(document(installation).path)).unlink()
    read_streams(installation, provider, STREAM)
    assert len(files.asked) == 2
    assert (installation.settings.data_dir / str(document(installation).path)).is_file()


def test_elsewhere_only_the_link_is_kept(
    installation: Installation, provider: Provider, files: Files, list_server: Any
) -> None:
    """A host that is not named is not asked; the stream is complete and the row says why there is no file."""
    list_server.lists[STATEMENTS] = [statement("https://elsewhere.test/1?sig=a")]
    outcome = read_streams(installation, provider, STREAM)
    assert (outcome.status, outcome.results[0].reason) == (Completion.DONE, None)
    assert files.asked == []
    assert document(installation).path is None
    assert document(installation).problem == "elsewhere.test is not among CUADRE_DOWNLOAD_HOSTS"


def test_a_document_that_may_still_come_leaves_the_stream_incomplete(
    installation: Installation, provider: Provider, files: Files
) -> None:
    """A host that breaks is exit 3 with its name; the next pull fetches what was missing."""
    files.answer = lambda: httpx.Response(503)
    outcome = read_streams(installation, provider, STREAM)
    assert outcome.status is Completion.PARTLY_DONE
    assert outcome.results[0].reason == "acst_1: its document: files.test answered 503"
    files.answer = lambda: httpx.Response(200, content=PDF)
    assert read_streams(installation, provider, STREAM).status is Completion.DONE
    assert document(installation).size == 16


def test_a_document_that_will_not_come_is_a_finding(
    installation: Installation, provider: Provider, files: Files
) -> None:
    """What the host refuses for good is said with every pull and holds nothing up."""
    files.answer = lambda: httpx.Response(403)
    outcome = read_streams(installation, provider, STREAM)
    assert outcome.status is Completion.DONE
    assert outcome.results[0].reason == "acst_1: its document: files.test answered 403"


@pytest.mark.parametrize("link", [None, "", 7])
def test_a_statement_without_link_has_no_document(
    installation: Installation, provider: Provider, list_server: Any, link: Any
) -> None:
    """Nothing is asked and nothing is noted."""
    list_server.lists[STATEMENTS] = [statement(link)]
    assert read_streams(installation, provider, STREAM).status is Completion.DONE
    with installation.store.reading() as session:
        assert session.exec(select(StatementDocument)).all() == []
