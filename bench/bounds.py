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
    "scale-grouped": (
        "A million rows fall into 100,000 groups, ten rows each, so either of two workers meets nearly all "
        "groups in its half: it groups half of the rows, but sends, receives, adds up and stores as many "
        "groups as one worker alone would. Runs within the hour gave 1.48, 1.61 and 1.51. What halves is "
        "reading and grouping, 80 of one worker's 115 ms; the fixed cost of a step, some 10 ms, does not. To "
        "gain more by the second worker, rows would have to be exchanged by their groups before they are "
        "grouped, where that makes few rows of many groups."
    ),
    "tpch-duckdb-files": "The same bounds it as beside DuckDB in memory.",
    "tpch-duckdb": (
        "DuckDB answers most of these queries in 11 to 170 ms at this scale, from tables that are in its "
        "memory already. A refresh costs 12 to 46 ms, of which 10 to 30 do not depend on how many rows "
        "changed: two processes meet at two to ten levels, and Python passes up to sixty operators, each of "
        "which calls Arrow and NumPy some dozen times for a few hundred rows. Of query 1's 19 ms for 600 "
        "rows one process without Spark needs 10. DuckDB's time grows with the tables and a refresh's does "
        "not, so the ratio grows with the scale; all 22 views in one pipeline share their levels and reach "
        "the goal. To reach it for views alone at this scale, levels have to go (small tables kept by every "
        "worker instead of exchanged), and operators have to be compiled into fewer calls."
    ),
    "nexmark-spark": (
        "Only q21 is below. It takes a parameter out of every address, compares the channel's name in lower "
        "case with four others and chooses by that. Of a step of 54 ms, 22 are Arrow reading the addresses "
        "from Parquet; of the rest a third is finding the parameter, and two thirds are passes over strings "
        "that compare, filter and choose, each of which reads or copies a column. Strings that stay encoded "
        "by their dictionary from the file to the view would make both cheaper. Everything else that was "
        "measured is eleven to seventy-five times as fast; what was not, with this release, is named below."
    ),
    "nexmark-flink": (
        "Only q00 is below, which hands rows on as they are. Flink's sink looks at none of the columns, and "
        "of its runs of several seconds all but half a second is starting up, so that its rate is "
        "uncertain by a factor of two: 0.4 processor seconds for 4.5 million events are less than reading "
        "them takes. Ours reads, checks and hands on every column, and logs what it read. A larger input "
        "would tell more. Everything else that was measured is two and a half to twenty times as fast."
    ),
    "nexmark-pathway": (
        "q03 and q08 read people and auctions only, 400,000 rows of the five million events: both systems "
        "are done within a second, most of which is a step's fixed cost here (files opened, the log synced, "
        "two processes meeting at every level)."
    ),
}
