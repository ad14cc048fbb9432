"""A made-up run of a Chilean and a Mexican merchant, and a client that is logged in."""

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
import sqlalchemy as sa
from argon2 import PasswordHasher
from flask import Flask
from flask.testing import FlaskClient
from jinja2.bccache import Bucket, BytecodeCache
from sqlmodel import Session, col
from werkzeug.routing import Rule

from consumer.errands import errands
from consumer.facts.installation import Connection, Installation
from consumer.facts.settings import Settings
from consumer.facts.store import Store
from consumer.facts.work import Errands
from reconcile.kept import chunks, extracts, packing
from reconcile.rules.inputs import BANK_RESULTS, DAY, DOCUMENT_RESULTS, MOMENT, TEXT, Result, Schema, to_types
from reconcile.rules.inputs import LINES as LINE_COLUMNS
from reconcile.runs.ordered_closing import carry_out
from reconcile.tables.desk import ExceptionRow
from reconcile.tables.runs import PayoutResult, ResultChunk, Run
from reports.access import people
from reports.access.people import Role, add_user, to_user
from reports.pages import register
from tests.merchant import settings_of
from tests.reports.tokens import read_token

FIGURES = {
    "payouts": 1,
    "payouts_closed": 1,
    "payouts_no_bank": 0,
    "items": 0,
    "items_by_outcome": {"matched": 2, "no_document": 1},
    "documents": 0,
    "exceptions": {},
    "ahead_of_data": False,
    "inputs": {},
    "tolerances": {"due_days": 30, "bank_amount_bps": 1000},
    "value_at_risk": {"CLP": {"amount": 100_000, "exceptions": 2}},
}
EMAIL, PASSWORD = "ana@tienda.test", "una clave larga"
FINISHED = datetime(2026, 10, 8, 6, 20, tzinfo=UTC)

MADE_UP: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parent.parent / "data" / "reports" / "made-up-run.json").read_text(encoding="utf-8")
)
SUMMARY, LINES, DOCUMENTS = MADE_UP["payout"], MADE_UP["lines"], MADE_UP["documents"]
_LINE: dict[str, Any] = {"account_last4": "2296", "currency": "CLP", "reference": None}
BANK = [
    {**_LINE, "bank_day": "2026-10-06", "amount_signed": 137_590, "description": "ABONO LIQUIDACION", "source": "both",
     "movement_id": "mov_1", "file_line_id": "line_1", "payout_id": "po_1"},
    {**_LINE, "bank_day": "2026-10-07", "amount_signed": 5_000, "description": "DEPOSITO EFECTIVO", "source": "file",
     "movement_id": "line_2", "file_line_id": "line_2", "payout_id": None},
]  # fmt: skip
_DAYS = ("opened_on", "last_seen_on", "resolved_on", "fact_on", "due_on")
EXCEPTIONS: list[dict[str, Any]] = [
    {key: date.fromisoformat(value) if key in _DAYS else value for key, value in row.items()}
    for row in MADE_UP["exceptions"]
]


def keep_run(session: Session, connection: str = "main", run_id: str = "run-1", **changes: Any) -> None:
    """Keep the made-up run; a test changes what it is about."""
    run: dict[str, Any] = {"as_of": date(2026, 10, 8), "complete": True, "number": 42, "scope_from": None}
    run |= {"summary": json.dumps(FIGURES), "calendar": "holidays cl"} | changes
    session.add(
        Run(
            connection=connection,
            id=run_id,
            started_at=FINISHED,
            finished_at=FINISHED,
            **run,
        )
    )


@pytest.fixture(name="keep_run")
def _keep_run() -> Callable[..., None]:
    return keep_run


def keep_payout(session: Session, payout_id: str = "po_1", **changes: Any) -> None:
    row = {**SUMMARY, "payout_id": payout_id, **changes}
    on = date.fromisoformat(row["payout_date"]) if row["payout_date"] else None
    session.add(
        PayoutResult(
            connection="main",
            run_id="run-1",
            payout_id=payout_id,
            payout_date=on,
            status_recon=row["status_recon"],
            difference=row["difference"],
            columns=json.dumps(row),
        )
    )


