"""The catalogue: how its reports sort and what their columns are called; the reference lists them."""

from consumer.facts.columns import Column, Kind
from consumer.facts.messages import LANGUAGES
from reports.shapes.definitions import CATALOGUE, label_of


def test_every_report_sorts_by_its_own_columns() -> None:
    """A sort key is a column of the report, so a file shows why its rows are in this order."""
    strays = [
        (d.name, key)
        for d in CATALOGUE.values()
        for key in d.sort
        if key not in d.names and (d.name, key) != ("payout-detail", "payout_date")
    ]
    assert strays == []


def test_labels_of_one_report_differ() -> None:
    """Two columns of one sheet never bear the same label, so a reader and a filter can tell them apart."""
    for definition in CATALOGUE.values():
        for language in LANGUAGES:
            labels = [label_of(definition.name, name, language) for name in definition.names]
            assert len(set(labels)) == len(labels), (definition.name, language)


def test_mexican_words_differ_where_mexico_says_it_otherwise() -> None:
    """A Mexican reader finds RFC and importe where a Chilean one finds RUT and monto."""
    assert label_of("documents", "customer_tax_id", "es-CL") == "RUT del cliente"
    assert label_of("documents", "customer_tax_id", "es-MX") == "RFC del cliente"
    assert label_of("transfers", "amount", "es-MX") == "Importe"


def test_a_list_says_a_heading_its_own_way() -> None:
    """What an event is about may be any object; in a report the same column holds an item."""
    assert label_of("events", "resource_id", "es-CL") == "Objeto"
    assert label_of("payout-detail", "resource_id", "es-CL") == "Movimiento"


def test_a_name_means_a_count_in_one_report_and_money_in_another() -> None:
    """`payments` of a document are how many, those of a day's balance how much."""
    assert Column("payments", Kind.INT) in CATALOGUE["documents"].columns
    assert Column("payments", Kind.MONEY) in CATALOGUE["clearing-rollforward"].columns
