"""The measurement on a marketplace's files, tried on five made-up orders of the same shape."""

from pathlib import Path

import pytest

from reconcile.rules.pipeline import reconcile
from tests.benchmarks.external.bench_external import judge, main
from tests.benchmarks.external.marketplace import FolderError, inputs_at, read_folder, truth_of

MADE_UP = Path(__file__).resolve().parents[1] / "data" / "marketplace"


def test_orders_become_documents_and_payments() -> None:
    """Totals are items and freight to the cent, or what was paid; a canceled order is void and explains no payment."""
    sales = read_folder(MADE_UP)
    documents = inputs_at(sales, "L0").documents
    rows = zip(documents["doc_key"], documents["total"], documents["status"], strict=True)
    assert list(rows) == [
        ("mx:I::o1", 12_755, "valid"),
        ("mx:I::o2", 5_000, "valid"),
        ("mx:I::o3", 5_000, "valid"),
        ("mx:I::o4", 6_400, "void"),
        ("mx:I::o5", 8_878, "valid"),
    ]
    assert dict(truth_of(sales)) == {
        "pi_o1_1": "mx:I::o1",
        "pi_o1_2": "mx:I::o1",
        "pi_o2_1": "mx:I::o2",
        "pi_o3_1": "mx:I::o3",
        "pi_o4_1": None,
        "pi_o5_1": "mx:I::o5",
    }


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        ("L0", {"right": 5, "rightly none": 1}),
        ("L1", {"right": 5, "rightly none": 1}),
        ("L2", {"missed": 2, "left open": 3, "suggested right": 3, "rightly none": 1}),
        ("L3", {"missed": 4, "left open": 1, "suggested right": 1, "rightly none": 1}),
    ],
)
def test_each_level_hides_what_it_says(level: str, expected: dict[str, int]) -> None:
    """Keys, then customers, then days are hidden; with the amount alone two equal sales stay undecided."""
    sales = read_folder(MADE_UP)
    counts = judge(reconcile(inputs_at(sales, level)), sales)
    assert {name: count for name, count in counts.items() if count} == expected


def test_another_folder_is_refused_in_one_sentence(tmp_path: Path) -> None:
    """A folder without the files, or with files of another shape, is named."""
    with pytest.raises(FolderError, match=r"olist_orders_dataset.csv is missing"):
        read_folder(tmp_path)
    for file in MADE_UP.iterdir():
        (tmp_path / file.name).write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(FolderError, match=r"has no column order_id, customer_id"):
        read_folder(tmp_path)


def test_the_table_is_printed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The command prints a line for each level and ends well where the promises hold."""
    monkeypatch.setattr("sys.argv", ["bench_external.py", str(MADE_UP)])
    main()
    shown = capsys.readouterr().out
    assert shown.startswith("5 orders, 6 payments\n")
    assert "| L0: key | 6 | 5 | 0 | 0 | 0 | 1 | 0 | 0 |" in shown
