"""Why goals were missed, and what would have to change to reach them.

By the name of a result. A report includes the text only if the goal is missed. If you remove a bottleneck,
update its text here.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["BOUNDS"]

BOUNDS: Mapping[str, str] = {
    "latency-q3-p50": (
        "A step of Q3's view passes five levels and 27 operators. At each level two processes synchronise "
        "(socket messages and a thread wake-up), and every operator has a Python overhead that is the same "
        "for 1 row and for 100; the input log is written before. A single worker, which does not "
        "synchronise, takes about 7 ms. Fewer levels would help most (small tables replicated to every "
        "worker instead of exchanged), then compiling the operators of a level into one call."
    ),
    "startup-reopen": (
        "Most of the time goes into starting Spark: its JVM (classes are mapped, but code is compiled again "
        "each time), a session, Python workers and their imports. State itself is mapped, not read. To be "
        "faster, a long-running process would have to serve several pipelines."
    ),
    "spill-memory": (
        "Before any state a worker's process takes 330 to 390 MB: the interpreter, Arrow, NumPy, Spark's "
        "Python modules and compiled loops. What a step stages comes on top: 100,000 rows for each worker in "
        "a step of the load, in several copies. Steps in waves of bounded size would bound that part."
    ),
    "spill-step": (
        "A step looks 500 random keys up in each worker, nearly all in blocks that are not in memory: a "
        "block of 1,024 rows is checked and unpacked for each, and much of that is page faults of the memory "
        "that it is unpacked into. It is one run of three, each of other code: 5.7 times before blocks were "
        "dropped with few calls, 4.0 after that, and this one with a smaller share of the budget for "
        "blocks, to save memory. The step in memory took 14 to 19 ms in them, so noise is not separated from "
        "the changes. Unpacking into memory that is used again, instead of given back to the system, would "
        "avoid the faults."
    ),
    "storage-warm": (
        "A batch in memory has a directory of about eight rows an entry, a batch on file one fence for each "
        "block of 1,024 rows, so a search touches one or two more places in memory. Packed blocks, which are "
        "unpacked into memory, took 1.04 times in the same run."
    ),
    "scale-grouped": (
        "A million rows fall into 100,000 groups of ten rows, so each of two workers sees nearly all groups "
        "in its half: it groups half of the rows, but sends, receives, adds up and stores as many groups as "
        "a single worker would. Runs of one day gave 1.48 to 1.65. Reading and grouping are halved, 80 of a "
        "single worker's 115 ms; combining the groups and storing them takes 16 ms instead of 27, and the "
        "exchange 6. Exchanging rows before they are grouped would avoid the second grouping, but send 10 "
        "MB where groups take 2.4. A cheaper exchange of large frames was not tried."
    ),
    "tpch-duckdb-files": "For the same reasons as with DuckDB in memory.",
    "tpch-duckdb": (
        "DuckDB answers most of these queries in 8 to 150 ms at this scale, from tables that are already in "
        "memory. A refresh takes 10 to 44 ms, of which 7 to 22 do not depend on how many rows changed: two "
        "processes synchronise at two to ten levels, and Python runs up to sixty operators, each of which "
        "makes a dozen or so Arrow and NumPy calls for a few hundred rows. Of query 6's 13 ms, 5 are the "
        "table itself: all sixteen columns of 3,100 rows are hashed, looked up, sorted and copied, although "
        "the view reads four; 2 are the input log. DuckDB's time grows with the tables and a refresh's does "
        "not, so the ratio grows with the scale; all 22 views in one pipeline share their levels and reach "
        "the goal. To reach it for single views at this scale, there would have to be fewer levels (small "
        "tables replicated to every worker instead of exchanged), columns that no view reads would have to "
        "be copied after the step, and operators compiled into fewer calls."
    ),
    "nexmark-spark": (
        "Where it is close, half of a step or more is Arrow reading Parquet: 15 to 20 ms for a worker's "
        "115,000 bids with their strings. Keeping strings dictionary-encoded from the file to the "
        "view would make that cheaper. Rates of runs of a second or two are uncertain by a factor of two."
    ),
    "nexmark-flink": (
        "q00, the pass-through query, is closest: Flink's sink reads none of the columns, while ours are "
        "read, checked, emitted and logged. Nearly all of a step is Arrow reading Parquet, half of that the "
        "strings, and both systems are limited by it: nine rounds gave 4.7 to 9.1 million events a second "
        "for Flink and 10.4 to 15.8 for Penstock, so noise decides. Everything else is more than two and a "
        "half times as fast."
    ),
    "nexmark-pathway": (
        "q03 and q08 read people and auctions only, 400,000 rows of the five million events: both systems "
        "are done within a second, most of which is the fixed cost of a step here (opening files, syncing "
        "the log, two processes synchronising at every level)."
    ),
}
