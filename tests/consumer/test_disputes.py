"""Evidence of disputes against the sandbox: kept first, sent once, and answered by the other side."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from sqlmodel import select

from consumer import disputes
from consumer.facts.disputes import Chosen, EvidenceError
from consumer.facts.installation import Installation
from consumer.facts.settings import Settings
from consumer.facts.tables.disputes import Evidence
from consumer.facts.tables.provider import Dispute
from consumer.facts.uploads import LARGEST
from consumer.provider.client import Provider, open_provider
from consumer.provider.errors import UnreachableError
from cuadre import Commands
from sandbox.serve import RunningSandbox
from sandbox.state.happening import Happening
from tests.consumer.conftest import Run
from tests.merchant import row_of, settings_of

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
NOW = datetime(2026, 10, 30, 12, tzinfo=UTC)
PDF = b"%PDF-1.4 delivery note"


@pytest.fixture
def running() -> Iterator[RunningSandbox]:
    with RunningSandbox("quiet", scale=0.2) as running:
        yield running


@pytest.fixture
def settings(running: RunningSandbox, tmp_path: Path) -> Settings:
    return settings_of(running.url, tmp_path)


@pytest.fixture
def api(running: RunningSandbox) -> Iterator[httpx.Client]:
    """The provider's API without Cuadre between."""
    with httpx.Client(base_url=running.url, headers={"Authorization": "sk_test_sandbox"}, timeout=120) as client:
        yield client


@pytest.fixture
def dispute(running: RunningSandbox) -> str:
    """A dispute that waits for documents for a week; no scenario wrote its end."""
    return tell(running, "cb_1")


def tell(running: RunningSandbox, identity: str, **changes: Any) -> str:
    now = running.world.now()
    found = {
        "id": identity, "object": "dispute", "mode": "test", "amount": 25_000, "currency": "CLP",
        "status": "waiting_documentation", "documents": [], "resource_id": "pi_1", "resource_type": "payment_intent",
        "documentation_upload_deadline": (now + timedelta(days=7)).isoformat(), "created_at": now.isoformat(),
        "_ending": None,
    }  # fmt: skip
    running.world.tell(Happening(now, "disputes", {**found, **changes}, "dispute.waiting_documentation"))
    return identity


def documents_of(api: httpx.Client, identity: str) -> list[str]:
    return [document["filename"] for document in api.get(f"/v1/disputes/{identity}").json()["documents"]]


def rows(installation: Installation) -> list[tuple[str, str]]:
    with installation.store.reading() as session:
        return [(row.name, row.state) for row in session.exec(select(Evidence).order_by(sa.text("id")))]


def chosen(name: str = "guía.pdf", content: bytes = PDF) -> Chosen:
    return Chosen(name, content, "ana", NOW)


def test_a_document_is_sent_and_submitted_by_commands(
    run: Run, api: httpx.Client, installation: Installation, dispute: str, tmp_path: Path
) -> None:
    """Each is shown first and sent with --yes; the copy, its digest, who and when stay here, and so does the state."""
    path = tmp_path / "guía.pdf"
    path.write_bytes(PDF)
    shown = run(Commands(), "disputes", "upload", dispute, str(path), "--dry-run", "--json")
    assert row_of(shown)["sent"] is False
    assert "main (test): send guía.pdf (1 kB) to cb_1" in shown.stderr
    assert documents_of(api, dispute) == []
    assert run(Commands(), "disputes", "upload", dispute, str(path)).exit_code == 2
    sent = row_of(run(Commands(), "disputes", "upload", dispute, str(path), "--yes", "--author", "ana", "--json"))
    assert (sent["sent"], sent["size"], documents_of(api, dispute)) == (True, 22, ["guía.pdf"])
    kept = installation.settings.files_dir / "evidence" / sent["sha256"]
    assert kept.read_bytes() == PDF
    row = row_of(run(Commands(), "disputes", "submit", dispute, "--yes", "--author", "beto", "--json"))
    assert (row["documents"], row["sent"]) == (1, True)
    with installation.store.reading() as session:
        assert session.get_one(Dispute, ("main", dispute)).status == "in_review"
        first, second = session.exec(select(Evidence).order_by(sa.text("id"))).all()
    assert (first.who, first.sent_by, second.sent_by, second.state) == ("ana", "ana", "beto", "sent")