@pytest.fixture(name="keep_payout")
def _keep_payout() -> Callable[..., None]:
    return keep_payout


@pytest.fixture
def keep_mexican_payout() -> Callable[[Session], None]:
    """Keep a run of the connection `mexico` with one payout in its own currency."""

    def keep(session: Session) -> None:
        keep_run(session, "mexico", "run-7", number=7)
        row = {**SUMMARY, "payout_id": "po_mx", "country": "mx", "currency": "MXN"}
        session.add(
            PayoutResult(
                connection="mexico",
                run_id="run-7",
                payout_id="po_mx",
                payout_date=date(2026, 10, 6),
                status_recon="closed",
                difference=0,
                columns=json.dumps(row),
            )
        )

    return keep


def keep_results(session: Session, lines: Sequence[dict[str, Any]], documents: Sequence[dict[str, Any]]) -> None:
    """Keep lines and documents of the made-up run as a run does: as chunks of typed columns."""
    paid_out = {line["payout_id"] for line in lines if line["payout_id"]}
    shown = {"status": "succeeded", "payout_date": date(2026, 10, 6)}
    dates = [{"payout_id": payout_id, **shown} for payout_id in sorted(paid_out)]
    payouts = to_frame(dates, {"payout_id": TEXT, "status": TEXT, "payout_date": DAY})
    keyed = [line | {"doc_key": _key_of(line)} for line in lines]
    packed = (
        *packing.pack_lines(to_frame(keyed, LINE_COLUMNS), payouts),
        *packing.pack_documents(to_frame(documents, DOCUMENT_RESULTS)),
    )
    session.add_all([ResultChunk(connection="main", run_id="run-1", **chunk) for chunk in packed])


def _key_of(line: dict[str, Any]) -> str | None:
    return f"{line['doc_country']}:{line['doc_type']}::{line['doc_folio']}" if line["doc_folio"] else None


def take_out_of(session: Session, run_id: str = "run-1", bank: Sequence[dict[str, Any]] = BANK) -> None:
    """Keep beside the lines of a run what pages ask of it as a whole, as publishing does; what was kept is replaced."""
    drop_extracts(session)
    run = session.scalars(sa.select(Run).where(col(Run.id) == run_id)).one()
    asked = sa.select(col(PayoutResult.payout_id), col(PayoutResult.columns))
    payouts = [(row[0], row[1]) for row in session.execute(asked.where(col(PayoutResult.run_id) == run.id))]
    tables = (
        pa.concat_tables(chunks.tables(session, run, chunks.LINE)),
        extracts.payouts_of(payouts),
        pa.concat_tables(chunks.tables(session, run, chunks.DOCUMENT)),
    )
    lines, summary, documents = (table.to_pandas(types_mapper=pd.ArrowDtype) for table in tables)
    packed = extracts.pack(Result(summary, lines, documents, (), complete=True, bank=_to_bank(bank)))
    session.add_all([ResultChunk(connection=run.connection, run_id=run_id, **chunk) for chunk in packed])


def _to_bank(rows: Sequence[dict[str, Any]]) -> pd.DataFrame:
    return to_frame([{**row, "bank_day": pd.Timestamp(row["bank_day"])} for row in rows], BANK_RESULTS)


def drop_extracts(session: Session) -> None:
    """Leave a run as it was published before anything was taken out of it."""
    own = col(ResultChunk.kind).in_([chunks.LINE, chunks.DOCUMENT])
    session.execute(sa.delete(ResultChunk).where(~own))


@pytest.fixture
def take_out() -> Callable[[Installation], None]:
    """Take out again what pages ask of the made-up run as a whole, where a test has changed its rows."""

    def keep(installation: Installation) -> None:
        with installation.store.transaction() as session:
            take_out_of(session)

    return keep


