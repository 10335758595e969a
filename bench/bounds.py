"""What stands in the way of goals that were missed, and what would have to change to reach them.

By the name of a result. A report says it only where the goal is missed, so that what is reached speaks for
itself. Whoever changes what bounds a figure changes the text here.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["BOUNDS"]

BOUNDS: Mapping[str, str] = {
    "latency-q3-p50": (
        "A step of Q3's view passes five levels and 27 operators. At each level two processes meet: "
        "messages through sockets and a thread woken up, and every operator has Python's share, which is "
        "the same for 1 row and for 100; the input log is written before. One worker alone, which meets "
        "nobody, takes about 7 ms. Fewer levels would help most (small tables kept by every worker instead "
        "of exchanged), then compiling the operators of a level into one call."
    ),
    "startup-reopen": (
        "Most of it is starting Spark: its JVM, a session, Python workers and their imports. State itself "
        "is mapped, not read. To be faster, a process would have to stay and serve several pipelines."
    ),
    "tpch-duckdb": (
        "DuckDB answers most of these queries in 15 to 180 ms at this scale, from tables that are in its "
        "memory already. A refresh costs 15 to 50 ms, and half of that does not depend on how many rows "
        "changed: two processes meet at two to ten levels, and Python passes up to sixty operators. "
        "DuckDB's time grows with the tables and a refresh's does not, so the ratio grows with the scale; "
        "all 22 views in one pipeline share their levels and reach the goal. To reach it for views alone at "
        "this scale, levels have to go (small tables kept by every worker instead of exchanged), and wide "
        "columns have to be fetched after the last join instead of carried through all."
    ),
    "nexmark-spark": (
        "The smallest ratios are those of queries that keep nothing, a projection or a filter: there both "
        "systems decode Parquet and compute a few columns, and Penstock also keeps and stores the view, so "
        "that it can be read and goes on after a crash, where Structured Streaming hands rows on to a sink "
        "that drops them. Where state is kept the ratio is nine to seventy. To be ten times as fast at "
        "passing rows on, files would have to be read only in the columns that views use, and views would "
        "have to let their rows pass as tables can."
    ),
    "nexmark-flink": (
        "The smallest ratios are those of projections and filters: Flink compiles such a query into one "
        "loop over the files and hands rows to a sink that drops them, Penstock also keeps and stores the "
        "view. These runs last about a second, so their ratios are the least certain too. Where state is "
        "kept, Penstock is four to fourteen times as fast. What would have to change is the same as beside "
        "Structured Streaming: read only the columns that views use, and let a view's rows pass."
    ),
    "nexmark-pathway": (
        "The smallest ratios are those of q03 and q08, which read people and auctions only, 400,000 rows of "
        "the five million events: both systems are done within a second or two, most of which is a step's "
        "fixed cost here (files opened, the log synced, two processes meeting at every level). Everything "
        "that reads bids is four to twenty-five times as fast."
    ),
}
