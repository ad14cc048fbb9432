"""A person erased: nothing of them is left in any byte, and every amount, id and count stays."""

import io
import json
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa
from click.testing import CliRunner, Result
from flask import Flask
from flask.testing import FlaskClient
from pydantic import SecretStr
from sqlmodel import SQLModel, col, select

from consumer.backup import making, restoring
from consumer.facts.installation import Installation
from consumer.facts.meaning import meaning_sha256, read_object
from consumer.facts.settings import Settings
from consumer.facts.store import Store
from consumer.facts.tables.disputes import Evidence
from consumer.facts.tables.erasures import Erasure
from consumer.facts.tables.inbox import Event
from consumer.facts.tables.jobs import Tick
from consumer.facts.tables.orders import OrderAnswer
from consumer.facts.tables.provider import PaymentIntent, PayoutItem
from consumer.facts.tables.sync import StatementDocument
from consumer.facts.tables.types import core_of
from consumer.facts.versions import merge_all
from consumer.inbox.record import Verdict, read_arrival, record_all
from consumer.provider.rows import Observation, observe
from cuadre import Commands
from reconcile.books.invoices import import_invoices
from reconcile.desk.decisions import Signature
from reconcile.runs.close_period import close_period
from reconcile.tables.books import BankLine, LocalInvoice
from reconcile.tables.closing import ClosedFigure, PeriodAdjustment
from reconcile.tables.desk import ExceptionRow
from reconcile.tables.runs import Run
from reports import archive, catalogue, files
from reports.erasing.declared import columns_of, objects_of_provider, read_declared
from reports.erasing.erase import erase_again
from reports.erasing.retention import forget_old
from reports.export import Format
from reports.files import Shape
from reports.packs.making import Asked, pack
from reports.packs.verifying import verify
from reports.query import Query
from reports.search import filling
from reports.tables import AuditEntry, ReportFile
from tests.merchant import ROOT, row_of, rows_of, start_apart
from tests.reconcile.conftest import World

RUT, NAME, MAIL = "12345678-5", "María José Peñaloza", "mj.penaloza@correo.cl"
ACCOUNT, COMMENT, ORDER = "00987654321", "Arriendo de octubre para la tía Eulalia", "ZAPATO-1001"
PLANTED = ("12345678-5", "12.345.678-5", "123456785", "Peñaloza", "PENALOZA", "penaloza@", ACCOUNT, "Eulalia", "ZAPATO")
OTHER_NAME, OTHER_RUT = "Pedro Soto Araya", "11111111-1"
AT = datetime(2026, 9, 12, 9, 30, tzinfo=UTC)
DAY = date(2026, 9, 10)


@pytest.fixture
def installation(settings: Settings, store: Store, tmp_path: Path) -> Installation:
    """An installation on either database, with a folder for backups."""
    given = {"secret_key": SecretStr("a key that only tests know"), "backup_dir": tmp_path / "backups"}
    return Installation(settings=settings.model_copy(update=given), store=store)


def call(installation: Installation, *words: object, typed: str | None = None) -> Result:
    return CliRunner().invoke(Commands(), [str(word) for word in words], obj=lambda: installation, input=typed)


def body_of(identity: str, amount: int, **more: Any) -> dict[str, Any]:
    return {
        "id": identity, "object": "payment_intent", "mode": "test", "status": "succeeded", "amount": amount,
        "currency": "CLP", "created_at": "2026-09-10T15:00:00Z", "payment_type": "bank_transfer",
        "customer": {"id": "cus_1", "name": NAME, "email": MAIL, "tax_id": {"type": "cl_rut", "value": RUT}},
        "sender_account": {
            "holder_id": "123456785", "holder_name": NAME.upper(), "number": ACCOUNT,
            "institution_id": "cl_banco_estado",
        },
        "comment": COMMENT, "metadata": {"order_id": ORDER}, **more,
    }  # fmt: skip


def event_of(identity: str, data: dict[str, Any]) -> bytes:
    fixed = {"id": identity, "type": "payment_intent.succeeded", "mode": "test", "created_at": "2026-09-10T15:00:00Z"}
    return json.dumps(fixed | {"data": data}).encode()


def observed(installation: Installation, kind: str, body: dict[str, Any], at: datetime = AT) -> None:
    with installation.store.transaction() as session:
        merge_all(session, [observe(kind, body, Observation("main", "test", at))])


