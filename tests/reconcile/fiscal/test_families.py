"""The family of a sale: who belongs to it, whether its instalments follow each other, and what is left of it."""

from pathlib import Path

import pytest

from consumer.facts.installation import Installation
from consumer.facts.settings import Connection
from reconcile.books.tax_intake import import_tax_files
from reconcile.fiscal.families import Family, facts_of_family, find_family
from reconcile.tables.books import LocalInvoice
from tests.reconcile.books.tax_texts import MERCHANT, OWN_RUT, PPD, TOTALS, UUIDS, cfdi, complement, dte, reference
from tests.reconcile.books.tax_texts import related as refer

KEYS = {letter: f"mx:uuid:{uuid}" for letter, uuid in UUIDS.items()}


def take(installation: Installation, folder: Path, country: str = "mx", **texts: str) -> None:
    for name, text in texts.items():
        encoding = "utf-8" if country == "mx" else "latin-1"
        (folder / f"{name}.xml").write_text(text, encoding=encoding)
    tax_id = MERCHANT if country == "mx" else OWN_RUT
    terms = {"name": "main", "api_key": "sk_test_one", "country": country, "tax_id": tax_id}
    import_tax_files(installation, Connection.model_validate(terms), [folder])


def family_of(installation: Installation, key: str) -> Family:
    with installation.store.reading() as session:
        family = find_family(session, "main", key)
    assert family is not None
    return family


def test_a_sale_with_substitute_note_and_complements_is_one_family(installation: Installation, tmp_path: Path) -> None:
    """From whichever member it is asked; the balance is total less valid complements and notes."""
    take(
        installation, tmp_path, old=cfdi("a", terms=PPD), new=cfdi("b", terms=PPD, related=refer("04", "a")),
        note=cfdi("c", kind="E", total="116.00", net="100.00", vat="16.00", related=refer("01", "b")),
        rep=complement("d", ("b", 1, "1160.00", "500.00", "660.00"), operation="87"),
        stranger=cfdi("e"),
    )  # fmt: skip
    family = family_of(installation, KEYS["b"])
    assert {one.doc_key: one.status for one in family.members} == {
        KEYS["a"]: "replaced", KEYS["b"]: "valid", KEYS["c"]: "valid", KEYS["d"]: "valid",
    }  # fmt: skip
    assert (family.roles_of(KEYS["b"]), family.roles_of(KEYS["c"])) == (["04"], ["01"])
    assert (family.at_tax_office, family.stated) == (116000 - 50000 - 11600, 66000)
    assert KEYS["d"] not in family.in_books
    assert {one.doc_key for one in family_of(installation, KEYS["a"]).members} == {KEYS["a"], KEYS["b"], KEYS["c"]}


def test_a_complement_of_two_sales_joins_no_sales(installation: Installation, tmp_path: Path) -> None:
    """Each sale has the complement, and not the other sale."""
    both = complement("d", ("a", 1, "1160.00", "500.00", "660.00"), ("b", 1, "1160.00", "10.00", "1150.00"))
    take(installation, tmp_path, a=cfdi("a", terms=PPD), b=cfdi("b", terms=PPD), d=both)
    assert [one.doc_key for one in family_of(installation, KEYS["a"]).members] == [KEYS["a"], KEYS["d"]]


@pytest.mark.parametrize(
    ("second", "breaks"),
    [
        (("a", 2, "660.00", "660.00", "0.00"), [None, None]),
        (("a", 2, "700.00", "660.00", "40.00"), [None, "balance_before"]),
        (("a", 2, "500.00", "500.00", "0.00"), [None, "balance_before"]),
        (("a", 2, "660.00", "600.00", "0.00"), [None, "balance_after"]),
        (("a", 3, "660.00", "660.00", "0.00"), [None, "instalment"]),
        (("a", 3, "700.00", "660.00", "40.00"), [None, "balance_before"]),
        # The second may only not be here.
        (("a", 3, "460.00", "460.00", "0.00"), [None, None]),
    ],
)
def test_instalments_follow_each_other(
    installation: Installation, tmp_path: Path, second: tuple[str, int, str, str, str], breaks: list[str | None]
) -> None:
    """Balance, part and rest are checked in the order of instalments, whichever file came first."""
    take(
        installation, tmp_path, a=cfdi("a", terms=PPD), b=complement("b", second),
        c=complement("c", ("a", 1, "1160.00", "500.00", "660.00")),
    )  # fmt: skip
    assert [one.breaks for one in family_of(installation, KEYS["a"]).chain] == breaks


def test_a_first_instalment_begins_at_the_total(installation: Installation, tmp_path: Path) -> None:
    """Any other balance breaks the chain at once."""
    take(installation, tmp_path, a=cfdi("a"), b=complement("b", ("a", 1, "1000.00", "500.00", "500.00")))
    assert [one.breaks for one in family_of(installation, KEYS["a"]).chain] == ["balance_before"]


