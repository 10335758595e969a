"""DuckDB recomputing queries, over Parquet files and over tables that it holds in memory in its own format.

Reads a request from standard input: ``{"tables": {name: parquet file}, "queries": {name: sql}, "repeats": n,
"threads": n, "answers": folder or null}``; prints ``{name: {"files": [seconds], "tables": [seconds]}}``, or
an ``"error"``. Runs in DuckDB's own environment and imports nothing else of this project.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import duckdb


def main() -> None:
    """Answers one request."""
    request = json.load(sys.stdin)
    held, filed = (_connected(request, kind) for kind in ("TABLE", "VIEW"))
    found: dict[str, dict[str, object]] = {}
    for name, sql in request["queries"].items():
        try:
            found[name] = {
                "tables": measured(held, sql, request["repeats"]),
                "files": measured(filed, sql, request["repeats"]),
            }
            if request["answers"]:
                text, path = sql.rstrip().rstrip(";"), f"{request['answers']}/{name}.parquet"
                held.execute(f"COPY ({text}) TO '{path}' (FORMAT parquet)")
        except duckdb.Error as error:
            found[name] = {"error": str(error)}
    print(json.dumps(found))


def _connected(request: dict[str, Any], kind: str) -> duckdb.DuckDBPyConnection:
    """All tables, held by DuckDB or views of the files."""
    connection = duckdb.connect()
    connection.execute(f"SET threads = {int(request['threads'])}")
    for name, path in request["tables"].items():
        connection.execute(f"CREATE {kind} {name} AS SELECT * FROM read_parquet('{path}')")
    return connection


def measured(connection: duckdb.DuckDBPyConnection, sql: str, repeats: int) -> list[float]:
    """The seconds of all repeats but a first one that warms up."""
    seconds = []
    for _ in range(repeats + 1):
        started = time.perf_counter()
        connection.execute(sql).to_arrow_table()
        seconds.append(time.perf_counter() - started)
    return seconds[1:]


if __name__ == "__main__":
    main()
