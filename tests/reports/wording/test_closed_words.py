"""The closed words of people's files: what a Spanish reader's transfers and payout items say."""

from datetime import date
from typing import Any

from consumer.facts.messages import word
from reports.shapes import build
from reports.shapes.build import Report
from reports.shapes.definitions import CATALOGUE
from reports.shapes.spans import Span
from reports.wording import cells
from reports.wording.evidence import RETURNS


def made(name: str, **values: Any) -> Report:
    row = {**dict.fromkeys(CATALOGUE[name].names), "connection": "main", "currency": "MXN", **values}
    table = build.to_table(CATALOGUE[name], [row], currency=lambda found: str(found["currency"]))
    return Report(CATALOGUE[name], table, Span(), date(2026, 10, 31), facts={})


def test_a_returned_transfer_is_told_in_spanish() -> None:
    """State and reason are words in people's files, as on the page; what is unknown stays as it is."""
    report = made("transfers", status="return_pending", return_label="balance limit exceeded", return_raw="LIMITE")
    (row,) = cells.in_words(report, "es-MX").table.to_pylist()
    assert (row["status"], row["return_label"], row["return_raw"]) == (
        "en devolución",
        "supera el límite de saldo",
        "LIMITE",
    )
    (row,) = cells.in_words(made("transfers", status="of_tomorrow"), "es-MX").table.to_pylist()
    assert row["status"] == "of_tomorrow"
    (row,) = cells.in_words(report, "en").table.to_pylist()
    assert (row["status"], row["return_raw"]) == ("being returned", "LIMITE")


def test_how_a_payment_was_made_is_told_in_spanish() -> None:
    """A payout's detail names means of payment as the settings page does."""
    (row,) = cells.in_words(made("payout-detail", resource_subtype="debit_card"), "es-CL").table.to_pylist()
    assert row["resource_subtype"] == "Tarjeta de débito"


def test_every_reason_of_a_return_has_its_spanish() -> None:
    """No label of the return codes reaches a Spanish page in English."""
    assert {label for label in RETURNS.values() if word("return", label, "es-MX") == label} == set()
