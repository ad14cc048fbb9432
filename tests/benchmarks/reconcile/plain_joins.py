"""What others need for less: reading the same rows, and the plain join by key; in an environment of their own.

python plain_joins.py polars|duckdb|adbc DATABASE prints one JSON object.
"""

import json
import sys
import time
from typing import Any

BOOKS = (
    "SELECT doc_key, doc_type, series, folio, uuid, issue_date, due_date, customer_tax_id, customer_name, net, exempt,"
    " vat, total, currency, status, order_ref, ref_type, ref_number, payment_method, payment_form FROM local_invoice"
    " WHERE connection = 'main'"
)
KEYS = "SELECT id, amount, json_extract(body, '$.metadata.order_ref') AS order_ref FROM payment_intent"


def read(database: str, query: str) -> Any:
    import adbc_driver_sqlite.dbapi as adbc  # noqa: PLC0415 - only where it is installed

    with adbc.connect(f"file:{database}?mode=ro") as connection, connection.cursor() as cursor:
        cursor.execute(query)
        return cursor.fetch_arrow_table()


def adbc(database: str) -> dict[str, Any]:
    read(database, "SELECT 1")
    started = time.perf_counter()
    rows = read(database, BOOKS).num_rows
    return {"read_books": time.perf_counter() - started, "rows": rows}


def polars(database: str) -> dict[str, Any]:
    import polars as pl  # noqa: PLC0415 - as above

    payments, books = (pl.from_arrow(read(database, query)) for query in (KEYS, BOOKS))
    started = time.perf_counter()
    named = payments.filter(pl.col("order_ref").is_not_null())
    joined = named.join(books.select("order_ref", "doc_key", "total"), on="order_ref", how="left")
    first = pl.col("id").is_first_distinct()
    state = joined.select(pl.when(pl.col("doc_key").is_null()).then(0).when(pl.col("total") == pl.col("amount")).then(1)
                          .otherwise(2).alias("state"), first)  # fmt: skip
    matched = int((state["state"] == 1).sum())
    return {"keyed": time.perf_counter() - started, "matched": matched}


def duckdb(database: str) -> dict[str, Any]:
    import duckdb as db  # noqa: PLC0415 - as above

    connection = db.connect()
    for name, query in (("payments", KEYS), ("books", BOOKS)):
        connection.register(f"{name}_arrow", read(database, query))
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM {name}_arrow")  # noqa: S608 - our own names
    started = time.perf_counter()
    found = connection.execute(
        "SELECT count(*) FROM payments JOIN books USING (order_ref) WHERE total = amount"
    ).fetchone()
    return {"keyed": time.perf_counter() - started, "matched": found[0] if found else 0}


if __name__ == "__main__":
    sys.stdout.write(json.dumps({"polars": polars, "duckdb": duckdb, "adbc": adbc}[sys.argv[1]](sys.argv[2])) + "\n")
