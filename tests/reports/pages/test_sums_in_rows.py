"""What a page shows of a payout or of what customers owe adds up in front of the reader."""

import io
import re
from collections.abc import Callable
from datetime import date

import openpyxl
import pytest
import sqlalchemy as sa
from flask.testing import FlaskClient
from sqlmodel import Session

from consumer.facts.installation import Installation
from reconcile.tables.desk import ExceptionRow
from tests.reports.pages.looking import text_of

# 150,000 less 10,000 plus 4,000 less 7,000 less 2,410 is 134,590; the provider paid 590 less.
PARTS = {
    "refund_adjustments": 4_000,
    "disputes": 7_000,
    "computed_amount": 134_590,
    "payout_amount": 134_000,
    "difference": -590,
}


@pytest.fixture
def with_disputes(reconciled: Installation, client: FlaskClient, keep_payout: Callable[..., None]) -> FlaskClient:
    """The made-up run, and a payout with a failed refund, a lost dispute and a difference."""

    def keep(session: Session) -> None:
        keep_payout(session, "po_2", **PARTS)

    with reconciled.store.transaction() as session:
        keep(session)
    return client


def _cells(text: str, tag: str) -> list[tuple[str, str]]:
    """Read the cells of a row: the classes and the text of each."""
    found = re.findall(rf"<{tag}([^>]*)>(.*?)</{tag}>", text, re.DOTALL)
    return [(classes, re.sub(r"<[^>]*>", "", content).strip()) for classes, content in found]


def _row(page: str, name: str) -> dict[str, str]:
    """Read one payout's row by its headings, a heading that only a phone shows with a star."""
    table = next(part for part in page.split("<table") if "Liquidado" in part and name in part)
    heads = _cells(table.split("</thead>")[0], "th")
    row = next(part for part in table.split("<tr>") if f">{name}<" in part)
    cells = _cells(re.sub(r"(</?)th", r"\1td", row), "td")
    assert len(cells) == len(heads)
    return {
        head + ("*" if "phone" in classes else "") + ("~" if "wide" in classes else ""): text
        for (classes, head), (_, text) in zip(heads, cells, strict=True)
    }


def _number(text: str) -> int:
    return int(text.removesuffix(" CLP").replace(".", "").replace("−", "-"))


def test_a_row_of_the_list_adds_up(with_disputes: FlaskClient) -> None:
    """The list of payouts shows every part with its sign, and their sum is what the provider paid."""
    table = with_disputes.get("/payouts").get_data(as_text=True).split("<table")[1]
    heads, row = _cells(table.split("</thead>")[0], "th"), _cells(table.split("<tbody>")[1].split("</tr>")[0], "td")
    shown = [
        (head, _number(text)) for (_, head), (_, text) in zip(heads, row, strict=True) if re.match("[−+=]|P", head)
    ]
    assert shown == [
        ("Pagos brutos", 150_000), ("+ Cargos brutos", 0), ("− Reembolsos", 10_000), ("+ Reembolsos rechazados", 0),
        ("− Contracargos perdidos", 0), ("− Comisión total", 2_410), ("+ Diferencia", 0),
        ("= Monto liquidado", 137_590),
    ]  # fmt: skip


def test_what_came_back_is_told_apart_in_the_total(
    reconciled: Installation, client: FlaskClient, keep_payout: Callable[..., None], take_out: Callable[..., None],
    csrf: Callable[..., str],
) -> None:  # fmt: skip
    """A payout that came back is paid again by another: page, workbook and a pinned view say the total without it."""
    with reconciled.store.transaction() as session:
        keep_payout(session, "po_2", status="returned", status_recon="returned")
        keep_payout(session, "po_3", status="canceled", status_recon="canceled")
    take_out(reconciled)
    page = text_of(client, "/payouts?columns=payout_id,payout_amount")
    assert "Total CLP 412.770 Sin las devueltas o canceladas CLP 137.590" in page
    assert "Sin las devueltas" not in text_of(client, "/payouts?status=closed")
    file = client.get("/reports/payout-summary.xlsx?profile=cl&columns=payout_id,payout_amount").data
    rows = openpyxl.load_workbook(io.BytesIO(file))["Parámetros"].iter_rows(values_only=True)
    sums = {row[0]: row[1] for row in rows if "Monto liquidado" in str(row[0])}
    assert sums == {
        "Suma: Monto liquidado CLP": 412_770,
        "Suma, sin las devueltas o canceladas: Monto liquidado CLP": 137_590,
    }
    form = {"csrf_token": csrf(client, "/payouts"), "is_pinned": "yes"}
    for view, asked in (("Todas", ""), ("Devueltas", "status=returned")):
        client.post("/saved/payout-summary", data=form | {"view": view, "asked": asked})
    assert "Devueltas 1 $137.590 CLP Todas 3 $137.590 CLP Sin las devueltas o canceladas" in text_of(client, "/")