def test_what_was_sent_is_not_sent_again(
    run: Run, api: httpx.Client, dispute: str, installation: Installation, tmp_path: Path
) -> None:
    """The same content under another name is known by its digest, and a second submission names the first."""
    for name in ("a.pdf", "b.pdf"):
        (tmp_path / name).write_bytes(PDF)
    run(Commands(), "disputes", "upload", dispute, str(tmp_path / "a.pdf"), "--yes", "--author", "ana")
    again = run(Commands(), "disputes", "upload", dispute, str(tmp_path / "b.pdf"), "--yes", "--author", "beto")
    assert "a.pdf was sent to dispute cb_1 before, by ana at " in again.output
    run(Commands(), "disputes", "submit", dispute, "--yes", "--author", "ana")
    assert "was submitted before, by ana at" in run(Commands(), "disputes", "submit", dispute, "--yes").output
    assert documents_of(api, dispute) == ["a.pdf"]
    assert rows(installation) == [("a.pdf", "sent"), ("", "sent")]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"plain text", "a.pdf is no PDF, JPEG or PNG"),
        (b"", "a.pdf has 0 kB"),
        (b"%PDF-" + b"x" * LARGEST, "a.pdf has 10000 kB"),
    ],
)
def test_a_file_that_is_no_evidence_is_refused_here(
    run: Run, api: httpx.Client, dispute: str, tmp_path: Path, content: bytes, said: str
) -> None:
    """Its type is read from its first bytes and its size counted before anything is asked of the provider."""
    path = tmp_path / "a.pdf"
    path.write_bytes(content)
    refused = run(Commands(), "disputes", "upload", dispute, str(path), "--yes")
    assert said in refused.output
    assert documents_of(api, dispute) == []


def test_after_the_deadline_it_is_refused_by_name(run: Run, running: RunningSandbox, tmp_path: Path) -> None:
    """The provider's own clock decides, and nothing goes out."""
    late = tell(running, "cb_late", documentation_upload_deadline="2026-10-01T02:00:00Z")
    over = tell(running, "cb_over", status="won")
    path = tmp_path / "a.pdf"
    path.write_bytes(PDF)
    refused = run(Commands(), "disputes", "upload", late, str(path), "--yes")
    assert "the deadline of dispute cb_late passed at 2026-10-01T02:00:00Z" in refused.output
    ended = run(Commands(), "disputes", "submit", over, "--yes")
    assert "dispute cb_over takes no documents any more: it is won" in ended.output


