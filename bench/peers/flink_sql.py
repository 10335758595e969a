"""PyFlink running one SQL query over files, in streaming mode, until it has read them all.

Reads a request from standard input: ``{"tables": [DDL], "query": sql, "settings": {key: value}, "answer":
folder or null}``; prints ``{"seconds": time}`` or ``{"error": text}``. The output goes into a black hole
unless an answer is asked for: then the changes are written as JSON, one per line, with the row ``before``
or ``after`` and ``op`` ``c`` for a row that comes and ``d`` for one that goes. Imports nothing of this
project.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from pyflink.table import EnvironmentSettings, TableDescriptor, TableEnvironment


def main() -> None:
    """Answers one request."""
    request = json.load(sys.stdin)
    try:
        found: dict[str, Any] = {"seconds": measured(request)}
    except Exception as problem:  # Java's, in several wrappings: whatever it is belongs into the table
        found = {"error": cause(str(problem))}
    print(json.dumps(found), flush=True)


def measured(request: dict[str, Any]) -> float:
    """Seconds from handing the query in to its end."""
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for key, value in request["settings"].items():
        environment.get_config().set(key, value)
    for table in request["tables"]:
        environment.execute_sql(table)
    started = time.perf_counter()
    environment.sql_query(request["query"]).execute_insert(sink(request["answer"])).wait()
    return time.perf_counter() - started


def sink(folder: str | None) -> TableDescriptor:
    """Where the changes go."""
    if folder is None:
        return TableDescriptor.for_connector("blackhole").build()
    return (
        TableDescriptor.for_connector("filesystem")
        .option("path", folder)
        .option("format", "debezium-json")
        .option("debezium-json.timestamp-format.standard", "SQL")
        .build()
    )


def cause(trace: str) -> str:
    """What is at the bottom of a Java stack trace."""
    lines = [line.strip() for line in trace.splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith("Caused by: ")]
    return (causes or lines)[-1 if causes else 0].removeprefix("Caused by: ")


if __name__ == "__main__":
    main()
