"""The order check: what is asked of a real HTTP server and a real PostgreSQL, within its limits, and what is kept."""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from click.testing import CliRunner
from sqlmodel import select

from consumer.facts.installation import ConfigError, Installation
from consumer.facts.store import Store
from consumer.facts.tables.orders import OrderAnswer
from consumer.facts.work import Completion
from consumer.provider.orders import Limits
from consumer.sync.orders import check_orders
from cuadre import Commands
from tests.databases import make_database
from tests.merchant import rows_of, settings_of
from tests.reconcile.conftest import World

ON = date(2026, 9, 17)
SECRET = "a-token-nobody-else-knows"


@dataclass
class Shop:
    """A merchant's own system over HTTP: what it answers by path, and what it was asked."""

    answers: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    tokens: set[str | None] = field(default_factory=set)
    url: str = ""


@pytest.fixture
def shop() -> Iterator[Shop]:
    """A shop that delivered nothing and knows no order until a test says so."""
    own = Shop({"/delivered?since=2026-08-18&until=2026-09-18": (200, b"[]")})

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            own.asked.append(self.path)
            own.tokens.add(self.headers.get("Authorization"))
            status, content = own.answers.get(self.path, (404, b"no such order"))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    own.url = f"http://127.0.0.1:{server.server_port}"
    yield own
    server.shutdown()
    thread.join()
    server.server_close()


def installed(store: Store, folder: Path, **check: Any) -> Installation:
    settings = settings_of("http://provider.test", folder, overrides={"order_check": check})
    return Installation(settings=settings, store=store)


@pytest.fixture
def over_http(store: Store, tmp_path: Path, shop: Shop) -> Installation:
    order, delivered = f"{shop.url}/orders/{{order}}", f"{shop.url}/delivered?since={{since}}&until={{until}}"
    return installed(store, tmp_path, token=SECRET, order=order, delivered=delivered)


def pay(store: Store, identity: str, order: str, **given: Any) -> None:
    metadata = json.dumps({"order_ref": order})
    World(store).payment(identity, 1000, metadata_json=metadata, **given)


def quick(**given: Any) -> Limits:
    values: dict[str, Any] = {
        "rows": 100, "until": 10.0, "pause": 0.0, "clock": lambda: 0.0, "sleep": lambda _: None,
    }  # fmt: skip
    return Limits(**values | given)


def kept(installation: Installation) -> dict[str, tuple[date | None, int | None, str | None, date]]:
    with installation.store.reading() as session:
        rows = session.exec(select(OrderAnswer))
        return {row.order_ref: (row.delivered_on, row.amount, row.currency, row.asked_on) for row in rows}


def test_answers_over_http_are_kept_with_their_day(over_http: Installation, shop: Shop) -> None:
    """Delivered ones come as a list; each paid order that is not among them is asked for by its name, escaped."""
    for number, order in enumerate(("PED-1", "PED/2", "PED-3")):
        pay(over_http.store, f"pi_{number}", order)
    delivered = [{"order_ref": "PED-1", "delivered_on": "2026-09-16", "amount": "1000", "currency": "CLP"}]
    shop.answers["/delivered?since=2026-08-18&until=2026-09-18"] = (200, json.dumps(delivered).encode())
    shop.answers["/orders/PED%2F2"] = (200, b'{"delivered_on": "2026-09-12T10:00:00Z"}')
    done = check_orders(over_http, over_http.settings.connection("main"), ON, limits=quick())

    assert (done.status, done.lines) == (Completion.DONE, ["main: orders: 3 answers, as of 2026-09-17"])
    assert kept(over_http) == {
        "PED-1": (date(2026, 9, 16), 1000, "CLP", ON),
        "PED/2": (date(2026, 9, 12), None, None, ON),
        "PED-3": (None, None, None, ON),
    }
    assert shop.asked == ["/delivered?since=2026-08-18&until=2026-09-18", "/orders/PED-3", "/orders/PED%2F2"]
    assert shop.tokens == {f"Bearer {SECRET}"}