def test_a_lost_answer_is_repeated_under_its_key(
    installation: Installation, api: httpx.Client, dispute: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the answer did not come the row says so, and sending again brings one document in all."""
    connection = installation.settings.connection("main")
    kept = disputes.keep_document(installation, connection, dispute, chosen())
    create = Provider.create

    def lose(self: Provider, *args: Any, **options: Any) -> Any:
        create(self, *args, **options)
        raise UnreachableError("no answer")

    for state in ("sending", "sent"):
        with open_provider(installation, connection) as provider, monkeypatch.context() as patch:
            if state == "sending":
                patch.setattr(Provider, "create", lose)
                with pytest.raises(EvidenceError, match="done at most once"):
                    disputes.send_document(installation, provider, kept, who="ana")
            else:
                again = disputes.find(installation, connection, dispute, kept.id or 0)
                disputes.send_document(installation, provider, again, who="beto")
        assert rows(installation) == [("guía.pdf", state)]
    with open_provider(installation, connection) as provider, monkeypatch.context() as patch:
        patch.setattr(Provider, "create", lose)
        with pytest.raises(EvidenceError, match="done at most once"):
            disputes.submit_dispute(installation, provider, dispute, seen=1, who="ana")
    with open_provider(installation, connection) as provider:
        disputes.submit_dispute(installation, provider, dispute, seen=1, who="ana")
    assert documents_of(api, dispute) == ["guía.pdf"]
    assert rows(installation) == [("guía.pdf", "sent"), ("", "sent")]


def test_a_refusal_of_the_provider_is_a_sentence_and_frees_the_document(
    installation: Installation, running: RunningSandbox, dispute: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its code is said in words; where other documents came meanwhile than were seen, nothing is submitted."""
    connection = installation.settings.connection("main")
    kept = disputes.keep_document(installation, connection, dispute, chosen())
    with open_provider(installation, connection) as provider, monkeypatch.context() as patch:
        patch.setattr(disputes, "check_open", lambda *_: None)
        tell(running, dispute, status="in_review")
        with pytest.raises(EvidenceError, match="refused it for dispute cb_1: it does not wait for documents any more"):
            disputes.send_document(installation, provider, kept, who="ana")
    assert rows(installation) == [("guía.pdf", "refused")]
    tell(running, dispute)
    with open_provider(installation, connection) as provider:
        again = disputes.find(installation, connection, dispute, kept.id or 0)
        disputes.send_document(installation, provider, again, who="ana")
        with pytest.raises(EvidenceError, match="has 1 documents and you saw 2"):
            disputes.submit_dispute(installation, provider, dispute, seen=2, who="ana")
    assert rows(installation)[0] == ("guía.pdf", "sent")


def test_a_file_that_was_changed_in_the_archive_is_not_sent(
    installation: Installation, api: httpx.Client, dispute: str
) -> None:
    """What goes out is what was shown, to the byte."""
    connection = installation.settings.connection("main")
    kept = disputes.keep_document(installation, connection, dispute, chosen())
    (installation.settings.files_dir / "evidence" / kept.sha256).write_bytes(b"%PDF-1.4 another")
    with (
        open_provider(installation, connection) as provider,
        pytest.raises(EvidenceError, match="not in the archive as it was kept"),
    ):
        disputes.send_document(installation, provider, kept, who="ana")
    assert documents_of(api, dispute) == []


def test_a_document_that_was_not_sent_can_be_forgotten(installation: Installation, dispute: str) -> None:
    """Its row goes, and only while nothing went out."""
    connection = installation.settings.connection("main")
    kept = disputes.keep_document(installation, connection, dispute, chosen())
    disputes.drop(installation, kept)
    assert rows(installation) == []


def test_the_other_side_wins_a_dispute_it_wrote_no_end_of(
    run: Run, running: RunningSandbox, api: httpx.Client, dispute: str, tmp_path: Path
) -> None:
    """Five days after the submission the sandbox decides."""
    (tmp_path / "a.pdf").write_bytes(PDF)
    run(Commands(), "disputes", "upload", dispute, str(tmp_path / "a.pdf"), "--yes")
    run(Commands(), "disputes", "submit", dispute, "--yes")
    running.world.advance(timedelta(days=4, hours=23))
    assert api.get(f"/v1/disputes/{dispute}").json()["status"] == "in_review"
    running.world.advance(timedelta(hours=2))
    assert api.get(f"/v1/disputes/{dispute}").json()["status"] == "won"


def test_the_file_of_a_dropped_document_goes(installation: Installation) -> None:
    """With its last row; while another dispute has the same file, it stays."""
    main = installation.settings.connection("main")
    rows_kept = [disputes.keep_document(installation, main, dispute, chosen()) for dispute in ("cb_1", "cb_2")]
    folder = installation.settings.files_dir / "evidence"
    disputes.drop(installation, rows_kept[0])
    assert disputes.read_document(installation, rows_kept[1]) == PDF
    disputes.drop(installation, rows_kept[1])
    assert list(folder.iterdir()) == []
    again = disputes.keep_document(installation, main, "cb_1", chosen())
    assert disputes.read_document(installation, again) == PDF


def test_what_keeps_evidence_from_going_out_is_said_in_words(
    run: Run, running: RunningSandbox, dispute: str, tmp_path: Path
) -> None:
    """An unknown dispute, one without documents, one too late, by a dry run too; and a provider that is away."""
    (tmp_path / "a.pdf").write_bytes(PDF)
    upload, submit = (("disputes", word) for word in ("upload", "submit"))
    late = tell(running, "cb_late", documentation_upload_deadline="2026-10-01T02:00:00Z")
    unknown = "the provider knows no dispute cb_7: nothing was sent"
    assert unknown in run(Commands(), *upload, "cb_7", str(tmp_path / "a.pdf"), "--yes").output
    assert unknown in run(Commands(), *submit, "cb_7", "--dry-run").output
    for way in ("--dry-run", "--yes"):
        assert "cb_1 has no document yet: send one first" in run(Commands(), *submit, dispute, way).output
        assert "the deadline of dispute cb_late passed" in run(Commands(), *submit, late, way).output
    running.stop()
    away = "the provider does not say how dispute cb_1 stands (it does not answer): nothing was sent, try again"
    for words in ((*upload, dispute, str(tmp_path / "a.pdf")), (*submit, dispute)):
        assert away in run(Commands(), *words, "--yes").output
