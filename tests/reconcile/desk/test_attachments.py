"""Files of exceptions when a process is killed or a commit fails: never a row without its file, and none kept for ever.

Everything a page does with them stands in tests/reports/pages.
"""

import shutil
from datetime import date, timedelta
from pathlib import Path

import pytest
from sqlmodel import select

from app import job_table
from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from consumer.health.doctor import check_files
from consumer.job_table import RETENTION
from reconcile.desk import attachments
from reconcile.desk.archive import FILES, list_lost
from reconcile.desk.attachments import Given
from reconcile.desk.decisions import Signature
from reconcile.tables.desk import Attachment, ExceptionRow
from tests.merchant import start_apart

KILLED = str(Path(__file__).with_name("killed_at.py"))
RECEIPT = b"%PDF-1.4 receipt"
AN_HOUR = timedelta(hours=1)


@pytest.fixture
def exception(installation: Installation) -> Installation:
    day = date(2026, 9, 10)
    with installation.store.transaction() as session:
        session.add(ExceptionRow(
            connection="main", id="ex_1", code="PAYMENT_NO_INVOICE", severity="low", subject="pi_1", title="",
            opened_on=day, last_seen_on=day, amount_at_risk=1, currency="CLP", state="open", run_first="a",
            run_last="a",
        ))  # fmt: skip
    return installation


def kill_at(installation: Installation, step: str) -> None:
    url, folder = str(installation.store.engine.url), installation.settings.data_dir
    process = start_apart(KILLED, step, database_url=url, data_dir=folder)
    assert process.wait(60) == -9


def named(installation: Installation) -> list[str]:
    with installation.store.reading() as session:
        return [one.name for one in session.exec(select(Attachment))]


def there(installation: Installation) -> list[str]:
    folder = installation.settings.files_dir / "attachments"
    return sorted(path.name.partition("-")[0] for path in folder.glob("*"))


def add(installation: Installation, name: str = "recibo.pdf", content: bytes = RECEIPT) -> Attachment:
    with installation.store.transaction() as session:
        return attachments.attach(session, installation, "main", "ex_1", Given(name, content, "ana", utc_now()))


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
def test_a_process_that_is_killed_leaves_no_row_without_a_file(exception: Installation) -> None:
    """At each step what it left is swept after a day, and never what a row names."""
    left = {}
    for step in ("half a file", "a file without a row", "a file and its row", "no row, and its file"):
        kill_at(exception, step)
        left[step] = (named(exception), len(there(exception)))
        FILES.sweep(exception, before=utc_now() - AN_HOUR)
        assert len(there(exception)) == left[step][1], "a young file may be one that is being added"
        FILES.sweep(exception, before=utc_now() + AN_HOUR)
        assert list_lost(exception) == []
        assert len(there(exception)) == len(named(exception))
    assert left == {
        "half a file": ([], 1), "a file without a row": ([], 1), "a file and its row": (["recibo.pdf"], 1),
        "no row, and its file": ([], 1),
    }  # fmt: skip


@pytest.mark.both_databases
def test_a_removal_that_is_not_committed_keeps_the_file(exception: Installation) -> None:
    """The file goes after its row, so that a commit that fails leaves both; adding it again brings a lost one back."""
    row = add(exception)
    with exception.store.transaction() as session:
        attachments.detach(session, "main", "ex_1", row.id or 0, Signature("ana", "a file", utc_now()))
        session.rollback()
    assert (list_lost(exception), attachments.find_file(exception, row).read_bytes()) == ([], RECEIPT)
    if exception.store.is_sqlite:
        shutil.rmtree(exception.settings.files_dir / "attachments")
        assert list_lost(exception) == ["recibo.pdf of exception ex_1"]
        add(exception)
    assert list_lost(exception) == []


def test_the_doctor_names_a_file_that_is_lost() -> None:
    """The first of them and how many, since any of them is missing from the archive of a month."""
    assert check_files([]).verdict == "ok"
    lost = check_files(["a.pdf of exception ex_1", "b.pdf of exception ex_2"])
    assert (lost.verdict, lost.found) == ("failure", "a.pdf of exception ex_1 and 1 more: not there")


@pytest.mark.both_databases
def test_the_nightly_errand_sweeps(exception: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of exceptions and one of disputes without a row go after a day, and what is named stays."""
    kept = add(exception)
    with exception.store.transaction() as session:
        FILES.keep(session, exception, "0" * 64, b"left", utc_now())
    later = utc_now() + timedelta(days=1) + AN_HOUR
    for module in ("app", "consumer.job_table"):
        monkeypatch.setattr(f"{module}.utc_now", lambda: later)
    (job,) = (one for one in job_table(exception) if one.name == RETENTION)
    job.run(date(2026, 9, 10))
    assert there(exception) == [kept.sha256]
    with exception.store.reading() as session:
        assert FILES.find_lost(session, exception) == set()
