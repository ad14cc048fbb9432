"""Accuracy on data we did not make: real orders and payments of a marketplace, at levels of evidence.

python tests/benchmarks/external/bench_external.py FOLDER [--check]

FOLDER holds Olist's files as they were downloaded; nothing is fetched, and nothing of them is kept. Exits 1 where a
payment was matched wrongly with a key or a customer known, or decided where only its amount is.
"""

import argparse
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from reconcile.rules.inputs import Result
from reconcile.rules.pipeline import reconcile
from tests.benchmarks.accuracy.scoring import linked_documents
from tests.benchmarks.external.marketplace import LEVELS, FolderError, Sales, inputs_at, read_folder, truth_of

COLUMNS = ("right", "wrong", "missed", "left open", "rightly none", "suggested right", "suggested wrong")
_OPEN = ("ambiguous", "suggested")
_KNOWN = ("L0", "L1")


def judge(result: Result, sales: Sales) -> Counter[str]:
    """Count what became of every payment, held against the order it was made for.

    Missed is a payment that has a document and was called without one; left open, one whose candidates were shown.
    Payments of one customer and amount are alike, and so are such documents: any of the others' is as right.
    """
    linked, lines = linked_documents(result), result.lines
    alike = alike_documents(result, dict(truth_of(sales)))
    said = dict(zip(lines["resource_id"], zip(lines["outcome"], lines["rivals"], strict=True), strict=True))
    counts: Counter[str] = Counter(dict.fromkeys(COLUMNS, 0))
    for payment, meant in truth_of(sales):
        found, (outcome, shown) = linked.get(payment, set()), said[payment]
        if found:
            counts["right" if found <= alike[payment] else "wrong"] += 1
        elif outcome in _OPEN:
            counts["left open"] += 1
        else:
            counts["missed" if meant else "rightly none"] += 1
        if outcome == "suggested":
            counts["suggested right" if shown == meant else "suggested wrong"] += 1
    return counts


def alike_documents(result: Result, meant: dict[str, str | None]) -> dict[str, set[str]]:
    """Give for each payment the documents that it, or one like it, was made for, with all that are like those."""
    documents, lines = result.documents.fillna({"customer_tax_id": ""}), result.lines.fillna({"customer_tax_id": ""})
    kinds = dict(
        zip(documents["doc_key"], zip(documents["customer_tax_id"], documents["total"], strict=True), strict=True)
    )
    of_kind: dict[object, set[str]] = {}
    for key, kind in kinds.items():
        of_kind.setdefault(kind, set()).add(key)
    payments = dict(
        zip(lines["resource_id"], zip(lines["customer_tax_id"], lines["amount_signed"], strict=True), strict=True)
    )
    of_payments: dict[object, set[str]] = {}
    for payment, key in meant.items():
        if key is not None:
            own = of_kind[kinds[key]] if kinds[key][0] else {key}
            of_payments.setdefault(payments[payment] if kinds[key][0] else payment, set()).update(own)
    return {name: of_payments.get(like if like[0] else name, set()) for name, like in payments.items()}


def is_promised(level: str, counts: Counter[str]) -> bool:
    """Tell whether a level keeps its promise: nothing wrong where key or customer are known, else nothing decided."""
    if level in _KNOWN:
        return counts["wrong"] == 0
    return level != "L3" or counts["right"] + counts["wrong"] == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--check", action="store_true", help="only read the files and say what is in them")
    asked = parser.parse_args()
    try:
        sales = read_folder(asked.folder)
    except FolderError as error:
        raise SystemExit(str(error)) from None
    sys.stdout.write(f"{len(sales.documents):,} orders, {len(sales.payments):,} payments\n")
    if asked.check:
        return
    sys.stdout.write(f"| level | payments | {' | '.join(COLUMNS)} |\n|{'---|' * (len(COLUMNS) + 2)}\n")
    broken = []
    for level, evidence in LEVELS.items():
        counts = judge(reconcile(inputs_at(sales, level)), sales)
        cells = " | ".join(f"{counts[name]:,}" for name in COLUMNS)
        sys.stdout.write(f"| {level}: {evidence} | {len(sales.payments):,} | {cells} |\n")
        if not is_promised(level, counts):
            broken.append(level)
    if broken:
        raise SystemExit(f"not as promised: {', '.join(broken)}")


if __name__ == "__main__":
    main()
