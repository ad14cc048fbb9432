"""Files of a person: deleted or rewritten, in archives, backups and restores too."""

from pathlib import Path

import pytest
from sqlmodel import col, select

from consumer.backup import making, restoring
from consumer.facts.installation import Installation
from consumer.facts.store import Store
from consumer.facts.tables.disputes import Evidence
from consumer.facts.tables.sync import StatementDocument
from reconcile.tables.desk import Attachment
from reports import archive
from reports.erasing.erase import erase_again
from reports.output.files import Shape
from reports.packs.making import Asked, pack
from reports.packs.verifying import verify
from reports.tables import ReportFile
from tests.merchant import row_of, rows_of
from tests.reconcile.conftest import World
from tests.reports.erasing.conftest import AT, NAME, PLANTED, RUT, call, found_in, observed, unpacked


@pytest.mark.both_databases
def test_evidence_and_statements_with_the_person_are_deleted(lived: Installation) -> None:
    """Files of the person's dispute and of an account that moved their money go; one that another's has too stays."""
    world, root = World(lived.store), lived.settings.files_dir
    fixed = {"amount": 40, "currency": "CLP", "mode": "test"}
    observed(lived, "dispute", fixed | {"id": "dp_1", "status": "won", "object": "dispute", "resource_id": "pi_2"})
    observed(lived, "account_movement", fixed | {"id": "mov_1", "object": "account_movement", "account_id": "acc_1",
             "direction": "inbound", "counterparty": {"name": NAME, "holder_id": RUT}})  # fmt: skip
    for account in ("acc_1", "acc_2"):
        observed(lived, "account_statement", {"id": f"st_{account}", "object": "account_statement", "mode": "test",
                 "account_id": account, "status": "available"})  # fmt: skip
        path = f"statements/{account}.pdf"
        world.keep(StatementDocument(connection="main", statement_id=f"st_{account}", path=path, looked_at=AT))
    shared = "d" * 64
    for dispute, sha256 in (("dp_1", "e" * 64), ("dp_1", ""), ("dp_1", shared), ("dp_of_another", shared)):
        world.keep(Evidence(connection="main", dispute_id=dispute, name="a.pdf", size=1, sha256=sha256, state="sent",
                            who="ana", at=AT))  # fmt: skip
    evidence = [f"evidence/{sha256}" for sha256 in ("e" * 64, shared, "f" * 64)]
    for name in (*evidence, "statements/acc_1.pdf", "statements/acc_2.pdf"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_bytes(b"%PDF-")
    counts = {row["place"]: row["changed"] for row in rows_of(call(lived, "erase", RUT, "--dry-run", "--json"))}
    assert {place: counts[place] for place in ("evidence", "statements", "uploads")} == {
        "evidence": 1, "statements": 1, "uploads": 1,
    }  # fmt: skip
    erased = call(lived, "erase", RUT, "--yes")
    assert erased.exit_code == 0, erased.output
    files = [
        path.relative_to(root).as_posix() for name in ("evidence", "statements") for path in (root / name).iterdir()
    ]
    assert sorted(files) == [f"evidence/{shared}", f"evidence/{'f' * 64}", "statements/acc_2.pdf"]
    with lived.store.reading() as session:
        documents = session.exec(select(StatementDocument).order_by(col(StatementDocument.statement_id))).all()
    assert [(one.path, one.problem) for one in documents] == [(None, "erased"), ("statements/acc_2.pdf", None)]


def test_a_file_of_two_people_goes_with_the_second(lived: Installation) -> None:
    """Evidence in the disputes of two stays while one of them is not erased, and is counted when it goes."""
    fixed = {"currency": "CLP", "mode": "test", "amount": 5, "object": "dispute", "status": "won"}
    observed(lived, "customer", {"id": "cus_z", "object": "customer", "mode": "test", "name": "Zoe Paz",
             "tax_id": {"type": "cl_rut", "value": "76.192.083-9"}})  # fmt: skip
    observed(lived, "payment_intent", {"id": "pi_z", "object": "payment_intent", "mode": "test", "amount": 5,
             "currency": "CLP", "status": "succeeded", "customer_id": "cus_z"})  # fmt: skip
    for dispute, payment in (("dp_1", "pi_2"), ("dp_z", "pi_z")):
        observed(lived, "dispute", fixed | {"id": dispute, "resource_id": payment})
        World(lived.store).keep(Evidence(connection="main", dispute_id=dispute, name="a.pdf", size=1, sha256="d" * 64,
                                         state="sent", who="ana", at=AT))  # fmt: skip
    path = lived.settings.files_dir / "evidence" / ("d" * 64)
    path.parent.mkdir()
    path.write_bytes(b"%PDF-")
    assert call(lived, "erase", RUT, "--yes").exit_code == 0
    assert path.exists()
    counts = {row["place"]: row["changed"] for row in rows_of(call(lived, "erase", "cus_z", "--dry-run", "--json"))}
    assert counts["evidence"] == 1
    erased = call(lived, "erase", "cus_z", "--yes")
    assert (erased.exit_code, path.exists()) == (0, False), erased.output


def test_files_of_exceptions_about_the_person_are_deleted(lived: Installation) -> None:
    """The file and its row go; a file that an exception of another has too stays with that one."""
    world, root = World(lived.store), lived.settings.files_dir
    for exception, sha256 in (("ex_1", "a" * 64), ("ex_1", "b" * 64), ("ex_of_another", "b" * 64)):
        world.keep(Attachment(connection="main", exception_id=exception, name="a.pdf", size=1, sha256=sha256,
                              who="ana", at=AT))  # fmt: skip
        (root / "attachments").mkdir(exist_ok=True)
        (root / "attachments" / sha256).write_bytes(b"%PDF-")
    counts = {row["place"]: row["changed"] for row in rows_of(call(lived, "erase", RUT, "--dry-run", "--json"))}
    assert counts["attachments"] == 2
    erased = call(lived, "erase", RUT, "--yes")
    assert erased.exit_code == 0, erased.output
    assert [path.name for path in (root / "attachments").iterdir()] == ["b" * 64]
    with lived.store.reading() as session:
        assert [one.exception_id for one in session.exec(select(Attachment))] == ["ex_of_another"]


def test_a_rerun_compares_amounts_and_outcomes(lived: Installation) -> None:
    """Inputs without the person are believed where the database says why, and the answer says what was compared."""
    assert call(lived, "erase", RUT, "--yes").exit_code == 0
    rerun = call(lived, "runs", "rerun", "1")
    assert rerun.exit_code == 0, rerun.output
    assert "a person was erased from it: only amounts and outcomes are compared" in rerun.output


@pytest.mark.both_databases
def test_the_drill_and_the_archive_of_the_month_say_what_they_compare(lived: Installation, tmp_path: Path) -> None:
    """A backup made before is proven by amounts; the archive made anew verifies, and says that a person was erased."""
    assert lived.settings.backup_dir is not None
    lived.settings.backup_dir.mkdir()
    making.make_backup(lived, lived.settings.backup_dir / "cuadre-20260912T093000Z.tar.gz", now=AT)
    main = lived.settings.connection("main")
    asked = Asked(Shape(), "es-CL", "ana", AT)
    path, first = pack(lived, main, 1, asked, tmp_path / "first")
    assert "erased" not in str(verify(path).to_message("x"))
    assert call(lived, "erase", RUT, "--yes").exit_code == 0

    certificate = row_of(call(lived, "backup", "drill", "--json"))
    assert certificate["state"] == "proven"
    assert any("of 1 only amounts and outcomes are compared" in proof["found"] for proof in certificate["proofs"])
    path, second = pack(lived, main, 1, asked, tmp_path / "second")
    assert (first.about.erased, second.about.erased) == (False, True)
    assert "a person was erased since the closing: amounts and outcomes are those of the closing" in str(
        verify(path).to_message("x")
    )
    assert not {word for word in PLANTED if word in unpacked(path.read_bytes())}
    report = next(iter(sorted((lived.settings.files_dir / "reports").rglob("*.csv"))))
    with lived.store.reading() as session:
        file = session.exec(select(ReportFile).where(ReportFile.path.endswith(report.name))).first()
    assert file is not None
    assert archive.open_kept(lived, file).exists()


def test_a_restore_of_an_older_backup_erases_again(lived: Installation, tmp_path: Path) -> None:
    """The ledger next to the backups names no one, and is enough to find who was erased since."""
    assert lived.settings.backup_dir is not None
    lived.settings.backup_dir.mkdir()
    path = lived.settings.backup_dir / "cuadre-20260912T093000Z.tar.gz"
    making.make_backup(lived, path, now=AT)
    assert call(lived, "erase", RUT, "--yes").exit_code == 0
    ledger = (lived.settings.backup_dir / "erasures.json").read_text("utf-8")
    assert [word for word in PLANTED if word in ledger] == []

    given = {"data_dir": tmp_path / "new", "database_url": f"sqlite:///{tmp_path / 'new' / 'cuadre.db'}"}
    settings = lived.settings.model_copy(update=given)
    restoring.restore(path, settings)
    restored = Installation(settings, Store(settings.database_url))
    assert RUT in {word for _, word in found_in(restored)}
    assert erase_again(restored, path.parent, now=AT) > 0
    assert found_in(restored) == set()
    assert erase_again(restored, path.parent, now=AT) == 0
    restored.store.close()