def test_an_order_is_asked_for_once_a_day_until_it_is_delivered(over_http: Installation, shop: Shop) -> None:
    """The same night asks again for the list alone; the next day asks for what is still missing."""
    main = over_http.settings.connection("main")
    pay(over_http.store, "pi_1", "PED-1")
    check_orders(over_http, main, ON, limits=quick())
    check_orders(over_http, main, ON, limits=quick())
    assert shop.asked.count("/orders/PED-1") == 1
    shop.answers["/orders/PED-1"] = (200, b'{"delivered_on": "2026-09-18"}')
    shop.answers["/delivered?since=2026-08-19&until=2026-09-19"] = (200, b"[]")
    check_orders(over_http, main, date(2026, 9, 18), limits=quick())
    assert kept(over_http)["PED-1"] == (date(2026, 9, 18), None, None, date(2026, 9, 18))


@pytest.mark.parametrize(
    ("path", "answer", "limits", "sentence"),
    [
        ("orders", (500, b""), {}, "127.0.0.1 answered 500 when it was asked for orders"),
        ("orders", (302, b""), {}, "127.0.0.1 answered 302 when it was asked for orders"),
        ("orders", (200, b"<html>"), {}, "an answer about orders is not the JSON that was asked for"),
        ("delivered", (200, b'[{"order_ref": "\xff"}]'), {}, "an answer about orders is not the JSON that was asked"),
        ("orders", (200, b'{"x":' + b"[" * 9999 + b"]" * 9999 + b"}"), {}, "is not the JSON that was asked for"),
        (
            "delivered",
            (200, b'[{"order_ref": "A", "amount": "9223372036854775808", "currency": "CLP"}]'),
            {},
            "amount is no amount",
        ),
        ("orders", (200, b'{"delivered_on": "soon"}'), {}, "row 1 of the orders: delivered_on is no date"),
        ("delivered", (200, b'[{"order_ref": 7}]'), {}, "row 1 of the orders: order_ref is no text of 1 to 255"),
        ("delivered", (200, b'[{"order_ref": "A", "amount": "x", "currency": "CLP"}]'), {}, "amount is no amount"),
        (
            "delivered",
            (200, b'[{"order_ref": "A"}, {"order_ref": "B"}]'),
            {"rows": 1},
            "more rows than [order_check]",
        ),
        ("delivered", (200, b"[]"), {"until": 0.0}, "longer than [order_check] seconds allows"),
    ],
)
def test_a_bad_answer_is_one_sentence_and_a_night_in_part(
    over_http: Installation, shop: Shop, path: str, answer: tuple[int, bytes], limits: dict[str, Any], sentence: str
) -> None:  # fmt: skip
    """The step says what is wrong, without the token or what was sent; nothing is invented."""
    pay(over_http.store, "pi_1", "PED-1")
    address = "/orders/PED-1" if path == "orders" else "/delivered?since=2026-08-18&until=2026-09-18"
    shop.answers[address] = answer
    done = check_orders(over_http, over_http.settings.connection("main"), ON, limits=quick(**limits))

    assert done.status is Completion.PARTLY_DONE
    assert done.lines[0].startswith("main: orders: ")
    assert sentence in done.lines[0]
    assert SECRET not in done.lines[0]
    assert "PED-1" not in kept(over_http)


def test_requests_keep_their_pace(over_http: Installation) -> None:
    """Between two requests passes the time that [order_check] per_second leaves."""
    slept: list[float] = []
    for number in range(3):
        pay(over_http.store, f"pi_{number}", f"PED-{number}")
    check_orders(over_http, over_http.settings.connection("main"), ON, limits=quick(pause=0.2, sleep=slept.append))
    assert slept == [0.2, 0.2, 0.2, 0.2]


