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
        "groups as one worker alone would. What halves is reading and grouping, 120 of one worker's 190 ms; "
        "the fixed cost of a step, some 10 ms, does not. Since workers take memory in small pages one does "
        "5.2 million rows a second where it did 3.1, and two 6.9 where they did 4.9: both are faster, the "
        "one by more. To gain more by the second worker, rows would have to be exchanged by their groups "
        "before they are grouped where that makes few rows of many groups."
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
        "q11 and q13 keep what Spark does not. Of sessions (q11) Spark forgets those that its watermark has "
        "passed; here a late bid or a deletion may still change any of them, so all bids are kept, sorted by "
        "bidder and time, and the largest time of each session with them. q13's side input may change here, "
        "and may not there, so its bids are kept for that. Promises about time and about tables that stand "
        "still would have to be declared, and state forgotten by them. q18 and q20 keep bids with all their "
        "columns: they are sorted, merged and made durable as they are, and copying them is the largest part "
        "of it. Wide columns would have to stay where they came, with an index of row numbers beside them. "
        "q14, q17, q21 and q22 compute texts and numbers from each bid and keep little: seven to nine times "
        "is what functions over whole columns give beside Spark's compiled loop (half of q21 is RE2, finding "
        "a group in every address); a loop compiled for the whole expression would be the next step. "
        "Everything else is ten to sixty times as fast."
    ),
    "nexmark-flink": (
        "q01 and q15 are single runs of one to three seconds: Flink's rate for q15 comes from two runs that "
        "differ by 1.7 seconds, and is seventeen times that of the very similar q16; such rates are "
        "uncertain by a factor of two or three, and five repeats of all would take half a day. Everything "
        "else is two to twelve times as fast."
    ),
    "nexmark-pathway": (
        "q03 and q08 read people and auctions only, 400,000 rows of the five million events: both systems "
        "are done within a second, most of which is a step's fixed cost here (files opened, the log synced, "
        "two processes meeting at every level). q20 is bounded as beside Structured Streaming: wide bids are "
        "sorted, merged and made durable, where Pathway, as measured, keeps them in memory alone. Everything "
        "else is five to fifty times as fast."
    ),
}
