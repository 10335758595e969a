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
        "The smallest ratio is that of q11, sessions: here they are found by two window functions, each with "
        "an arrangement of all bids, and an aggregate over them, where Structured Streaming has an operator "
        "for session windows. One of that kind would have to be made. q13, q18 and q20 keep bids "
        "with all their columns, sorted by a key, merged and made durable (q13 because its side input may "
        "change, which Spark's may not): wide columns would have to stay where they came, with an index of "
        "row numbers beside them. q14, q17, q21 and q22 compute texts and numbers from each bid and keep "
        "little: seven to nine times is what Arrow's functions over whole columns give beside Spark's "
        "compiled loop (three times for q22, which splits addresses); a loop compiled for the whole "
        "expression would be the next step. q07, and q09 beside the others, were measured while our view was "
        "still kept and stored too, and made durable every second. Everything else is ten to sixty times as "
        "fast."
    ),
    "nexmark-flink": (
        "q11 and q20 are bounded as beside Structured Streaming: sessions by window functions, and wide rows "
        "sorted and merged. q22 splits every address three times, once for each part that it takes. q01 "
        "and q15 are single runs of one to three seconds: Flink's rate for q15 comes from two runs that "
        "differ by 1.7 seconds, and is seventeen times that of the very similar q16; such rates are "
        "uncertain by a factor of two or three, and five repeats of all would take half a day. Everything "
        "else is two to twelve times as fast."
    ),
    "nexmark-pathway": (
        "q03 and q08 read people and auctions only, 400,000 rows of the five million events: both systems "
        "are done within a second, most of which is a step's fixed cost here (files opened, the log synced, "
        "two processes meeting at every level). q20 is bounded as beside the "
        "others: wide bids are sorted, merged and made durable. Everything else is five to fifty times as "
        "fast."
    ),
}