def test_no_wait_is_longer_than_the_check(over_http: Installation) -> None:
    """A pace of one request an hour does not keep the night waiting beyond [order_check] seconds."""
    slept: list[float] = []
    limits = quick(pause=3600.0, until=10.0, sleep=slept.append)
    check_orders(over_http, over_http.settings.connection("main"), ON, limits=limits)
    assert slept == [10.0]


def test_null_is_an_order_that_was_not_delivered(over_http: Installation, shop: Shop) -> None:
    """A system may answer null in the place of 404 for an order that it does not know."""
    pay(over_http.store, "pi_1", "PED-1")
    shop.answers["/orders/PED-1"] = (200, b"null")
    assert check_orders(over_http, over_http.settings.connection("main"), ON, limits=quick()).status is Completion.DONE
    assert kept(over_http) == {"PED-1": (None, None, None, ON)}


@pytest.fixture
def over_sql(store: Store, tmp_path: Path, postgresql_url: str) -> Iterator[tuple[Installation, sa.Engine]]:
    """The merchant's orders in a PostgreSQL of its own."""
    with make_database(postgresql_url) as url:
        engine = sa.create_engine(url, poolclass=sa.NullPool)
        with engine.begin() as database:
            database.execute(sa.text("CREATE TABLE sale (ref text, sent date, total numeric, money text)"))
        order = "SELECT ref AS order_ref, sent AS delivered_on FROM sale WHERE ref IN :orders"
        delivered = (
            "SELECT ref AS order_ref, sent AS delivered_on, total AS amount, money AS currency FROM sale "
            "WHERE sent >= :since AND sent < :until"
        )
        yield installed(store, tmp_path, database=url, order=order, delivered=delivered), engine


def test_answers_in_sql_are_kept(over_sql: tuple[Installation, sa.Engine]) -> None:
    """Both questions in the merchant's own tables; an order that is not there was not delivered."""
    installation, engine = over_sql
    with engine.begin() as database:
        database.execute(
            sa.text("INSERT INTO sale VALUES ('PED-1', '2026-09-16', 1000, 'CLP'), ('PED-2', NULL, 5, 'CLP')")
        )
    for number in (1, 2, 3):
        pay(installation.store, f"pi_{number}", f"PED-{number}")
    done = check_orders(installation, installation.settings.connection("main"), ON)
    assert done.lines == ["main: orders: 3 answers, as of 2026-09-17"]
    assert kept(installation) == {
        "PED-1": (date(2026, 9, 16), 1000, "CLP", ON),
        "PED-2": (None, None, None, ON),
        "PED-3": (None, None, None, ON),
    }


@pytest.mark.parametrize(
    ("delivered", "seconds", "fault"),
    [
        ("SELECT 'x' AS order_ref, nextval('numbers') FROM sale WHERE :since < :until", 60, "ReadOnlySqlTransaction"),
        ("WITH gone AS (DELETE FROM sale RETURNING ref) SELECT ref FROM gone WHERE :since < :until", 60, "FeatureNot"),
        ("SELECT 'x' AS order_ref, pg_sleep(60) FROM sale WHERE :since < :until", 1, "QueryCanceled"),
        ("SELECT nothing FROM nowhere WHERE :since < :until", 60, "UndefinedTable"),
    ],
)
def test_a_question_in_sql_reads_alone_and_ends_in_time(
    over_sql: tuple[Installation, sa.Engine], tmp_path: Path, delivered: str, seconds: int, fault: str
) -> None:
    """One that writes, one that takes too long and one that is wrong are each a sentence that names the fault."""
    asked, engine = over_sql
    with engine.begin() as database:
        database.execute(sa.text("CREATE SEQUENCE numbers"))
        database.execute(sa.text("INSERT INTO sale VALUES ('PED-1', '2026-09-16', 1000, 'CLP')"))
    check = asked.settings.order_check
    assert check is not None
    assert check.database is not None
    address = check.database.get_secret_value()
    own = installed(asked.store, tmp_path, database=address, order=check.order, delivered=delivered, seconds=seconds)
    done = check_orders(own, own.settings.connection("main"), ON)
    assert done.status is Completion.PARTLY_DONE
    assert f"the database of orders refused a question ({fault}" in done.lines[0]
    with engine.connect() as database:
        assert database.execute(sa.text("SELECT count(*) FROM sale")).scalar() == 1