@pytest.fixture
def lived(installation: Installation) -> Installation:
    """A closed month of two customers, told of in every place that keeps something of people."""
    store, world = installation.store, World(installation.store)
    customer = {"id": "cus_1", "name": NAME, "email": MAIL, "tax_id": {"type": "cl_rut", "value": RUT}}
    observed(installation, "customer", customer | {"address": {"line1": "Los Olmos de Peñaloza 12"}})
    observed(installation, "payment_intent", body_of("pi_1", 1190))
    observed(installation, "payment_intent", body_of("pi_2", 700, comment=f"{COMMENT} boleta 8", metadata={}))
    other = {"id": "cus_2", "name": OTHER_NAME, "tax_id": {"type": "cl_rut", "value": OTHER_RUT}}
    observed(installation, "payment_intent", body_of("pi_3", 500, customer=other, comment="hola",
             sender_account={"holder_id": OTHER_RUT}, metadata={}))  # fmt: skip
    refund = {"id": "re_1", "status": "failed", "amount": 10, "currency": "CLP", "resource_id": "pi_1",
              "created_at": "2026-09-10T15:00:00Z"}  # fmt: skip
    observed(installation, "refund", refund | {"comment": COMMENT, "mode": "test", "object": "refund"})
    for identity, payment in (("evt_1", "pi_1"), ("evt_2", "pi_2")):
        arrive(installation, event_of(identity, body_of(payment, 1190)))
    arrive(installation, event_of("evt_1", body_of("pi_1", 1190, comment=f"{COMMENT}!")))
    world.payout("po_1", 2340, *(("payment_intent", one, amount) for one, amount in
                 (("pi_1", 1190), ("pi_2", 700), ("pi_3", 500))))  # fmt: skip
    with store.connection() as connection:
        connection.execute(sa.update(core_of(PayoutItem)).values(body=json.dumps({"id": "x", "comment": COMMENT})))
    raw = json.dumps({"cliente": NAME, "direccion": "Los Olmos 12", "total": "1190"})
    mine = {"customer_tax_id": RUT, "customer_name": NAME, "raw": raw}
    world.invoice("7", 1190, order_ref=ORDER, **mine)
    world.invoice("8", 700, **mine)
    world.invoice("9", 500, customer_tax_id=OTHER_RUT, customer_name=OTHER_NAME)
    world.keep(OrderAnswer(connection="main", order_ref=ORDER, asked_on=DAY, asked_at=AT))
    world.keep(BankLine(
        connection="main", id="bank_1", account="123", booked_on=DAY, amount=1190, currency="CLP",
        text="TRANSF DE MARIA JOSE PENALOZA 12.345.678-5", reference=ACCOUNT, file_sha256="0" * 64,
    ))  # fmt: skip
    world.complete(datetime(2026, 9, 12, 6, tzinfo=UTC))
    (installation.settings.files_dir / "uploads" / "x").mkdir(parents=True)
    (installation.settings.files_dir / "uploads" / "x" / "file.csv").write_text(NAME, encoding="utf-8")
    main = installation.settings.connection("main")
    close_period(installation, main, until=DAY, as_of=DAY, signed=Signature("ana", f"con {NAME}", AT))
    archive.keep_nightly(installation, main, on=DAY, now=AT)
    filling.fill(installation, main)
    with store.transaction() as session:
        known = json.dumps({"payer": RUT, "amount": 1190})
        session.add(ExceptionRow(
            connection="main", id="ex_1", code="DUPLICATE_PAYMENT", severity="low", subject="pi_1", title="",
            opened_on=DAY, last_seen_on=DAY, currency="CLP", amount_at_risk=1, resource_id="pi_1", customer_name=NAME,
            state="resolved", note=f"Llamé a {NAME}", evidence=known, run_first="1", run_last="1",
        ))  # fmt: skip
        session.add(AuditEntry(at=AT, who="ana@tienda.cl", action="search", subject=f"q={RUT}"))
    return installation


def arrive(installation: Installation, body: bytes) -> Verdict:
    main = installation.settings.connection("main")
    arrival = read_arrival(body, connection=main, source="webhook", received_at=AT)
    with installation.store.connection() as connection:
        return record_all(connection, [arrival])[0]


def texts_of(installation: Installation) -> Iterator[tuple[str, str]]:
    """Yield all that is kept: each row of each table and each file, packed ones unpacked, the database as bytes."""
    with installation.store.reading() as session:
        for table in SQLModel.metadata.sorted_tables:
            for row in session.execute(sa.select(table)):
                for value in row:
                    yield table.name, unpacked(value) if isinstance(value, bytes) else str(value)
    for path in sorted(installation.settings.files_dir.rglob("*")):
        if path.is_file():
            yield path.name, unpacked(path.read_bytes())
    yield "meta", ""


