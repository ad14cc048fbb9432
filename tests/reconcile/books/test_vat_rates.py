"""Rates of value added tax, as Mexican documents state them: in lines of both versions, and in complements."""

import pytest

from reconcile.books.vat_rates import RateSum, read_rates, write_rates
from tests.reconcile.books.tax_texts import cfdi, complement
from tests.reconcile.books.test_tax_documents import read

CASES = [
    ([], 0, 0, ""),
    ([RateSum("16", 100, 16)], 100, 16, ""),
    # A base that rounds by a centavo otherwise than what is left without the tax.
    ([RateSum("16", 43103, 6897)], 43104, 6897, ""),
    ([RateSum("16", 60, 10), RateSum("16", 40, 6)], 100, 16, ""),
    ([RateSum("8", 50, 4), RateSum("16", 50, 8)], 100, 12, "16:50:8 8:50:4"),
    ([RateSum("16", 50, 8)], 100, 8, "16:50:8 none:50:0"),
    ([], 100, 0, "none:100:0"),
]


@pytest.mark.parametrize(("sums", "base", "vat", "text"), CASES)
def test_sums_are_kept_as_a_short_text(sums: list[RateSum], base: int, vat: int, text: str) -> None:
    """Nothing where all of it is at the general rate; what the tax does not know stands apart."""
    assert write_rates(sums, base, vat) == text
    assert sum(one.base for one in read_rates(text)) in {0, base}


EIGHT = cfdi("a", vat="80.00", total="1080.00").replace("0.160000", "0.080000")
FREE = cfdi("a", vat="0.00", total="1000.00").replace('TipoFactor="Tasa" TasaOCuota="0.160000" Importe="0.00"',
                                                      'TipoFactor="Exento"')  # fmt: skip
PART = complement("d", ("a", 1, "1080.00", "500.00", "580.00"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (cfdi("a"), ("", 100000, 0)),
        (EIGHT, ("8:100000:8000", 100000, 0)),
        (FREE, ("", 0, 100000)),
        (
            FREE.replace("Exento", "Tasa").replace('"Tasa"', '"Tasa" TasaOCuota="0.000000" Importe="0"'),
            ("0:100000:0", 100000, 0),
        ),
    ],
)
def test_a_document_states_its_rates(text: str, said: tuple[str, int, int]) -> None:
    """By the node of each; what is exempt is a sum of its own."""
    found = read(text)
    assert (found.rates, found.net, found.exempt) == said


@pytest.mark.parametrize(
    ("text", "rates"),
    [
        (PART, ""),
        (PART.replace("0.160000", "0.080000"), "8:43103:6897"),
        (PART.replace('TipoFactorDR="Tasa" TasaOCuotaDR="0.160000" ImporteDR="68.965517"', 'TipoFactorDR="Exento"'),
         "exempt:43103:0 none:6897:0"),
    ],
)  # fmt: skip
def test_a_complement_states_them_of_each_part(text: str, rates: str) -> None:
    """What is exempt has no tax, and a part beyond all bases is not taxed at all."""
    (paid,) = read(text).payments
    assert paid.rates == rates
