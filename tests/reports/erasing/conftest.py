"""A closed month of two customers, and what of one of them can be found in it."""

import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa
from click.testing import CliRunner, Result
from pydantic import SecretStr
from sqlmodel import col, select

from consumer.facts.installation import Installation
from consumer.facts.settings import Settings
from consumer.facts.store import Store
from consumer.facts.tables.orders import OrderAnswer
from consumer.facts.tables.provider import PayoutItem
from consumer.facts.tables.types import core_of
from consumer.facts.versions import merge_all
from consumer.inbox.record import Verdict, read_arrival, record_all
from consumer.provider.rows import Observation, observe
from cuadre import Commands
from reconcile.desk.decisions import Signature
from reconcile.runs.close_period import close_period
from reconcile.tables.books import BankLine
from reconcile.tables.closing import ClosedFigure
from reconcile.tables.desk import ExceptionRow
from reconcile.tables.runs import Run
from reports import archive
from reports.erasing.declared import list_tables
from reports.search import filling
from reports.tables import AuditEntry
from tests.reconcile.conftest import Prepare, World

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
def lived(installation: Installation, prepare: Prepare) -> Installation:
    """A closed month of two customers, told of in every place that keeps something of people."""
    prepare("a month to erase in", lambda: _live(installation))
    return installation


def _live(installation: Installation) -> str:
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
    return ""


def arrive(installation: Installation, body: bytes) -> Verdict:
    main = installation.settings.connection("main")
    arrival = read_arrival(body, connection=main, source="webhook", received_at=AT)
    with installation.store.connection() as connection:
        return record_all(connection, [arrival])[0]


def texts_of(installation: Installation) -> Iterator[tuple[str, str]]:
    """Yield all that is kept: each row of each table and each file, packed ones unpacked, the database as bytes."""
    with installation.store.reading() as session:
        for table in list_tables():
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
            for table in list_tables()
            if table.name not in {"erasure", "erasure_mark", "erasing_key", "audit_entry", "shared_file", "search_row"}
        ]
        for table in list_tables():
            names = [column for column in table.c if isinstance(column.type, sa.BigInteger)]
            names += [column for column in table.c if column.name in {"raw_sha256", "meaning_sha256"}]
            if names and table.name != "order_answer":
                kept.append(sorted(map(str, session.execute(sa.select(*table.primary_key, *names)))))
        kept += [(row.id, row.summary) for row in session.exec(select(Run))]
        kept += sorted(session.execute(sa.select(core_of(ClosedFigure)).where(col(ClosedFigure.kind) != "exception")))
    return kept