def test_a_row_of_a_payout_adds_up(with_disputes: FlaskClient) -> None:
    """The parts by their signs are the amount paid out: on a wide page one by one, on a phone as one sum."""
    row = _row(with_disputes.get("/").get_data(as_text=True), "po_2")
    parts = {name.rstrip("~"): _number(text) for name, text in row.items() if re.match(r"[−+=]|Bruto|Suma", name)}
    assert parts == {
        "Bruto": 150_000, "− Reembolsos": 10_000, "+ Reembolsos rechazados": 4_000, "− Contracargos perdidos": 7_000,
        "− Comisiones": 2_410, "Suma*": 134_590, "+ Diferencia": -590, "= Liquidado": 134_000,
    }  # fmt: skip
    signs = {"−": -1, "+": 1, "B": 1}
    wide = {name: amount for name, amount in parts.items() if not name.endswith("*") and name[0] != "="}
    assert sum(signs[name[0]] * amount for name, amount in wide.items()) == parts["= Liquidado"]
    narrow = [name for name in row if not name.endswith("~") and re.match(r"[−+]|Suma", name)]
    assert narrow == ["Suma*", "+ Diferencia"]
    assert sum(_number(row[name]) for name in narrow) == 134_000


def test_the_walk_of_a_payout_adds_up(with_disputes: FlaskClient) -> None:
    """From gross to net every step stands with its sign, and their sum is the last row."""
    page = with_disputes.get("/payouts/po_2").get_data(as_text=True)
    walk = page.split('<table class="walk">')[1].split("</table>")[0]
    amounts = [
        _number(text) for classes, text in _cells(walk.split("<tbody>")[1], "td") if classes.startswith(' class="n')
    ]
    assert amounts == [150_000, -10_000, 4_000, -7_000, -2_410, -590, 134_000]
    assert sum(amounts[:-1]) == amounts[-1]


def test_what_is_missing_and_what_is_over_hide_each_other_nowhere(
    reconciled: Installation, client: FlaskClient, keep_payout: Callable[..., None]
) -> None:
    """Today adds up the differences of payouts that stand alike by their signs, and says what a sign means."""
    with reconciled.store.transaction() as session:
        for payout_id, difference in (("po_2", -590), ("po_3", 590), ("po_4", -10)):
            keep_payout(session, payout_id, status_recon="open", difference=difference)
    table = text_of(client, "/").split("Qué cuadra")[1].split("Qué está abierto")[0]
    assert "Liquidaciones Diferencia (falta) Diferencia (sobra)" in table
    assert "Abierta 3 -600 CLP 590 CLP" in table
    assert "si es negativa, falta dinero; si es positiva, sobra." in table


def test_credit_balances_are_a_section_of_their_own(
    reconciled: Installation,
    client: FlaskClient,
    take_out: Callable[[Installation], None],
    keep_credits: Callable[[Installation], None],
) -> None:
    """What customers paid too much lowers no total of what they owe: it stands below, with its own sum."""
    keep_credits(reconciled)
    take_out(reconciled)
    page = client.get("/view/receivables").get_data(as_text=True)
    owed, apart = page.split('<section id="credits">')
    assert 'Por cobrar</th><td class="n">50.000</td>' in owed
    assert "cl:33::1105" in owed
    assert "cl:33::0001" not in owed
    assert "cl:33::9999" not in owed
    assert "$-100.000" in apart.replace("-$", "$-")
    assert "cl:33::0001" in apart
    assert "cl:33::9999" in apart
    found = client.get("/view/receivables?doc_key=0001").get_data(as_text=True)
    assert "Por antigüedad" not in found
    assert "60.000" in found.split('<section id="credits">')[1]
    assert "cl:33::9999" not in found
    found = client.get("/view/receivables?doc_key=1105").get_data(as_text=True)
    assert 'Por cobrar</th><td class="n">50.000</td>' in found
    assert 'id="credits"' not in found


def test_the_figure_of_the_day_and_the_end_of_its_trend_are_of_one_run(
    reconciled: Installation, client: FlaskClient, finish: Callable[[Installation], None]
) -> None:
    """What people resolve after a run changes the list at once, and the figure with the trend at the next run."""
    finish(reconciled)
    page = client.get("/").get_data(as_text=True)
    figure = page.split("Monto en riesgo")[1].split("</div>")[0]
    trend = page.split("scroll tall")[1].split("<tbody>")[1].split("</tr>")[0]
    assert "$100.000" in figure
    assert "(n.º 42)" in figure
    assert trend.endswith('<td class="n">100.000</td>')
    assert 'href="/operation/runs/main/42"' in trend
    assert ">0</a>" in page.split("Excepciones abiertas")[1].split("</div>")[0]


@pytest.fixture
def finish() -> Callable[[Installation], None]:
    """Resolve everything that is open, as people would."""

    def keep(installation: Installation) -> None:
        with installation.store.transaction() as session:
            values = {"state": "resolved", "resolved_on": date(2026, 10, 8), "resolution": "settled"}
            session.execute(sa.update(ExceptionRow).values(values))

    return keep