def unpacked(content: bytes) -> str:
    if content.startswith(b"PAR1"):
        return str(pq.read_table(io.BytesIO(content)).to_pylist())
    if content.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive_:
            return "".join(archive_.read(name).decode("utf-8", "replace") for name in archive_.namelist())
    with suppress(zlib.error):
        return zlib.decompress(content).decode()
    text = content.decode("utf-8", "replace")
    return text + re.sub(r"\\u([0-9a-f]{4})", lambda found: chr(int(found[1], 16)), text)


def found_in(installation: Installation) -> set[tuple[str, str]]:
    return {(place, word) for place, text in texts_of(installation) for word in PLANTED if word in text}


def figures(installation: Installation) -> list[Any]:
    """All amounts, ids, counts and closed figures there are."""
    with installation.store.reading() as session:
        kept: list[Any] = [
            session.execute(sa.select(sa.func.count()).select_from(table)).scalar()
            for table in SQLModel.metadata.sorted_tables
            if table.name not in {"erasure", "erasure_mark", "erasing_key", "audit_entry", "shared_file", "search_row"}
        ]
        for table in SQLModel.metadata.sorted_tables:
            names = [column for column in table.c if isinstance(column.type, sa.BigInteger)]
            names += [column for column in table.c if column.name in {"raw_sha256", "meaning_sha256"}]
            if names and table.name != "order_answer":
                kept.append(sorted(map(str, session.execute(sa.select(*table.primary_key, *names)))))
        kept += [(row.id, row.summary) for row in session.exec(select(Run))]
        kept += sorted(session.execute(sa.select(core_of(ClosedFigure)).where(col(ClosedFigure.kind) != "exception")))
    return kept


@pytest.mark.both_databases
def test_nothing_of_the_person_is_left_and_every_figure_is(lived: Installation) -> None:
    """Rows, files, chunks and inputs of runs hold no word of theirs, and nothing of the other customer is missing."""
    before = figures(lived)
    assert {word for _, word in found_in(lived)} >= {RUT, "Peñaloza", "penaloza@", ACCOUNT, "Eulalia", "ZAPATO"}
    dry = call(lived, "erase", "12.345.678-5", "--dry-run", "--json")
    assert dry.exit_code == 0, dry.output
    shown = rows_of(dry)
    assert {row["place"] for row in shown} >= {"customer", "event", "event_conflict", "payment_intent", "refund",
        "local_invoice", "bank_line", "order_answer", "result_chunk", "runs", "reports", "audit_entry"}  # fmt: skip

    result = call(lived, "erase", "12.345.678-5", "--yes")
    assert result.exit_code == 0, result.output
    assert found_in(lived) == set()
    assert figures(lived) == before
    whole = "".join(text for _, text in texts_of(lived))
    assert OTHER_NAME in whole
    assert OTHER_RUT in whole


def test_the_next_run_finds_what_the_last_one_found(lived: Installation) -> None:
    """Equal words became equal ones, so the rules match the same rows, and no closed figure gets an adjustment."""
    with lived.store.reading() as session:
        (first,) = session.exec(select(Run))
    assert call(lived, "erase", RUT, "--yes").exit_code == 0
    assert call(lived, "reconcile", "--as-of", DAY).exit_code == 0
    with lived.store.reading() as session:
        newest = session.exec(select(Run).order_by(col(Run.number).desc()).limit(1)).one()
        assert session.exec(select(PeriodAdjustment)).all() == []
    assert newest.id != first.id
    before, after = (json.loads(run.summary) for run in (first, newest))
    assert {name: before[name] for name in before if name != "inputs"} == {
        name: after[name] for name in before if name != "inputs"
    }
    assert found_in(lived) == set()


def test_the_bytes_of_the_file_hold_nothing_either(lived: Installation) -> None:
    """Neither the database nor its log keeps what was overwritten, in any encoding that SQLite writes."""
    if not lived.store.is_sqlite:
        pytest.skip("a file of SQLite")
    assert call(lived, "erase", RUT, "--yes").exit_code == 0
    lived.store.close()
    path = Path(str(lived.store.url.database))
    for file in path.parent.glob(f"{path.name}*"):
        content = file.read_bytes()
        assert [word for word in (*PLANTED, "penaloza", "eulalia") if word.encode() in content] == []


