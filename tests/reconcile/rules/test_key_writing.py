"""Keys in other writing: separators, case, width and number signs do not change a name, unless two would become one."""

import json
from copy import deepcopy
from datetime import date
from random import Random
from typing import TYPE_CHECKING

import pytest

from reconcile.rules.names import fold, normalize

if TYPE_CHECKING:
    from tests.reconcile.rules.conftest import Case

ANA, BRUNO = "11111111-1", "22222222-2"
ORDER = "ORD-2026-005596"
SHOWN = ("outcome", "match_stage", "doc_key", "applied_amount")
UUID = "6f9619ff-8b86-4011-b42d-00c04fc964ff"


@pytest.mark.parametrize(
    "said",
    [
        "ORD 2026 005596",
        "ORD2026005596",
        "ord_2026_005596",
        "ORD/2026.005596",
        "#ORD-2026-005596",
        "No. ORD-2026-005596",
        "N° ORD 2026-005596",
        "Nº ord-2026-005596",
        "№ORD-2026-005596",
        "ＯＲＤ－２０２６－００５５９６",
        "ORD–2026–005596",
        "ORD\N{NO-BREAK SPACE}2026\N{NO-BREAK SPACE}005596",
    ],
)
def test_a_key_in_other_writing_names_its_document(case: "Case", said: str) -> None:
    """Separators equal each other and none; a number sign before the key and the width of letters say nothing."""
    case.invoice("1", 50_000, order_ref=ORDER)
    case.payment("pi_1", 50_000, metadata=json.dumps({"order_ref": said}))
    assert case.match().line("pi_1", *SHOWN) == ("matched", "key", "cl:33::1", 50_000)


@pytest.mark.parametrize(
    "said",
    [
        {"folio": "#0001042"},
        {"folio": "N° 1.042"},
        {"folio": "No.1042"},
        {"folio": "１０４２"},
        {"doc_type": "33", "folio": "N° 00-1042"},
        {"doc_type": "３３", "folio": "1042"},
        {"invoice": "cl:33::1.042"},
        {"invoice": "ped 1042"},
    ],
)
def test_folios_and_document_keys_are_read_in_other_writing_too(case: "Case", said: dict[str, str]) -> None:
    """Every namespace compares normalised, a folio without the zeros before it."""
    case.invoice("1042", 50_000)
    case.payment("pi_1", 50_000, metadata=json.dumps(said))
    assert case.match().line("pi_1", *SHOWN) == ("matched", "key", "cl:33::1042", 50_000)


def test_a_uuid_is_read_without_its_hyphens(mexican_case: "Case") -> None:
    """The hyphens of a UUID are separators like any other."""
    mexican_case.invoice("7", 116_000, doc_key=f"mx:uuid:{UUID}", doc_type="I", uuid=UUID)
    mexican_case.payment("pi_1", 116_000, metadata=json.dumps({"uuid": UUID.replace("-", "")}))
    assert mexican_case.match().line("pi_1", *SHOWN) == ("matched", "key", f"mx:uuid:{UUID}", 116_000)


@pytest.mark.parametrize(
    ("said", "stage", "doc"),
    [
        ("ORD-1/23", "key", "cl:33::1"),
        ("ord-12/3", "key", "cl:33::2"),
        ("ORD 123", "none", None),
        ("ORD-123", "none", None),
        ("ORD/1/23", "none", None),
    ],
)
def test_where_two_documents_would_bear_one_name_only_the_exact_writing_counts(
    case: "Case", said: str, stage: str, doc: str | None
) -> None:
    """`ORD-1/23` and `ORD-12/3` are both `ORD123` without separators, and so neither is."""
    case.invoice("1", 50_000, order_ref="ORD-1/23")
    case.invoice("2", 70_000, order_ref="ORD-12/3", customer_tax_id=BRUNO)
    case.payment("pi_1", 40_000, metadata=json.dumps({"order_ref": said}))
    assert case.match().line("pi_1", "match_stage", "doc_key") == (stage, doc)


