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
        "groups as one worker alone would. Runs of one day gave 1.48 to 1.65. What halves is reading and "
        "grouping, 80 of one worker's 115 ms; putting the groups together and keeping them takes 16 ms "
        "instead of 27, and the exchange 6. Exchanging rows before they are grouped would do without the "
        "second grouping, but send 10 MB where groups take 2.4. A cheaper exchange of large frames was not "
        "tried."
    ),
    "tpch-duckdb-files": "The same bounds it as beside DuckDB in memory.",
    "tpch-duckdb": (
        "DuckDB answers most of these queries in 8 to 150 ms at this scale, from tables that are in its "
        "memory already. A refresh costs 10 to 44 ms, of which 7 to 22 do not depend on how many rows "
        "changed: two processes meet at two to ten levels, and Python passes up to sixty operators, each of "
        "which calls Arrow and NumPy some dozen times for a few hundred rows. Of query 6's 13 ms, 5 are the "
        "table itself: of 3,100 rows all sixteen columns are hashed, looked up, sorted and copied, of which "
        "the view reads four; 2 are the input log. DuckDB's time grows with the tables and a refresh's does "
        "not, so the ratio grows with the scale; all 22 views in one pipeline share their levels and reach "
        "the goal. To reach it for views alone at this scale, levels have to go (small tables kept by every "
        "worker instead of exchanged), columns that no view reads have to be copied after the step, and "
        "operators have to be compiled into fewer calls."
    ),
    "nexmark-spark": (
        "Where it is close, half of a step or more is Arrow reading Parquet: 15 to 20 ms for a worker's "
        "115,000 bids with their texts. Texts that stay encoded by their dictionary from the file to the "
        "view would make that cheaper. Rates of runs of a second or two are uncertain by a factor of two."
    ),
    "nexmark-flink": (
        "q00 is closest, which only hands rows on: Flink's sink looks at none of the columns, while ours are "
        "read, checked, handed on and logged. Nearly all of a step is Arrow reading Parquet, half of that "
        "the texts, and both systems are bound by that: nine rounds gave 4.7 to 9.1 million events a second "
        "for Flink and 10.4 to 15.8 for ours, so that noise decides. Everything else is more than two and a "
        "half times as fast."
    ),
    "nexmark-pathway": (
        "q03 and q08 read people and auctions only, 400,000 rows of the five million events: both systems "
        "are done within a second, most of which is a step's fixed cost here (files opened, the log synced, "
        "two processes meeting at every level)."
    ),
}
