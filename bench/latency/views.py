"""The views whose steps are timed, all over TPC-H's tables, and the rows that change in a step.

``small`` is a filter and a projection; ``q03`` is TPC-H's query 3 (two joins, an aggregate, the first ten);
``deep`` joins five tables, aggregates and takes the first ten. Every step updates lines of orders to new
prices and quantities, so that all three views have something to do.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from bench.tpch.data import queries, tables
from penstock.oracle import Query
from penstock.oracle.fixtures import reads
from penstock.pipeline.tables import TableSchema

__all__ = ["TITLES", "changed_lines", "tables_of", "views"]

TITLES = {
    "small": "filter and projection",
    "q03": "TPC-H query 3",
    "deep": "five-way join, aggregate, top 10",
}

_SMALL = """
SELECT l_orderkey, l_linenumber, l_extendedprice * (1 - l_discount) AS charged FROM lineitem
WHERE l_quantity > 24
"""
_DEEP = """
SELECT n_name, s_name, count(*) AS lines, sum(l_extendedprice * (1 - l_discount)) AS revenue
FROM lineitem
  JOIN orders ON l_orderkey = o_orderkey
  JOIN customer ON o_custkey = c_custkey
  JOIN supplier ON l_suppkey = s_suppkey
  JOIN nation ON c_nationkey = n_nationkey
GROUP BY n_name, s_name
ORDER BY revenue DESC, n_name, s_name
LIMIT 10
"""


def views() -> list[Query]:
    """The three, the smallest first."""
    [third] = [query for query in queries(1) if query.name == "q03"]
    return [Query("small", _SMALL, ()), Query("q03", third.sql, ()), Query("deep", _DEEP, ())]


def tables_of(view: Query) -> list[TableSchema]:
    """The tables that a view reads."""
    return [table for table in tables() if reads(view, table.name)]


def changed_lines(
    rng: np.random.Generator, contents: Mapping[str, pa.RecordBatch], size: int
) -> pa.RecordBatch:
    """``size`` different lines, with the quantities, prices and discounts of others."""
    lines = contents["lineitem"]
    if size > lines.num_rows:
        raise SystemExit(f"steps of {size:,} changed rows need at least as many lines; use a larger --scale")
    chosen, others = (pa.array(rng.choice(lines.num_rows, size, replace=False)) for _ in range(2))
    changed, taken = lines.take(chosen), lines.take(others)
    for name in ("l_quantity", "l_extendedprice", "l_discount"):
        place = lines.schema.get_field_index(name)
        changed = changed.set_column(place, lines.schema.field(place), taken.column(place))
    return changed