def test_folios_that_would_become_one_are_told_apart(case: "Case") -> None:
    """Of `1-23`, `12-3` and `123` each is named by its own writing alone, zeros before it aside."""
    for place, folio in enumerate(("1-23", "12-3", "123")):
        case.invoice(folio, 50_000 + place, order_ref=None, customer_tax_id=None)
    for place, folio in enumerate(("001-23", "12-3", "0123", "1.23", "#123")):
        case.payment(f"pi_{place}", 90_000, metadata=json.dumps({"folio": folio}))
    matched = case.match()
    found = [matched.line(f"pi_{place}", "doc_key") for place in range(5)]
    assert found == [("cl:33::1-23",), ("cl:33::12-3",), ("cl:33::123",), (None,), (None,)]


def test_digits_grouped_in_another_way_are_another_name(case: "Case") -> None:
    """`ORD-12/3` is not in the books; `ORD-1/23` has the same signs and groups them otherwise."""
    case.invoice("1", 50_000, order_ref="ORD-1/23", customer_tax_id=BRUNO)
    case.payment("pi_1", 50_000, metadata='{"order_ref": "ORD-12/3"}')
    case.payment("pi_2", 50_000, metadata='{"order_ref": "ORD 1-23"}', occurred_at="2026-10-05T16:00:00Z")
    matched = case.match()
    assert matched.line("pi_1", "outcome", "match_stage") != ("matched", "key")
    assert matched.line("pi_2", *SHOWN) == ("matched", "key", "cl:33::1", 50_000)


def test_the_exact_writing_is_believed_before_another_one(case: "Case") -> None:
    """A key that is one document's own name is not a loose writing of another namespace's."""
    case.invoice("1", 50_000, order_ref="AB-12", customer_tax_id=None)
    case.invoice("2", 50_000, order_ref="AB12X", doc_key="AB12", customer_tax_id=None)
    case.payment("pi_1", 50_000, metadata='{"invoice": "AB-12"}')
    assert case.match().line("pi_1", *SHOWN) == ("matched", "key", "cl:33::1", 50_000)


def test_another_customers_document_in_other_writing_waits_for_a_person(case: "Case") -> None:
    """A loose key of another customer's document, while the payer's own asks for just that amount, is ambiguous."""
    case.invoice("1", 50_000, order_ref="ORD-1", customer_tax_id=BRUNO)
    case.invoice("2", 50_000, order_ref="ORD-2")
    case.payment("pi_1", 50_000, metadata='{"order_ref": "ord 1"}', sender_tax_id=ANA)
    assert case.match().line("pi_1", "outcome") == ("ambiguous",)


@pytest.mark.parametrize("said", ["---", " / ", "#", "No.", "N°", "_._", "０", "000", "\N{ZERO WIDTH SPACE}"])
def test_a_key_of_nothing_but_separators_is_no_key(case: "Case", said: str) -> None:
    """What is empty once normalised names no document, whatever stands in the books."""
    for place, empty in enumerate(("-", "__", "..")):
        case.invoice(empty, 50_000, doc_key=f"cl:33::9{place}", order_ref=f"{empty}{empty}", customer_tax_id=None)
    for name in ("order_ref", "folio", "uuid", "invoice"):
        case.payment(f"pi_{name}", 70_000, metadata=json.dumps({name: said, "doc_type": "33"}))
    matched = case.match()
    assert {matched.line(f"pi_{name}", "match_stage") for name in ("order_ref", "folio", "uuid", "invoice")} == {
        ("none",)
    }


def test_a_key_of_any_length_is_read(case: "Case") -> None:
    """Four hundred thousand characters are a name like any other."""
    case.invoice("1", 50_000, order_ref="ORD-" + "7" * 400_000)
    case.payment("pi_1", 50_000, metadata=json.dumps({"order_ref": "ord " + "7" * 400_000}))
    case.payment("pi_2", 50_000, metadata=json.dumps({"order_ref": "- " * 200_000}))
    matched = case.match()
    assert matched.line("pi_1", *SHOWN) == ("matched", "key", "cl:33::1", 50_000)
    assert matched.line("pi_2", "outcome") == ("no_document",)