@pytest.fixture
def keep_credits() -> Callable[[Installation], None]:
    """Keep the made-up run with two documents more that were paid too much, one on each side of what is owed."""

    def keep(installation: Installation) -> None:
        paid = {**DOCUMENTS[0], "outcome": "overpaid"}
        more = [
            {**paid, "doc_key": "cl:33::0001", "customer_tax_id": "10000000-1", "balance": -60_000},
            {**paid, "doc_key": "cl:33::9999", "customer_tax_id": "99999999-9", "balance": -40_000},
        ]
        with installation.store.transaction() as session:
            session.execute(sa.delete(ResultChunk))
            keep_results(session, LINES, [*DOCUMENTS, *more])

    return keep


@pytest.fixture
def as_before(reconciled: Installation) -> Installation:
    """The made-up run as it was published before anything was taken out of it."""
    with reconciled.store.transaction() as session:
        drop_extracts(session)
    return reconciled


def to_frame(rows: Sequence[dict[str, Any]], schema: Schema) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=list(schema))
    for name, dtype in schema.items():
        if dtype == MOMENT:
            frame[name] = pd.to_datetime(frame[name], utc=True, format="ISO8601")
    return to_types(frame, schema)


_MEXICAN = {
    "cl": "mx", "CLP": "MXN", "33": "I", "holidays cl": "holidays mx", "cartola.csv": "estado.csv",
    "11111111-1": "ROCA800101AB1", "12345678-5": "PEGA800101AB2",
}  # fmt: skip


def to_mexico(value: Any) -> Any:
    """Return made-up rows as those of a Mexican merchant: country, currency, kinds of documents, tax ids."""
    match value:
        case dict():
            return {to_mexico(name): to_mexico(one) for name, one in value.items()}
        case list():
            return [to_mexico(one) for one in value]
        case str():
            return _MEXICAN.get(value) or value.replace("cl:33:", "mx:I:").replace('"CLP"', '"MXN"')
    return value


def keep_everything(session: Session, where: Callable[[Any], Any] = lambda rows: rows) -> None:
    """Keep the made-up run and what it found; `where` makes it that of another country."""
    keep_run(session, summary=json.dumps(where(FIGURES)), calendar=where("holidays cl"))
    keep_payout(session, **where(SUMMARY))
    keep_results(session, where(LINES), where(DOCUMENTS))
    session.flush()
    take_out_of(session, bank=where(BANK))
    seen: dict[str, Any] = {"connection": "main", "run_first": "r1", "run_last": "r42", "currency": where("CLP")}
    session.add_all(ExceptionRow(**seen, **where(exception)) for exception in EXCEPTIONS)


_CHEAP = PasswordHasher(time_cost=1, memory_cost=64, parallelism=1)
_OF_UNKNOWN = _CHEAP.hash("nobody's")


