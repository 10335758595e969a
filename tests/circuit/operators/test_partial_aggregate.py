"""Totals per group before rows travel: exact sums that add up over any number of workers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.types import BooleanType, DoubleType, LongType

from penstock.circuit.accumulators.totals import ExactSum, Number
from penstock.circuit.delta import Delta
from penstock.circuit.operators import PartialAggregate
from penstock.errors import EvaluationError
from penstock.expr.nodes import Call, Column, Literal
from penstock.zset import hash_columns, join_doubles, join_integers
from tests.circuit.alone import SEED, Alone, Change, delta
from tests.circuit.operators.plain import SCHEMA, TWO, K, N

SUMMED = pa.schema([("k", pa.string()), ("x", pa.float64()), ("n", pa.int64())])
X, COUNTED = Column(DoubleType(), True, 1, "x"), Column(LongType(), True, 2, "n")
OPERATOR = PartialAggregate(
    pa.schema([("k", pa.string())]),
    (K,),
    (ExactSum((X,), None), Number((COUNTED,), None), ExactSum((COUNTED,), None)),
)
WIDE = st.tuples(
    st.sampled_from(["a", "b", None]),
    st.sampled_from([None, 0.1, -0.1, 1e300, -1e300, 1e-300, float("nan"), float("inf")]),
    st.one_of(st.none(), st.integers(-(2**62), 2**62)),
)

Group = tuple[int, dict[str, int]]


def groups_of(parts: list[Delta]) -> dict[Any, Group]:
    """Weight and totals of each group, summed over parts; totals of zero count as absent."""
    found: dict[Any, Group] = {}
    for part in parts:
        for i, key in enumerate(part.zset.columns[0].to_pylist()):
            weight, sums = found.get(key, (0, {}))
            sums = dict(sums)
            for name, column in part.sums.items():
                sums[name] = sums.get(name, 0) + int(column[i])
            found[key] = (weight + int(part.zset.weights[i]), sums)
    nets = {key: (w, {n: v for n, v in sums.items() if v}) for key, (w, sums) in found.items()}
    return {key: group for key, group in nets.items() if group != (0, {})}


def partial(change: Change, operator: PartialAggregate = OPERATOR, schema: pa.Schema = SUMMED) -> Delta:
    out = Alone(operator).step(delta(schema, change))
    assert isinstance(out, Delta)
    return out


def joined(groups: dict[Any, Group]) -> dict[Any, Any]:
    """The numbers that the totals stand for. Digits of several workers are not carried, so they are not
    compared one by one."""
    answers = {}
    for key, (weight, sums) in groups.items():
        arrays = {name: np.array([value], np.int64) for name, value in sums.items()}
        doubles = join_doubles({n[2:]: a for n, a in arrays.items() if n.startswith("0.")}, 1)
        limbs = {n[2:]: a for n, a in arrays.items() if n.startswith("2.")}
        whole, _ = join_integers(limbs, 1, pa.decimal128(38, 0))
        answers[key] = (weight, repr(float(doubles[0])), sums.get("1.n", 0), whole[0].as_py())
    return answers


@given(
    change=st.lists(st.tuples(WIDE, st.sampled_from([1, 1, 2, -1])), max_size=20), workers=st.integers(1, 4)
)
@settings(deadline=None, max_examples=60)
def test_the_parts_of_the_workers_add_up_to_that_of_all_rows(change: Change, workers: int) -> None:
    parts = [partial(change[worker::workers]) for worker in range(workers)]
    assert joined(groups_of(parts)) == joined(groups_of([partial(change)]))


@given(change=st.lists(st.tuples(WIDE, st.sampled_from([1, 1, 2, -1])), max_size=20))
@settings(deadline=None, max_examples=40)
def test_each_group_travels_once_with_its_weight_count_and_key(change: Change) -> None:
    out = partial(change)
    keys = out.zset.columns[0].to_pylist()
    assert len(keys) == len(set(keys))
    assert out.keys is not None
    again = hash_columns(out.zset.columns, len(out), SEED)
    assert (out.keys.hi == again.hi).all() and (out.keys.lo == again.lo).all()
    totals = out.sums.get("1.n", np.zeros(len(out), np.int64))  # a total that is zero everywhere is left out
    counts = dict(zip(keys, totals.tolist(), strict=True))
    for key in {row[0] for row, _ in change}:
        rows = [(row, weight) for row, weight in change if row[0] == key]
        count = sum(weight for row, weight in rows if row[2] is not None)
        weight = sum(weight for _, weight in rows)
        if key in keys:
            assert out.zset.weights[keys.index(key)] == weight and counts[key] == count
        else:
            assert (weight, count) == (0, 0)


def test_what_cancels_out_does_not_travel() -> None:
    gone = [(("a", 0.1, 7), 1), (("b", 0.2, None), 1), (("a", 0.1, 7), -1)]
    assert partial(gone).zset.columns[0].to_pylist() == ["b"]
    assert len(partial([])) == 0


def test_a_row_that_is_replaced_by_another_travels_though_the_weight_is_zero() -> None:
    out = partial([(("a", 0.1, 7), -1), (("a", 0.1, 8), 1)])
    assert out.zset.weights.tolist() == [0]
    assert joined(groups_of([out]))["a"][3] != joined(groups_of([partial([])])).get("a")


def test_an_argument_is_not_evaluated_on_rows_that_the_filter_leaves_out() -> None:
    inverse = Call(LongType(), True, "IntegralDivide", (TWO, N), (("mode", "ANSI"),))
    there = Call(BooleanType(), True, "GreaterThan", (N, Literal(LongType(), False, 0)))
    change: Change = [(("a", 0), 1), (("a", 1), 1), (("a", None), 1)]
    for chosen in (there, None):
        total = ExactSum((inverse,), chosen)
        operator = PartialAggregate(pa.schema([("k", pa.string())]), (K,), (total,))
        if chosen is None:
            with pytest.raises(EvaluationError, match="DIVIDE_BY_ZERO"):
                partial(change, operator, SCHEMA)
        else:
            out = partial(change, operator, SCHEMA)
            assert out.zset.weights.tolist() == [3] and sum(v[0] for v in out.sums.values()) == 2
