"""No function is accepted with some type and then fails, or gives what Spark does not give.

The quick form takes a part of the calls, some for each argument of each function. ``PENSTOCK_SWEEP=full``
takes all of them, in ANSI mode and without, which takes half an hour.
"""

from __future__ import annotations

import os

import pytest
from pyspark.sql import SparkSession

from tests.expr.checker import Checker, active_session_kept
from tests.expr.sweep import calls
from tests.expr.sweeping import Sweep

FULL = os.environ.get("PENSTOCK_SWEEP") == "full"


@pytest.mark.timeout(7200 if FULL else 900)
@pytest.mark.parametrize(("ansi", "every"), [(True, 12), (False, 40)], ids=["ansi", "legacy"])
def test_every_function_takes_what_spark_takes_or_refuses_it(
    spark: SparkSession, ansi: bool, every: int
) -> None:
    with active_session_kept(spark):
        found = Sweep(spark).run(calls()[:: 1 if FULL else every], ansi)
    assert not found.problems, "\n".join(map(str, found.problems))
    assert found.counts["same values"] > 3 * found.counts["refused"]
    assert found.counts["same values"] > (4000 if FULL else 100)


def test_dates_and_timestamps_with_a_pattern_are_taken_as_they_are(checker: Checker) -> None:
    """Spark reads texts by the pattern and hands on the microseconds of everything else."""
    functions = ("to_date", "try_to_date", "to_timestamp", "try_to_timestamp", "to_timestamp_ntz")
    columns = ("d", "ts", "ntz")
    texts = [f"{name}({column}, 'yyyy-MM-dd')" for name in functions for column in columns]
    tried = [text for text in texts if not text.startswith("to_timestamp_ntz(ts")]
    checker.check(["to_timestamp_ltz(ntz, 'yyyy')", "to_timestamp_ltz(d, 'yyyy')", *tried])


def test_the_second_argument_of_nanvl_is_computed_only_where_the_first_is_nan(checker: Checker) -> None:
    checker.check(["nanvl(f8, if(isnan(f8), 1D, CAST(concat('x', k) AS DOUBLE)))", "nanvl(n, f8)"])
    checker.check_error("nanvl(f8, CAST(s AS DOUBLE))", "double('NaN') AS f8, 'x' AS s", "CAST_INVALID_INPUT")