def _hash_cheaply(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(people, "_hasher", _CHEAP)
    patch.setattr(people, "_OF_UNKNOWN", _OF_UNKNOWN)


@pytest.fixture(autouse=True)
def _cheap_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hash with little memory and time, since every page test logs in."""
    _hash_cheaply(monkeypatch)


@pytest.fixture(scope="session")
def filled_sqlite(migrated_sqlite: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the made-up run that tests copy, since filling it takes longer than most tests here."""
    path = Path(shutil.copy(migrated_sqlite, tmp_path_factory.mktemp("filled") / "filled.db"))
    store = Store(f"sqlite:///{path}")
    with pytest.MonkeyPatch.context() as patch:
        _hash_cheaply(patch)
        fill(store)
    store.close()
    return path


def keep_accounts(settings: Settings) -> None:
    """Write an account map with the chart of Chile."""
    settings.config_dir.joinpath("accounts.toml").write_text('chart = "cl"\n', encoding="utf-8")


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Let `both_databases` reach tests that ask for an installation alone."""
    names = metafunc.fixturenames
    if metafunc.definition.get_closest_marker("both_databases") and "installation" in names:
        names += [] if "database_kind" in names else ["database_kind"]


@pytest.fixture
def installation(settings: Settings, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Installation]:
    """An installation on SQLite, and on PostgreSQL too where a test asks for both."""
    is_filled = "reconciled" in request.fixturenames
    keep_accounts(settings)
    if request.getfixturevalue("database_kind") == "postgresql":
        store: Store = request.getfixturevalue("store")
        if is_filled:
            fill(store)
        yield Installation(settings=settings, store=store)
        return
    template = request.getfixturevalue("filled_sqlite" if is_filled else "migrated_sqlite")
    shutil.copy(template, tmp_path / "reports.db")
    store = Store(f"sqlite:///{tmp_path / 'reports.db'}")
    yield Installation(settings=settings, store=store)
    store.close()


@pytest.fixture
def reconciled(installation: Installation) -> Installation:
    """An installation whose books were reconciled once: one payout that ties out, one payment without a document."""
    return installation


@pytest.fixture
def two(reconciled: Installation, tmp_path: Path) -> Installation:
    """The Chilean books of the made-up run, and a Mexican connection beside them."""
    (tmp_path / "cuadre.toml").write_text(
        '[connections.mexico]\napi_key = "sk_test_mexico"\ncountry = "mx"\n', encoding="utf-8"
    )
    return Installation(settings=settings_of("http://provider.test", tmp_path), store=reconciled.store)


def fill(store: Store) -> None:
    with store.transaction() as session:
        keep_everything(session)
        add_user(session, to_user(EMAIL, PASSWORD, Role.ADMIN, now=FINISHED))


@pytest.fixture
def ana(store: Store) -> Store:
    """A store that knows Ana of finance."""
    with store.transaction() as session:
        add_user(session, to_user(EMAIL, PASSWORD, Role.FINANCE, now=FINISHED))
    return store


class _Compiled(BytecodeCache):
    """Templates that another application of this process has compiled."""

    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        if bucket.key in self._kept:
            bucket.bytecode_from_string(self._kept[bucket.key])

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._kept[bucket.key] = bucket.bytecode_to_string()


_COMPILED = _Compiled()


@pytest.fixture(autouse=True, scope="session")
def _routes_compiled_once() -> Iterator[None]:
    """Compile what builds a route's addresses once in a process: for each test's application it took half its time."""
    compile_builder = Rule._compile_builder
    kept: dict[tuple[object, ...], Callable[..., Any]] = {}

    def compile_once(rule: Rule, append_unknown: bool = True) -> Callable[..., Any]:  # noqa: FBT001, FBT002 - Werkzeug's own
        key = (rule.rule, rule.subdomain, str(rule.defaults), append_unknown)
        if key not in kept:
            kept[key] = compile_builder(rule, append_unknown)
        return kept[key]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Rule, "_compile_builder", compile_once)
        yield


def _make_app(installation: Installation, **more: Any) -> Flask:
    app = Flask("cuadre_test")
    app.config.update(TESTING=True, SECRET_KEY="only for tests")
    register(app, installation, **more)
    app.jinja_env.bytecode_cache = _COMPILED
    return app


def close_here(installation: Installation) -> Errands:
    """Return errands of which only closing is there, done at once and in this process."""

    def close(connection: Connection, order: Callable[[], None], _by: str) -> None:
        order()
        carry_out(installation, connection, lambda _step: None)

    return replace(errands(installation), close=close)


@pytest.fixture
def make_app() -> Callable[..., Flask]:
    return _make_app


@pytest.fixture
def app(reconciled: Installation) -> Flask:
    return _make_app(reconciled)


@pytest.fixture
def bare_app(installation: Installation) -> Flask:
    """An application whose books were never reconciled."""
    with installation.store.transaction() as session:
        add_user(session, to_user(EMAIL, PASSWORD, Role.ADMIN, now=FINISHED))
    return _make_app(installation)


@pytest.fixture
def stranger(app: Flask) -> FlaskClient:
    return app.test_client()


@pytest.fixture
def csrf() -> Callable[..., str]:
    """Read the token of a page's form, as a browser would send it back."""
    return read_token


@pytest.fixture
def login() -> Callable[..., FlaskClient]:
    """Log in through the form and give the browser."""
    return _login


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    """A browser whose reader has logged in."""
    return _login(app)


def _login(app: Flask, email: str = EMAIL, password: str = PASSWORD) -> FlaskClient:
    client = app.test_client()
    form = {"email": email, "password": password, "csrf_token": read_token(client)}
    assert client.post("/login", data=form).status_code == 302
    return client