@pytest.mark.both_databases
def test_later_facts_about_them_are_redacted_as_they_arrive(lived: Installation, tmp_path: Path) -> None:
    """A repeated event is a duplicate, a changed one a conflict; pulls and imports bring no word back."""
    assert call(lived, "erase", MAIL, "--yes").exit_code == 0
    body = event_of("evt_1", body_of("pi_1", 1190))
    assert arrive(lived, body) is Verdict.DUPLICATE
    assert arrive(lived, event_of("evt_1", body_of("pi_1", 1191))) is Verdict.CONFLICT
    assert arrive(lived, event_of("evt_9", body_of("pi_9", 300))) is Verdict.STORED
    observed(lived, "payment_intent", body_of("pi_1", 1190), AT + timedelta(days=1))
    observed(lived, "payment_intent", body_of("pi_9", 300, created_at="2026-09-11T15:00:00Z"), AT)
    observed(lived, "refund", {"id": "re_1", "status": "failed", "amount": 10, "currency": "CLP", "mode": "test",
             "object": "refund", "resource_id": "pi_1", "comment": COMMENT}, AT + timedelta(days=1))  # fmt: skip
    rows = (
        f"33,7,2026-09-01,{RUT},{NAME},1190,{ORDER}",
        f"33,10,2026-09-11,{RUT},{NAME},300,",
        f"33,11,2026-09-11,{OTHER_RUT},{OTHER_NAME},20,",
    )
    file = tmp_path / "books.csv"
    file.write_text(
        "doc_type,folio,issue_date,customer_tax_id,customer_name,total,order_ref\n" + "\n".join(rows), encoding="utf-8"
    )
    main = lived.settings.connection("main")
    outcome = import_invoices(lived, main, file)
    assert (outcome.added, outcome.changed, outcome.unchanged) == (2, 0, 1), outcome.rejects
    assert found_in(lived) == set()
    with lived.store.reading() as session:
        known = session.get_one(Event, ("main", "evt_9"))
        assert known.meaning_sha256 == meaning_sha256(read_object(event_of("evt_9", body_of("pi_9", 300))))
        payment = session.get_one(PaymentIntent, ("main", "pi_9"))
        document = session.get_one(LocalInvoice, ("main", "cl:33::10"))
        assert (payment.amount, payment.customer_tax_id) == (300, document.customer_tax_id)
        assert session.get_one(LocalInvoice, ("main", "cl:33::11")).customer_name == OTHER_NAME


def test_who_has_something_open_is_not_erased(lived: Installation) -> None:
    """A balance, a dispute and a refund under way are each named with their amount, and nothing is written."""
    world = World(lived.store)
    world.invoice("20", 4000, customer_tax_id=RUT, customer_name=NAME)
    observed(lived, "refund", {"id": "re_2", "status": "in_progress", "amount": 30, "currency": "CLP", "mode": "test",
             "object": "refund", "resource_id": "pi_1"})  # fmt: skip
    observed(lived, "dispute", {"id": "dp_1", "status": "in_review", "amount": 40, "currency": "CLP", "mode": "test",
             "object": "dispute", "resource_id": "pi_2"})  # fmt: skip
    before = figures(lived), found_in(lived)
    refused = call(lived, "erase", "cus_1", "--yes")
    assert refused.exit_code == 1
    assert refused.output == (
        "Error: cus_1 is not erased while this is open: cl:33::20 has a balance of 4000 CLP; "
        "dp_1 of 40 CLP is in_review; re_2 of 30 CLP is in_progress\n"
    )
    assert (figures(lived), found_in(lived)) == before


@pytest.mark.parametrize(
    ("person", "said"),
    [
        ("22222222-2", "no customer, payment or document bears 22222222-2"),
        ("nadie@correo.cl", "no customer, payment or document bears nadie@correo.cl"),
        ("66.666.666-6", "66.666.666-6 is a tax id of the public or of this merchant"),
    ],
)
def test_who_is_not_known_is_not_erased(lived: Installation, person: str, said: str) -> None:
    """An unknown tax id or mail, and one that stands for the public, are each one sentence."""
    refused = call(lived, "erase", person, "--yes")
    assert refused.exit_code == 1
    assert said in refused.output


