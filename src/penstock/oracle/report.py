"""A failing case as a Python script that anybody can run: tables, query, rows, and what came out."""

from __future__ import annotations

import datetime
from typing import Any

from penstock.oracle.fixtures import create_table, reads
from penstock.oracle.harness import Case, Difference
from penstock.oracle.model import Change, Step

__all__ = ["render"]

_HEAD = """\
# --- smallest reproduction found ({difference}) ---
import datetime
from decimal import Decimal
from pyspark.sql import SparkSession
from penstock.oracle import Config, Query, check, read_tables, steps_from

builder = SparkSession.builder.master("local[{slots}]").config("spark.sql.session.timeZone", "UTC")
spark = builder.getOrCreate()
nan, inf = float("nan"), float("inf")
"""


def render(case: Case, found: Difference) -> str:
    """The script, with Spark's answer and ours as comments at the end."""
    used = {change.table for step in case.steps for change in step}
    used |= {t.name for t in case.tables if any(reads(query, t.name) for query in case.queries)}
    tables = [table for table in case.tables if table.name in used]
    slots = case.config.workers + 2
    lines = [_HEAD.format(difference=found.what, slots=slots)]
    lines += ['tables = read_tables("""', *map(create_table, tables), '""")', "queries = ["]
    for query in case.queries:
        more = f", {query.settings!r}, {query.stated!r}" if query.settings or query.stated else ""
        lines.append(f'    Query({query.name!r}, """{query.sql}"""{more}),')
    lines += ["]", "steps = steps_from(tables, ["]
    lines += [f"    {_step(step)}," for step in case.steps]
    lines.append("])")
    config = f"Config({case.config.workers}, {case.config.mode!r})"
    lines.append(f"check(spark, tables, queries, steps, configurations=[{config}])")
    lines += [f"# {line}" for line in str(found).splitlines()]
    return "\n".join(lines)


def _step(step: Step) -> str:
    changes = ",\n      ".join(_change(change) for change in step)
    return f"[{changes}]"


def _change(change: Change) -> str:
    rows = ", ".join(_row(row) for row in change.rows.to_pylist(maps_as_pydicts="strict"))
    return f"({change.table!r}, {change.operation!r}, [{rows}])"


def _row(row: dict[str, Any]) -> str:
    return "{" + ", ".join(f"{name!r}: {_literal(value)}" for name, value in row.items()) + "}"


def _literal(value: Any) -> str:
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return repr(value.astimezone(datetime.UTC)).replace("datetime.timezone.utc", "datetime.UTC")
    if isinstance(value, dict):
        return _row(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(_literal, value)) + "]"
    return repr(value)
