"""A merchant in Chile and Mexico: two connections in one file, each in its own currency, one without a run yet."""

import re
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from click.testing import CliRunner
from flask import Flask
from flask.testing import FlaskClient
from sqlmodel import Session

from consumer.facts.installation import Installation
from reports.commands.report import report
from reports.making import catalogue
from reports.output import files
from reports.output.export import Format
from reports.pages import register
from reports.queries.query import Query


@pytest.fixture
def with_mexico(two: Installation, keep_mexican_payout: Callable[[Session], None]) -> Installation:
    with two.store.transaction() as session:
        keep_mexican_payout(session)
    return two


def test_each_row_has_its_own_currency(with_mexico: Installation) -> None:
    """Pesos of Mexico have centavos beside pesos of Chile that have none."""
    query = Query("payout-summary", with_mexico.connections(None), today=date(2026, 10, 8))
    report = catalogue.make(with_mexico, query)
    text = b"".join(files.pieces([report], files.to_shape("csv", None, None))).decode()
    rows = [dict(zip(text.splitlines()[0].split(","), line.split(","), strict=True)) for line in text.splitlines()[1:]]
    assert [(row["connection"], row["currency"], row["payout_amount"]) for row in rows] == [
        ("main", "CLP", "137590"),
        ("mexico", "MXN", "1375.90"),
    ]
    assert files.name_of(report, Format.CSV) == ("payout-summary_2026-10-08_cl-mx_main-mexico_r0042-r0007.csv")


def test_a_connection_without_a_run_is_said_and_exits_3(
    two: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is there is made; what is missing is named, and the script sees it."""
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(report, ["control", "--as-of", "2026-10-08", "--out", "-"], obj=lambda: two)
    assert result.exit_code == 3
    assert result.stderr == "no finished run of mexico: cuadre reconcile\n"
    assert result.stdout.startswith("figure,source,")


def test_a_tax_id_is_called_as_its_country_does(
    with_mexico: Installation, make_app: Callable[..., Flask], login: Callable[..., FlaskClient]
) -> None:
    """Rows of both countries stand under both names, those of one country under its own, whoever reads them."""
    client = login(make_app(with_mexico))
    for asked, heading in (("", "RUT o RFC del cliente"), ("?connection=main", "RUT del cliente"),
                           ("?connection=mexico", "RFC del cliente")):  # fmt: skip
        page = client.get(f"/view/documents{asked}").get_data(as_text=True)
        assert re.search(rf"\b{heading}", page), asked
        assert ("RUT" in heading, "RFC" in heading) == tuple(
            bool(re.search(rf"{word}[^<]* del cliente", page)) for word in ("RUT", "RFC")
        ), asked


def test_pages_name_the_connection_and_filter_by_it(
    with_mexico: Installation, login: Callable[..., FlaskClient]
) -> None:
    """Lists of several connections say which row is whose."""
    app = Flask("cuadre_two")
    app.config.update(TESTING=True, SECRET_KEY="only for tests")
    register(app, with_mexico)
    client = login(app)
    for path in ("/", "/payouts", "/exceptions", "/view/receivables", "/operation/runs", "/reports", "/settings"):
        assert client.get(path).status_code == 200, path
    page = client.get("/payouts").get_data(as_text=True)
    assert "<td>mexico</td>" in page
    assert "1.375,90" in page
    only = client.get("/payouts?connection=mexico").get_data(as_text=True)
    assert "po_mx" in only
    assert "po_1<" not in only
