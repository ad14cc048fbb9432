"""One run as a page: its figures, what it found, and what changed since another one."""

from collections.abc import Callable
from datetime import date

import pytest
from flask.testing import FlaskClient
from sqlmodel import Session

from consumer.facts.installation import Installation
from reconcile.tables.runs import PayoutResult, RunFinding
from reports.wording import phrases, stored
from tests.reports.pages.looking import text_of


@pytest.fixture
def two_runs(reconciled: Installation, keep_run: Callable[..., None], client: FlaskClient) -> FlaskClient:
    """The made-up run, and one of the day before in which the payout was open."""

    def keep(session: Session) -> None:
        keep_run(session, "main", "run-0", number=41, as_of=date(2026, 10, 7))
        columns = '{"status_recon": "open", "difference": -500, "fee_total": 2410}'
        session.add(PayoutResult(connection="main", run_id="run-0", payout_id="po_1", status_recon="open",
                                 difference=-500, columns=columns))  # fmt: skip
        session.add(RunFinding(connection="main", run_id="run-1", exception_id="00aa00aa00aa00aa",
                               code="PAYMENT_NO_INVOICE", severity="medium", subject="resource:pi_2",
                               amount_at_risk=50000, currency="CLP"))  # fmt: skip

    with reconciled.store.transaction() as session:
        keep(session)
    return client


def test_a_run_shows_what_it_found(two_runs: FlaskClient) -> None:
    """Its day, its figures and what it found by kind, with links to the rows."""
    page = text_of(two_runs, "/operation/runs/main/42")
    assert "Conciliación del 08-10-2026 (n.º 42) Completa" in page
    assert "Pago sin documento Media 1 50.000 CLP" in page
    assert "Conciliado 2" in page
    assert 'href="/operation/runs/main/42"' in two_runs.get("/operation/runs").get_data(as_text=True)


def test_two_runs_are_compared_when_asked(two_runs: FlaskClient) -> None:
    """Only a chosen run is compared with, and each change has both sides in the reader's words."""
    assert "Antes" not in text_of(two_runs, "/operation/runs/main/42")
    page = text_of(two_runs, "/operation/runs/main/42?before=41")
    assert "Cambios desde: Conciliación del" in page
    assert "Liquidación po_1 Abierta, diferencia -500, comisiones 2.410 Cuadra, diferencia 0" in page
    assert "No hay una conciliación anterior" in text_of(two_runs, "/operation/runs/main/41")


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/operation/runs/main/42?before=99", 400),
        ("/operation/runs/main/7", 404),
        ("/operation/runs/other/42", 404),
    ],
)
def test_a_run_that_is_not_there_is_told(two_runs: FlaskClient, path: str, status: int) -> None:
    """A wrong number or connection is no page."""
    assert two_runs.get(path).status_code == status


def test_since_yesterday_counts_what_the_links_show(two_runs: FlaskClient) -> None:
    """The morning page compares with the last run of an earlier day, each number as long as its list."""
    page = text_of(two_runs, "/")
    assert "Qué cambió Desde la conciliación del 07-10-2026" in page
    assert "1 liquidación llegó y cuadra" in page


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("key:order_ref:part", "clave: pedido, una parte del saldo"),
        ("set:2:only_one", "varios documentos: 2, el único que suma"),
        ("set:by_chance", "varios documentos: el único, y puede ser casualidad"),
        ("a rule of tomorrow", "a rule of tomorrow"),
    ],
)
def test_rules_are_told_in_words(said: str, shown: str) -> None:
    """A rule's name is read as a sentence; an unknown one stays as it is."""
    assert phrases.rule(said, "es-CL") == shown


def test_figures_of_a_run_keep_their_currency() -> None:
    """Minor units become amounts, also where there are cents."""
    document = 'figure.document_of_run {"outcome":"partly_paid","balance":1050}'
    assert stored.sentence(document, "en", "MXN") == "Partly paid, balance 10.50"
    exception = 'figure.exception {"severity":"high","amount_at_risk":99900}'
    assert stored.sentence(exception, "es-CL", "CLP") == "Alta 99.900"
    total = 'figure.document {"total":1050,"currency":"MXN"}'
    assert stored.sentence(total, "es-MX", "CLP") == "total 10.50, moneda MXN"


def test_a_digest_is_told_by_its_beginning() -> None:
    """A cause names which program or rules changed without a line of digits."""
    text = 'cause.rules_code {"before":"0123456789abcdef0123","after":"fedcba9876543210fedc"}'
    assert stored.sentence(text, "es-CL") == "programa 01234567… → fedcba98…"


def test_an_identity_in_a_cause_stays_as_it_is() -> None:
    """A document's key with words, a day or many digits is no text to translate or shorten."""
    key = "cl:33:new fee (2026-10-31):1234567890123456"
    text = f'cause.documents_changed {{"id":"{key}"}}\ncause.items_new {{"id":"2026-10-31"}}'
    assert stored.sentence(text, "en") == f"document changed ({key}); item new (2026-10-31)"
    assert stored.sentence(text, "es-CL") == f"documento que cambió ({key}); movimiento nuevo (2026-10-31)"
