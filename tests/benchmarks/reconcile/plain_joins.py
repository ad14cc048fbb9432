"""What others need for less: reading the same rows, and the plain join by key; in an environment of their own.

python plain_joins.py polars|duckdb|adbc DATABASE prints one JSON object of processor seconds.

- `books_table`: the merchant's books from the database into an Arrow table, dates still text.
- `books_frame`: the same as the frame that our rules read: dates as dates, empty text unknown, in the order of the key.
- `*_scanned`: as above, with the query written so that SQLite does not go through its index, as ours is.
- `from_metadata`: from metadata as JSON text to payments joined with documents, with whether the amounts are equal.
- `join`: the join alone, on keys taken out before the clock.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

BOOKS = (
    "SELECT doc_key, doc_type, series, folio, uuid, issue_date, due_date, customer_tax_id, customer_name, net, exempt,"
    " vat, total, currency, status, order_ref, ref_type, ref_number, payment_method, payment_form FROM local_invoice"
    " WHERE connection = 'main'"
)
SCANNED = BOOKS.replace("WHERE connection", "WHERE +connection")
PAYMENTS = "SELECT id, amount, metadata_json FROM payment_intent"
KEYS = "SELECT id, amount, json_extract(metadata_json, '$.order_ref') AS order_ref FROM payment_intent"


def read(database: str, query: str) -> Any:
    import adbc_driver_sqlite.dbapi as adbc  # noqa: PLC0415 - only where it is installed

    with adbc.connect(f"file:{database}?mode=ro") as connection, connection.cursor() as cursor:
        cursor.execute(query)
        return cursor.fetch_arrow_table()


def to_frame(books: Any) -> Any:
    import pandas as pd  # noqa: PLC0415 - as the driver: not every peer loads it
    import pyarrow as pa  # noqa: PLC0415 - as pandas
    import pyarrow.compute as pc  # noqa: PLC0415 - as pandas

    columns = {}
    for name in books.column_names:
        column = books[name]
        if name.endswith("_date"):
            column = column.cast(pa.timestamp("us"))
        elif column.type == pa.string():
            column = pc.if_else(pc.equal(column, ""), pa.scalar(None, type=pa.string()), column)
        columns[name] = column
    table = pa.table(columns)
    table = table.take(pc.sort_indices(table, sort_keys=[("doc_key", "ascending")]))
    return table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)


def timed(work: Callable[[], Any]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def adbc(database: str) -> dict[str, Any]:
    to_frame(read(database, f"{BOOKS} LIMIT 1"))
    return {
        "books_table": timed(lambda: read(database, BOOKS)),
        "books_frame": timed(lambda: to_frame(read(database, BOOKS))),
        "books_table_scanned": timed(lambda: read(database, SCANNED)),
        "books_frame_scanned": timed(lambda: to_frame(read(database, SCANNED))),
    }


def polars(database: str) -> dict[str, Any]:
    import polars as pl  # noqa: PLC0415 - as above

    payments, keyed, books = (pl.DataFrame(read(database, query)) for query in (PAYMENTS, KEYS, BOOKS))
    matched: list[int] = []

    def join(named: Any) -> None:
        joined = named.filter(pl.col("order_ref").is_not_null()).join(
            books.select("order_ref", "doc_key", "total"), on="order_ref", how="left"
        )
        first = pl.col("id").is_first_distinct()
        state = joined.select(pl.when(pl.col("doc_key").is_null()).then(0).when(pl.col("total") == pl.col("amount"))
                              .then(1).otherwise(2).alias("state"), first)  # fmt: skip
        matched.append(int((state["state"] == 1).sum()))

    def from_metadata() -> None:
        join(payments.with_columns(order_ref=pl.col("metadata_json").str.json_path_match("$.order_ref")))

    join(keyed.head(10))
    return {"from_metadata": timed(from_metadata), "join": timed(lambda: join(keyed)), "matched": matched[-1]}


def duckdb(database: str) -> dict[str, Any]:
    import duckdb as db  # noqa: PLC0415 - as above

    connection = db.connect()
    for name, query in (("payments", PAYMENTS), ("keyed", KEYS), ("books", BOOKS)):
        connection.register(f"{name}_arrow", read(database, query))
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM {name}_arrow")  # noqa: S608 - our own names
    matched: list[int] = []

    def join(table: str) -> None:
        query = f"SELECT count(*) FILTER (total = amount) FROM {table} LEFT JOIN books USING (order_ref)"  # noqa: S608 - our own names
        found = connection.execute(f"{query} WHERE order_ref IS NOT NULL").fetchone()
        matched.append(found[0] if found else 0)

    from_metadata = "(SELECT id, amount, metadata_json ->> '$.order_ref' AS order_ref FROM payments)"
    return {
        "from_metadata": timed(lambda: join(from_metadata)),
        "join": timed(lambda: join("keyed")),
        "matched": matched[-1],
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps({"polars": polars, "duckdb": duckdb, "adbc": adbc}[sys.argv[1]](sys.argv[2])) + "\n")