@pytest.mark.both_databases
def test_evidence_and_statements_with_the_person_are_deleted(lived: Installation) -> None:
    """Files of the person's dispute and of an account that moved their money go; the request to review has none."""
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
    for sha256 in ("e" * 64, ""):
        world.keep(Evidence(connection="main", dispute_id="dp_1", name="a.pdf", size=1, sha256=sha256, state="sent",
                            who="ana", at=AT))  # fmt: skip
    for name in (f"evidence/{'e' * 64}", f"evidence/{'f' * 64}", "statements/acc_1.pdf", "statements/acc_2.pdf"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_bytes(b"%PDF-")
    erased = call(lived, "erase", RUT, "--yes")
    assert erased.exit_code == 0, erased.output
    files = [
        path.relative_to(root).as_posix() for name in ("evidence", "statements") for path in (root / name).iterdir()
    ]
    assert sorted(files) == [f"evidence/{'f' * 64}", "statements/acc_2.pdf"]
    with lived.store.reading() as session:
        documents = session.exec(select(StatementDocument).order_by(col(StatementDocument.statement_id))).all()
    assert [(one.path, one.problem) for one in documents] == [(None, "erased"), ("statements/acc_2.pdf", None)]


def test_a_night_that_runs_is_waited_for(lived: Installation) -> None:
    """A job that has read the data would write it again, so the command refuses and names it."""
    now = datetime.now(UTC)
    World(lived.store).keep(Tick(job="nightly:main", planned_at=now, state="running", worker="w", started_at=now,
                                 lease_until=now + timedelta(minutes=5)))  # fmt: skip
    refused = call(lived, "erase", RUT, "--yes")
    assert refused.exit_code == 1
    assert "nightly:main is running" in refused.output


def test_it_is_asked_twice_and_can_be_called_twice(lived: Installation) -> None:
    """Without a terminal it wants --yes; a second call says when it was, and the trail has no word of the person."""
    assert call(lived, "erase", RUT).exit_code == 2
    assert RUT in {word for _, word in found_in(lived)}
    assert call(lived, "erase", RUT, "--yes").exit_code == 0
    again = call(lived, "erase", RUT, "--yes")
    assert again.exit_code == 0
    assert "and nothing of it is kept" in again.output
    with lived.store.reading() as session:
        subjects = session.exec(select(AuditEntry.subject).where(AuditEntry.action == "erase")).all()
    assert [subject.split(" rows ")[0] for subject in subjects] == ["erasure 1", "erasure 1"]


def test_a_rerun_compares_amounts_and_outcomes(lived: Installation) -> None:
    """Inputs without the person are believed where the database says why, and the answer says what was compared."""
    assert call(lived, "erase", RUT, "--yes").exit_code == 0
    rerun = call(lived, "runs", "rerun", "1")
    assert rerun.exit_code == 0, rerun.output
    assert "a person was erased from it: only amounts and outcomes are compared" in rerun.output


# Dies at the beginning of a step, or right after it.
_KILLED = """
import os, signal, sys
from reports.erasing import erase
from cuadre import cli

def die(*given, **named):
    os.kill(os.getpid(), signal.SIGKILL)

owner, _, name = sys.argv[1].rpartition(".")
setattr(getattr(erase, owner) if owner else erase, name, die)
cli(["erase", "12345678-5", "--yes"])
"""


@pytest.mark.both_databases
@pytest.mark.parametrize("step", ["Erasing.drop_files", "Erasing.write", "finish"])
def test_a_killed_call_is_completed_by_the_next(lived: Installation, step: str) -> None:
    """Killed before files are touched, before rows are, or before the end: the same call again leaves no word."""
    before = figures(lived)
    url = lived.store.url.render_as_string(hide_password=False)
    program = start_apart("-c", _KILLED, step, database_url=url, data_dir=lived.settings.data_dir)
    assert program.wait(timeout=60) == -9
    again = call(lived, "erase", RUT, "--yes")
    assert again.exit_code == 0, again.output
    assert found_in(lived) == set()
    assert figures(lived) == before
    with lived.store.reading() as session:
        assert session.exec(select(Erasure).where(col(Erasure.finished_at).is_(None))).all() == []


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


def test_readers_see_a_word_where_a_name_stood(lived: Installation) -> None:
    """Reports, lists and explain say erased, in the reader's language; no cell is empty and no token is shown."""
    assert call(lived, "erase", RUT, "--yes").exit_code == 0
    explained = call(lived, "explain", "cl:33::7").output
    assert "erased" in explained
    assert "ERASED" not in explained
    (row,) = (one for one in rows_of(call(lived, "invoices", "list", "--json")) if one["doc_key"] == "cl:33::7")
    assert (row["customer_name"], row["customer_tax_id"], row["total"]) == ("erased", "erased", "1190")
    main = lived.settings.connection("main")
    made = catalogue.make_sheets(lived, Query("payout-detail", (main,), today=DAY, as_of=DAY))
    spanish = b"".join(files.pieces(made, Shape(Format.CSV, "cl", "es-CL"))).decode()
    assert spanish.count(";borrado;borrado;") == 2
    assert "ERASED" not in spanish
    assert OTHER_NAME in spanish


def test_every_column_of_text_is_declared() -> None:
    """A new column holds something of people or does not: personal.toml says which, and names no column twice."""
    undeclared, declared = [], read_declared()["none"]
    for table in SQLModel.metadata.sorted_tables:
        texts = {
            column.name for column in table.columns
            if isinstance(column.type, sa.String | sa.LargeBinary) or "Auto" in type(column.type).__name__
        }  # fmt: skip
        shared = declared["provider"] if table in objects_of_provider() else ""
        personal, none = set(columns_of(table)), {*shared.split(), *declared.get(table.name, "").split()}
        undeclared += [f"{table.name}.{name}" for name in texts - personal - none]
        undeclared += [f"{table.name}.{name} twice" for name in personal & none]
        undeclared += [f"{table.name}.{name} is not there" for name in (personal | none) - texts]
    assert undeclared == []


def test_what_is_kept_is_shown() -> None:
    """The command prints each place with what it holds, without settings or a database."""
    shown = CliRunner().invoke(Commands(), ["erase", "--kept", "--json"], obj=None)
    rows = {(row["place"], row["column"]): row["what"] for row in rows_of(shown)}
    assert rows["customer", "name"] == "name"
    assert rows["bank_line", "text"] == "what the bank wrote, names and tax ids"
    assert "CUADRE_RETENTION_DAYS" in rows["bodies of events and conflicts", ""]


def test_the_page_for_operators_names_every_place() -> None:
    """docs/operate.md has each table and folder that holds something of people."""
    page = (ROOT / "docs" / "operate.md").read_text("utf-8").partition("## Personal data")[2].partition("## Backups")[0]
    declared = read_declared()
    assert [name for name in (*declared["tables"], *declared["files"]) if f"`{name}`" not in page] == []


def test_bank_files_that_overlap_bring_no_line_twice(lived: Installation, tmp_path: Path) -> None:
    """A file that begins with days known before still knows its lines, though their words are gone here."""
    head, account = "fecha,monto,descripcion,referencia", "00012345678"
    line = f"2026-09-10,1190,TRANSF DE MARIA JOSE PENALOZA 12.345.678-5,{ACCOUNT}"
    first, second = tmp_path / "1.csv", tmp_path / "2.csv"
    first.write_text(f"{head}\n{line}\n2026-09-11,5,otro,\n", encoding="utf-8")
    second.write_text(f"{head}\n{line}\n2026-09-11,5,otro,\n2026-09-12,9,pago 12.345.678-5,\n", encoding="utf-8")
    imported = call(lived, "bank", "import", first, "--account", account)
    assert imported.exit_code == 0, imported.output
    assert call(lived, "erase", RUT, "--yes").exit_code == 0
    result = call(lived, "bank", "import", second, "--account", account, "--json")
    assert result.exit_code == 0, result.output
    assert (row_of(result)["added"], row_of(result)["known"]) == (1, 2)
    assert found_in(lived) == set()


def test_old_entries_of_staff_go(lived: Installation) -> None:
    """What a class keeps for so many days is deleted after them, and without a number of days it stays."""
    settings = lived.settings.model_copy(update={"retention_trail_days": 30})
    assert forget_old(lived, now=AT + timedelta(days=31)) == "0 entries of staff"
    changed = Installation(settings, lived.store)
    assert forget_old(changed, now=AT + timedelta(days=29)) == "0 entries of staff"
    assert forget_old(changed, now=AT + timedelta(days=31)) == "1 entries of staff"


def test_pages_say_it_in_the_reader_s_language(
    lived: Installation, bare_app: Flask, login: Callable[[Flask], FlaskClient]
) -> None:
    """The page of a document and of a payout have the word where a name stood, and no token."""
    assert call(lived, "erase", RUT, "--yes").exit_code == 0
    client = login(bare_app)
    for address in ("/documents/main/cl:33::7", "/payouts/po_1", "/exceptions"):
        page = client.get(address)
        assert page.status_code == 200, address
        assert "ERASED" not in page.get_data(as_text=True), address
        assert "999" not in page.get_data(as_text=True).replace("#999", ""), address
    assert "borrado" in client.get("/documents/main/cl:33::7").get_data(as_text=True)