def test_a_sale_missing_from_the_books_speaks_against_its_neighbour_in_other_writing(case: "Case") -> None:
    """`ord2026 009000` is of the make of `ORD-2026-005596` and is not it: tax id and amount do not decide."""
    case.invoice("1", 50_000, order_ref=ORDER, issue_date=date(2026, 10, 1))
    case.payment("pi_1", 50_000, metadata='{"order_ref": "ord2026 009000"}', sender_tax_id=ANA)
    assert case.match().line("pi_1", "outcome", "match_stage") == ("no_document", "none")


@pytest.mark.parametrize("seed", range(8))
def test_any_writing_of_keys_has_one_outcome(case: "Case", seed: int) -> None:
    """Other separators, case, width and signs before the keys give the lines that the books' own writing gives."""
    random = Random(seed)  # noqa: S311 - repeatable writing
    for number in range(12):
        case.invoice(str(number), 10_000 + number, order_ref=f"ORD-2026-{number:04}")
    orders = [random.randrange(14) for _ in range(20)]
    names = [f"ORD-2026-{order:04}" for order in orders]
    amounts = [10_000 + random.choice((order, order, order, 7)) for order in orders]
    lines = [_lines(deepcopy(case), spelt, amounts) for spelt in (names, [_respelt(random, name) for name in names])]
    assert lines[0] == lines[1]
    assert ("matched", "key") in {line[:2] for line in lines[0]}


def _lines(case: "Case", names: list[str], amounts: list[int]) -> list[tuple[object, ...]]:
    for place, (name, amount) in enumerate(zip(names, amounts, strict=True)):
        at = f"2026-10-05T15:{place:02}:00Z"
        case.payment(f"pi_{place}", amount, metadata=json.dumps({"order_ref": name}), sender_tax_id=ANA, occurred_at=at)
    run = case.run()
    return [run.line(f"pi_{place}", *SHOWN) for place in range(len(names))]


def _respelt(random: Random, name: str) -> str:
    parts = [random.choice((part, part.lower(), part.title())) for part in name.split("-")]
    said = "".join(part + random.choice(" -_/.–") * random.randrange(2) for part in parts[:-1]) + parts[-1]
    said = random.choice(("", "#", "No. ", "N°", "№ ")) + said
    wide = "".join(chr(ord(sign) + 0xFEE0) if "!" <= sign <= "~" else sign for sign in said)
    return random.choice((said, wide))


def test_normalising_twice_changes_nothing() -> None:
    """Whatever sign is folded is folded, and what is normal has no separator left, a raised or upright dash neither."""
    for sign in map(chr, [*range(0x3000), *range(0xFE30, 0x10000)]):
        assert fold(fold(sign)) == fold(sign)
        assert not set(normalize(f"a{sign}b")) & set(" -_/.\t\r\n")
    assert normalize("ORD\u207b1\ufe581") == "ORD11"


@pytest.mark.parametrize(
    ("said", "borne"),
    [
        ({"order_id": "5596.0"}, "55960"),
        ({"order_id": "5596.00"}, "559600"),
        ({"order_id": "５５９６．０"}, "55960"),
        ({"order_id": "55960"}, "5596.0"),
        ({"folio": "1.0"}, "x"),
        ({"doc_type": "33", "folio": "1.0"}, "x"),
    ],
)
def test_a_number_of_a_spreadsheet_is_not_ten_times_itself(case: "Case", said: dict[str, str], borne: str) -> None:
    """5596.0 is what a spreadsheet makes of 5596: without its separator it would be order 55960."""
    case.invoice("10", 50_000, order_ref=borne, customer_tax_id=BRUNO)
    case.payment("pi_1", 20_000, metadata=json.dumps(said))
    assert case.match().line("pi_1", "outcome", "doc_key") == ("no_document", None)