def test_a_chilean_note_belongs_to_its_invoice(installation: Installation, tmp_path: Path) -> None:
    """A note that corrects text takes no amount; a note that voids takes all."""
    take(
        installation, tmp_path, "cl", a=dte("33", 15, totals=TOTALS),
        b=dte("61", 1, totals=TOTALS, references=reference("33", "15", "2")),
        c=dte("61", 2, totals=TOTALS, references=reference("33", "15", "1")),
    )  # fmt: skip
    family = family_of(installation, "cl:33::15")
    assert [one.doc_key for one in family.members] == ["cl:33::15", "cl:61::1", "cl:61::2"]
    assert (family.at_tax_office, family.stated) == (0, None)


def test_a_complement_and_a_note_of_several_sales_give_each_its_part(
    installation: Installation, tmp_path: Path
) -> None:
    """A complement as it states them, a note by the totals of the invoices; the books credit the same parts."""
    both = complement("d", ("a", 1, "1160.00", "500.00", "660.00"), ("b", 1, "580.00", "250.00", "330.00"))
    note = cfdi("c", kind="E", total="174.00", net="150.00", vat="24.00", related=refer("01", "a", "b"))
    half = cfdi("b", terms=PPD, total="580.00", net="500.00", vat="80.00")
    take(installation, tmp_path, a=cfdi("a", terms=PPD), b=half, c=note, d=both)
    for letter, balance, parts in (
        ("a", 116000 - 50000 - 11600, [11600, 50000]),
        ("b", 58000 - 25000 - 5800, [5800, 25000]),
    ):
        family = family_of(installation, KEYS[letter])
        assert family.at_tax_office == balance
        assert [family.part_of(one) for one in family.members if one.kind in {"E", "P"}] == parts
    with installation.store.reading() as session:
        row = session.get_one(LocalInvoice, ("main", KEYS["c"]))
        assert row.ref_number == f"{UUIDS['a']} {UUIDS['b']}"


def test_a_chilean_note_refers_to_several_invoices(installation: Installation, tmp_path: Path) -> None:
    """Each of its references that lowers an invoice counts, one that corrects text and an order do not."""
    references = "".join(
        reference(kind, folio, code) for kind, folio, code in
        [("33", "15", "3"), ("34", "16", "3"), ("33", "17", "2"), ("801", "99", "")]
    )  # fmt: skip
    exempt = "<MntExe>59500</MntExe><MntTotal>59500</MntTotal>"
    note = "<MntNeto>10000</MntNeto><IVA>1900</IVA><MntTotal>11900</MntTotal>"
    take(
        installation, tmp_path, "cl", a=dte("33", 15, totals=TOTALS), b=dte("34", 16, totals=exempt),
        c=dte("33", 17, totals=TOTALS), n=dte("61", 1, totals=note, references=references),
    )  # fmt: skip
    balances = [family_of(installation, key).at_tax_office for key in ("cl:33::15", "cl:34::16", "cl:33::17")]
    assert balances == [119000 - 7933, 59500 - 3967, 119000]
    with installation.store.reading() as session:
        row = session.get_one(LocalInvoice, ("main", "cl:61::1"))
        assert (row.ref_type, row.ref_number) == ("33 34", "15 16")


@pytest.mark.parametrize("stated", ["660.00", "544.00"])
def test_a_note_may_be_off_the_balance_or_not(installation: Installation, tmp_path: Path, stated: str) -> None:
    """Issuers do both: the chain follows, and the note is taken off once."""
    left = f"{float(stated) - 100:.2f}"
    take(
        installation, tmp_path, a=cfdi("a", terms=PPD), b=complement("b", ("a", 1, "1160.00", "500.00", "660.00")),
        c=cfdi("c", kind="E", total="116.00", net="100.00", vat="16.00", related=refer("01", "a")),
        d=complement("d", ("a", 2, stated, "100.00", left)),
    )  # fmt: skip
    family = family_of(installation, KEYS["a"])
    assert [one.breaks for one in family.chain] == [None, None]
    assert family.at_tax_office == 116000 - 50000 - 10000 - 11600


def test_an_instalment_in_another_currency_is_not_counted(installation: Installation, tmp_path: Path) -> None:
    """A part is stated in the invoice's currency; one that is not breaks the chain and pays nothing of it."""
    foreign = complement("b", ("a", 1, "1160.00", "500.00", "660.00")).replace('MonedaDR="MXN"', 'MonedaDR="USD"')
    take(installation, tmp_path, a=cfdi("a", terms=PPD), b=foreign)
    family = family_of(installation, KEYS["a"])
    assert ([one.breaks for one in family.chain], family.at_tax_office) == (["currency"], 116000)


def test_the_explanation_names_the_family(installation: Installation, tmp_path: Path) -> None:
    """Fact by fact, a broken chain aloud; of a document without XML it is silent."""
    take(
        installation, tmp_path, a=cfdi("a"), b=complement("b", ("a", 1, "1160.00", "500.00", "500.00"), operation="87")
    )
    with installation.store.reading() as session:
        facts = [(fact.name, str(fact)) for fact in facts_of_family(session, "main", KEYS["a"])]
        assert list(facts_of_family(session, "main", "mx:uuid:none")) == []
    assert [name for name, _ in facts] == [
        "state", "family", "instalment", "paid", "balance_by_documents", "balance_stated",
    ]  # fmt: skip
    assert "Payment CFDI, valid (mx:uuid:bbbbbbbb" in facts[1][1]
    assert "1 87 (broken: balance_after)" in facts[2][1]
