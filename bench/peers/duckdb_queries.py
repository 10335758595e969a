"""DuckDB recomputing queries over tables that it holds in memory in its own format.

Reads a request from standard input: ``{"tables": {name: parquet file}, "queries": {name: sql}, "repeats": n,
"threads": n, "answers": folder or null}``; prints ``{name: {"seconds": [...], "rows": n, "error": text}}``.
Runs in DuckDB's own environment and imports nothing else of this project.
"""

from __future__ import annotations

import json
import sys
import time

import duckdb


def main() -> None:
    """Answers one request."""
    request = json.load(sys.stdin)
    base = duckdb.connect()
    base.execute(f"SET threads = {int(request['threads'])}")
    for name, path in request["tables"].items():
        base.execute(f"CREATE TABLE {name} AS SELECT * FROM read_parquet('{path}')")
    found = {}
    for name, sql in request["queries"].items():
        try:
            found[name] = measured(base, name, sql, request)
        except duckdb.Error as error:
            found[name] = {"error": str(error)}
    print(json.dumps(found))


def measured(
    base: duckdb.DuckDBPyConnection, name: str, sql: str, request: dict[str, object]
) -> dict[str, object]:
    """The times of all repeats but a first one that warms up, and how many rows there were."""
    seconds, rows = [], 0
    for _ in range(int(str(request["repeats"])) + 1):
        started = time.perf_counter()
        rows = base.execute(sql).to_arrow_table().num_rows
        seconds.append(time.perf_counter() - started)
    if request["answers"]:
        base.execute(
            f"COPY ({sql.rstrip().rstrip(';')}) TO '{request['answers']}/{name}.parquet' (FORMAT parquet)"
        )
    return {"seconds": seconds[1:], "rows": rows}


if __name__ == "__main__":
    main()
