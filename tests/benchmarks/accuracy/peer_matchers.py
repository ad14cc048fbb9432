"""Other people's matchers on the same two files; runs in an environment of their own, without ours.

python peer_matchers.py PEER PAYMENTS.csv INVOICES.csv prints one JSON object: the pairs it is sure of, and seconds.
"""

import csv
import json
import sys
import time
from pathlib import Path

Row = dict[str, str]
Pair = tuple[str, str]


def read(path: str) -> list[Row]:
    with Path(path).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def reconcile_mcp(payments: list[Row], invoices: list[Row], *, combine: bool) -> list[Pair]:
    """Its best case here: the order is the reference, and only what it calls exact or a set counts as sure."""
    from reconcile_mcp.engine import reconcile  # noqa: PLC0415 - only where it is installed

    expected = [
        {"id": row["doc_key"], "amount": row["total"], "currency": row["currency"], "date": row["issue_date"],
         "reference": row["order_ref"], "counterparty": row["customer_tax_id"]}
        for row in invoices
    ]  # fmt: skip
    observed = [
        {"id": row["id"], "amount": row["amount"], "currency": row["currency"], "date": row["date"],
         "reference": row["order_ref"] or row["texts"], "counterparty": row["tax_id"]}
        for row in payments
    ]  # fmt: skip
    options = {"date_window_days": 45, "enable_one_to_many": combine, "max_combination": 2}
    report = reconcile(expected, observed, options)
    sure = [match for match in report["matches"] if match["type"] in {"exact", "one_to_many", "many_to_one"}]
    return [(seen, wanted) for match in sure for seen in match["observed"] for wanted in match["expected"]]


def splink(payments: list[Row], invoices: list[Row], *, threshold: float) -> list[Pair]:
    """A linking model with our blocking (order, tax id, amount), trained on the files, then greedy one to one."""
    import pandas as pd  # noqa: PLC0415 - as above
    import splink.comparison_library as cl  # noqa: PLC0415 - as above
    from splink import DuckDBAPI, Linker, SettingsCreator, block_on  # noqa: PLC0415 - as above

    left = pd.DataFrame([
        {"unique_id": row["id"], "amount": int(row["minor"]), "tax_id": row["tax_id"] or None,
         "ref": row["order_ref"] or None, "day": row["date"]}
        for row in payments
    ])  # fmt: skip
    right = pd.DataFrame([
        {"unique_id": row["doc_key"], "amount": int(row["minor"]), "tax_id": row["customer_tax_id"] or None,
         "ref": row["order_ref"] or None, "day": row["issue_date"]}
        for row in invoices
    ])  # fmt: skip
    blocks = [block_on("ref"), block_on("tax_id", "amount"), block_on("amount")]
    settings = SettingsCreator(
        link_type="link_only",
        comparisons=[cl.ExactMatch("amount"), cl.ExactMatch("tax_id"), cl.DamerauLevenshteinAtThresholds("ref", [1]),
                     cl.AbsoluteDateDifferenceAtThresholds(
                         "day", input_is_string=True, metrics=["day", "month"], thresholds=[10, 2])],
        blocking_rules_to_generate_predictions=blocks,
    )  # fmt: skip
    api = DuckDBAPI()
    linker = Linker(
        [api.register(left, table_name="payments"), api.register(right, table_name="invoices")],
        settings,
        log_level="ERROR",
    )
    linker.training.estimate_probability_two_random_records_match([block_on("ref")], recall=0.8)
    linker.training.estimate_u_using_random_sampling(max_pairs=1e6, seed=1)
    linker.training.estimate_parameters_using_expectation_maximisation(block_on("amount"))
    linker.training.estimate_parameters_using_expectation_maximisation(block_on("ref"))
    found = linker.inference.predict(threshold_match_probability=threshold).as_pandas_dataframe()
    rows = found.sort_values(["match_probability", "unique_id_l", "unique_id_r"], ascending=[False, True, True])
    pairs: list[Pair] = []
    taken: set[str] = set()
    for one, other in zip(rows["unique_id_l"], rows["unique_id_r"], strict=True):
        payment, doc = (one, other) if str(other).startswith(("cl:", "mx:")) else (other, one)
        if payment not in taken and doc not in taken:
            taken |= {payment, doc}
            pairs.append((payment, doc))
    return pairs


PEERS = {
    "reconcile-mcp 1:1": lambda left, right: reconcile_mcp(left, right, combine=False),
    "reconcile-mcp sets of 2": lambda left, right: reconcile_mcp(left, right, combine=True),
    "splink p>=.50": lambda left, right: splink(left, right, threshold=0.5),
    "splink p>=.99": lambda left, right: splink(left, right, threshold=0.99),
}


def main() -> None:
    name, payments, invoices = sys.argv[1:4]
    started = time.perf_counter()
    pairs = PEERS[name](read(payments), read(invoices))
    sys.stdout.write(json.dumps({"pairs": pairs, "seconds": round(time.perf_counter() - started, 2)}) + "\n")


if __name__ == "__main__":
    main()