def test_a_database_that_is_not_there_is_a_sentence(store: Store, tmp_path: Path) -> None:
    """Neither the address nor the password of it is in what is said."""
    address = f"postgresql+psycopg://reader:{SECRET}@127.0.0.1:1/shop"
    order, delivered = "SELECT 1 WHERE 'x' IN :orders", "SELECT 1 WHERE :since < :until"
    own = installed(store, tmp_path, database=address, order=order, delivered=delivered)
    done = check_orders(own, own.settings.connection("main"), ON)
    assert done.lines == [
        "main: orders: 0 answers, as of 2026-09-17: the database of orders cannot be asked (OperationalError)"
    ]
    assert SECRET not in repr(own.settings)


def test_without_the_setting_nothing_is_asked(installation: Installation) -> None:
    """The check is off unless it is set, and asks for the one connection that it names."""
    done = check_orders(installation, installation.settings.connection("main"), ON)
    assert (done.status, done.lines) == (Completion.DONE, [])


def test_kept_answers_become_exceptions_of_the_next_run(over_http: Installation) -> None:
    """A run reads them as it reads everything else: asked again the same day, it is the same run."""
    pay(over_http.store, "pi_1", "PED-1")
    World(over_http.store).complete(datetime(2026, 9, 19, 6, tzinfo=UTC))
    main = over_http.settings.connection("main")
    check_orders(over_http, main, ON, limits=quick())

    def call(*words: str) -> list[dict[str, Any]]:
        return rows_of(CliRunner().invoke(Commands(), [*words, "--json"], obj=lambda: over_http))

    first = call("reconcile", "--as-of", "2026-09-17")[0]["run_id"]
    (found,) = (row for row in call("exceptions", "list") if row["code"] == "ORDER_NOT_DELIVERED")
    assert (found["resource_id"], found["amount_at_risk"]) == ("pi_1", "1000")
    check_orders(over_http, main, ON, limits=quick())
    assert call("reconcile", "--as-of", "2026-09-17")[0]["run_id"] == first


GOOD = {"order": "https://erp.test/o/{order}", "delivered": "https://erp.test/d?from={since}&to={until}"}
SQL = {"order": "SELECT 1 WHERE 'x' IN :orders", "delivered": "SELECT 1 WHERE :since < :until"}


@pytest.mark.parametrize(
    ("check", "sentence"),
    [
        ({"order": "https://erp.test/o"}, "order has no {order}"),
        ({"delivered": "https://erp.test/d?from={since}"}, "delivered has no {until}"),
        ({"order": "http://erp.test/o/{order}"}, "order must be an https address, or give a database"),
        ({"database": "mysql://x/y", **SQL}, "database must begin with postgresql+psycopg://"),
        ({"database": "postgresql+psycopg://x/y", **SQL, "order": "DELETE FROM o WHERE x IN :orders"}, "one SELECT"),
        ({"rows": 0}, "order_check.rows"),
        ({"per_second": 0}, "order_check.per_second"),
        ({"connection": "peru"}, "[order_check] connection: there is no connection 'peru'"),
        ({"orders": "x"}, "order_check.orders"),
    ],
)
def test_settings_that_cannot_be_asked_are_refused(
    check: dict[str, Any], sentence: str, refuses: Callable[[dict[str, Any]], str]
) -> None:
    """One line names the setting and what it must be."""
    assert sentence in refuses(GOOD | check)


@pytest.fixture
def refuses(tmp_path: Path) -> Callable[[dict[str, Any]], str]:
    """Return why settings are refused."""

    def read(check: dict[str, Any]) -> str:
        with pytest.raises(ConfigError) as refused:
            settings_of("http://provider.test", tmp_path, overrides={"order_check": check})
        return str(refused.value)

    return read
