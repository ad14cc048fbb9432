"""Versions of the monthly F29: a rectified form stays beside its successor, and one of a month is in force."""

from datetime import timedelta
from typing import Any

import httpx
from pydantic import SecretStr
from sqlmodel import select

from consumer.facts.installation import Installation
from consumer.facts.settings import Settings
from consumer.facts.tables.provider import TaxStatement
from consumer.facts.tables.sync import StreamFinding
from consumer.facts.work import Completion
from consumer.health.doctor import examine
from consumer.provider.budget import Budget
from consumer.provider.client import Provider
from consumer.sync.outcomes import Outcome
from consumer.sync.pull import STREAMS, read_streams

TOKEN = "link_made_up_token_secret"


def form(number: int, *, status: str, period: str = "09", taxpayer: str = "111111111") -> dict[str, Any]:
    return {
        "id": f"taxstmt_{number}",
        "object": "tax_statement",
        "fiscal_year": 2026,
        "period": period,
        "interval_unit": "monthly",
        "status": status,
        "document_number": f"800{number}",
        "taxpayer": {"id": taxpayer, "name": "Made up"},
        "institution_tax_statement": {"total_debit": 100, "total_payment": 100},
    }


def pull(installation: Installation, settings: Settings, list_server: Any) -> Outcome:
    """Pull the F29 of one link, a day after the pull before."""
    list_server.now += timedelta(days=1)
    linked = settings.connection("main").model_copy(update={"link_tokens": (SecretStr(TOKEN),)})
    transport = httpx.MockTransport(list_server.answer)
    with Provider(linked, settings, Budget(installation.store, 100_000), transport=transport) as provider:
        return read_streams(installation, provider, [STREAMS["tax-statements"]])


def test_a_rectified_form_and_its_successor_are_both_kept(
    installation: Installation, settings: Settings, list_server: Any
) -> None:
    """The old one is void from then on, the new one in force; forms of other months and taxpayers are their own."""
    others = [form(8, status="Vigente", period="08"), form(9, status="Vigente", taxpayer="222222222")]
    list_server.lists["/v1/tax_statements"] = [form(1, status="Vigente"), *others]
    assert pull(installation, settings, list_server).status is Completion.DONE
    list_server.lists["/v1/tax_statements"] = [form(2, status="Vigente"), form(1, status="Anulada"), *others]
    outcome = pull(installation, settings, list_server)
    assert outcome.lines == ["main: tax-statements: complete, 4 read, 2 new or changed, 2 pages"]
    with installation.store.reading() as session:
        kept = select(TaxStatement.period, TaxStatement.document_number, TaxStatement.status)
        assert set(session.exec(kept)) == {
            ("2026-09", "8001", "Anulada"),
            ("2026-09", "8002", "Vigente"),
            ("2026-08", "8008", "Vigente"),
            ("2026-09", "8009", "Vigente"),
        }
        assert session.exec(select(StreamFinding)).all() == []


def test_two_forms_in_force_for_one_month_are_said(
    installation: Installation, settings: Settings, list_server: Any
) -> None:
    """The stream is whole and names month and folios, never the taxpayer or the link, until one of them is void."""
    list_server.lists["/v1/tax_statements"] = [form(2, status="Vigente"), form(1, status="Vigente")]
    outcome = pull(installation, settings, list_server)
    shown = "F29 of 2026-09: 2 forms are in force: 8001, 8002"
    assert outcome.lines == [f"main: tax-statements: complete, 2 read, 2 new or changed, 1 pages: {shown}"]
    with installation.store.reading() as session:
        assert [found.problem for found in session.exec(select(StreamFinding))] == [shown]
    checks = examine(installation, "main", transport=httpx.MockTransport(list_server.answer))
    assert [(check.found, check.advice) for check in checks if check.check == "sums"] == [
        (f"tax-statements: {shown}", "ask the provider; cuadre report tax-statements shows the month")
    ]
    list_server.lists["/v1/tax_statements"] = [form(2, status="Vigente"), form(1, status="Anulada")]
    pull(installation, settings, list_server)
    with installation.store.reading() as session:
        assert session.exec(select(StreamFinding)).all() == []
