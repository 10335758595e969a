"""Elementary functions have the bits of Spark's, over a hundred thousand arguments each.

What Spark calls is Java's library, so whoever runs these tests on another machine or Java learns where that
machine differs (``docs/math.md``).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from pyspark.sql import SparkSession

from penstock.expr.java_math import java
from tests.expr.checker import Checker, active_session_kept

Doubles = NDArray[np.float64]

ROWS = 100_000
_LARGEST = np.finfo(np.float64).max
_SIGNED = [0.0, 1, 2, 3, 0.5, 22, 27, 1 / 3, np.inf, 5e-324, 2.0**-1022, _LARGEST, 90112, 1e22, np.pi]
_OTHERS = [np.nan, 709.782712893384, 710.4758600739439, 12800, 0.1015625, 243, 2.0**28, 2.0**-28, 2.0**31]
_OTHERS += [-745.1332191019411, 1024, -1074, -1075, 2.0**53, np.pi / 2, np.pi / 4, np.log(2), 1 - 2.0**-21]
EDGES = np.array([*_SIGNED, *(-value for value in _SIGNED), *_OTHERS])


def arguments(rng: np.random.Generator, size: int) -> Doubles:
    """Doubles of every kind: any bits, small and large ones, whole numbers, subnormals."""
    share = size // 8
    kinds = [
        rng.integers(0, 2**64, share, dtype=np.uint64).view(np.float64),
        rng.normal(size=share),
        rng.normal(size=share) * 100,
        rng.integers(-50_000, 50_000, share).astype(np.float64),
        np.ldexp(rng.uniform(-1, 1, share), rng.integers(-60, 60, share)),
        np.ldexp(rng.uniform(-1, 1, share), rng.integers(-1074, -1000, share)),
        rng.uniform(-1, 1, share),
        # Next to multiples of pi/4, where reducing an angle leaves least.
        np.rint(rng.normal(size=share) * 1e4) * (np.pi / 4) * (1 + rng.integers(-2, 3, share) * 2.0**-52),
    ]
    return rng.permutation(np.concatenate(kinds))


def samples() -> pa.Table:
    rng = np.random.default_rng(17)
    near = np.exp(rng.normal(size=ROWS // 10) * 3)
    x = [np.repeat(EDGES, len(EDGES)), near, np.rint(near)]
    # Powers that end near the largest and the smallest double, and those of whole numbers.
    y = [np.tile(EDGES, len(EDGES)), rng.uniform(-760, 720, len(near)) / np.log(near)]
    y.append(np.rint(rng.normal(size=len(near)) * 20))
    rest = ROWS - sum(map(len, x))
    x.append(np.resize(arguments(rng, ROWS), rest))
    y.append(np.resize(arguments(rng, ROWS), rest))
    return pa.table({"x": np.concatenate(x), "y": np.concatenate(y)})


@pytest.fixture(scope="module")
def _doubles(spark: SparkSession) -> Checker:
    return Checker(spark, samples(), "x DOUBLE, y DOUBLE")


@pytest.fixture
def doubles(_doubles: Checker, spark: SparkSession) -> Iterator[Checker]:
    with active_session_kept(spark):
        yield _doubles


FUNCTIONS = """
    exp(x); expm1(x); ln(x); log10(x); log1p(x); log2(x); log(x,y); power(x,y); cbrt(x); sqrt(x);
    hypot(x,y); asin(x); acos(x); atan(x); atan2(x,y); sinh(x); cosh(x); tanh(x); asinh(x); acosh(x);
    atanh(x); degrees(x); radians(x); rint(x)
"""
FUNCTIONS_OF_MATH = "sin(x); cos(x); tan(x); sec(x); csc(x); cot(x)"


def compiled(doubles: Checker) -> AbstractContextManager[None]:
    """Inside, Spark generates Java; otherwise it interprets expressions over rows that lie in the plan."""
    rule = "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation"
    return doubles.setting("spark.sql.optimizer.excludedRules", rule)


def test_every_bit_is_that_of_spark(doubles: Checker) -> None:
    assert len(doubles.samples) == ROWS
    with compiled(doubles):
        doubles.check(FUNCTIONS)


def test_every_bit_of_an_angle_is_that_of_spark_on_this_machine(doubles: Checker) -> None:
    with compiled(doubles):
        doubles.check(FUNCTIONS_OF_MATH)


def test_sparks_interpreter_gives_the_bits_of_its_compiler(doubles: Checker) -> None:
    doubles.check(f"{FUNCTIONS};{FUNCTIONS_OF_MATH}")


def test_one_argument_is_broadcast_over_all_rows() -> None:
    wide, narrow = np.arange(1.0, 5.0), np.array([2.0])
    assert java("power", wide, narrow).tolist() == [1.0, 4.0, 9.0, 16.0]
    assert java("power", narrow, wide).tolist() == [2.0, 4.0, 8.0, 16.0]
    assert len(java("exp", np.array([], np.float64))) == 0
