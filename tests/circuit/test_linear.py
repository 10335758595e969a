"""Operators that keep nothing: what they do to a change is what they do to a table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.types import BooleanType, DoubleType, LongType, StringType

from penstock.circuit import REGISTRY, Incremental, Operator
from penstock.circuit.delta import Delta, concat_deltas
from penstock.circuit.operators import Arrange, Filter, Index, Project, Union, Values, View
from penstock.expr.nodes import Call, Column, Literal
from penstock.zset import ReferenceZSet, hash_columns
from tests.circuit.alone import SEED, Alone, Rows, check_follows, contents, delta, histories, meaning

SCHEMA = pa.schema([("k", pa.string()), ("n", pa.int64())])
row = st.tuples(st.sampled_from(["a", "b", None]), st.one_of(st.none(), st.integers(-2, 2)))
K, N = Column(StringType(), True, 0, "k"), Column(LongType(), True, 1, "n")
TWO = Literal(LongType(), False, 2)
PLUS_TWO = Call(LongType(), True, "Add", (N, TWO), (("mode", "ANSI"),))


def _plus_two(value: Any) -> Any:
    return None if value is None else value + 2


@given(history=histories(row))
@settings(deadline=None, max_examples=25)
def test_project_evaluates_every_row(history: list[Rows]) -> None:
    schema = pa.schema([("m", pa.int64()), ("k", pa.string())])
    check_follows(
        Project(schema, (PLUS_TWO, K)),
        history,
        lambda rows: rows.map(lambda r: (_plus_two(r[1]), r[0])),
        lambda change: [delta(SCHEMA, change)],
    )


@given(history=histories(row))
@settings(deadline=None, max_examples=25)
def test_filter_keeps_rows_whose_predicate_is_true_and_not_null(history: list[Rows]) -> None:
    positive = Call(BooleanType(), True, "GreaterThan", (PLUS_TWO, TWO))
    check_follows(
        Filter(SCHEMA, positive),
        history,
        lambda rows: rows.filter(lambda r: r[1] is not None and r[1] > 0),
        lambda change: [delta(SCHEMA, change)],
    )


@given(history=histories(row), both=st.booleans())
@settings(deadline=None, max_examples=25)
def test_filter_for_presence_drops_rows_with_null_and_no_others(history: list[Rows], both: bool) -> None:
    there = [Call(BooleanType(), False, "IsNotNull", (column,)) for column in (N, K)]
    predicate = Call(BooleanType(), False, "And", tuple(there)) if both else there[0]
    filtering = Filter(SCHEMA, predicate)
    assert filtering._present == ((1, 0) if both else (1,))
    check_follows(
        filtering,
        history,
        lambda rows: rows.filter(lambda r: r[1] is not None and (not both or r[0] is not None)),
        lambda change: [delta(SCHEMA, change)],
    )


@given(history=histories(row))
@settings(deadline=None, max_examples=25)
def test_union_adds_its_inputs_even_the_same_one_twice(history: list[Rows]) -> None:
    check_follows(
        Union(SCHEMA),
        history,
        lambda rows: rows.add(rows).add(rows),
        lambda change: [delta(SCHEMA, change)] * 3,
    )


@given(history=histories(row), drop=st.booleans())
@settings(deadline=None, max_examples=25)
def test_index_keeps_the_rows_and_leaves_out_null_keys_that_match_nothing(
    history: list[Rows], drop: bool
) -> None:
    check_follows(
        Index(SCHEMA, (K,), (drop,)),
        history,
        lambda rows: rows.filter(lambda r: not drop or r[0] is not None),
        lambda change: [delta(SCHEMA, change)],
    )


def test_index_puts_the_hash_of_the_key_beside_each_row() -> None:
    indexed = Alone(Index(SCHEMA, (N, K), (True, True))).step(
        delta(SCHEMA, [(("a", 1), 1), ((None, 2), 1), (("c", 4), 2)])
    )
    assert isinstance(indexed, Delta)
    assert indexed.keys is not None
    assert indexed.zset.weights.tolist() == [1, 2]
    wanted = hash_columns([pa.array([1, 4]), pa.array(["a", "c"])], 2, SEED)
    assert (indexed.keys.hi.tolist(), indexed.keys.lo.tolist()) == (wanted.hi.tolist(), wanted.lo.tolist())


def test_what_cancels_out_does_not_travel_where_much_would() -> None:
    many = [(("b", n), weight) for n in range(2000) for weight in (1, -1)]
    indexed = Alone(Index(SCHEMA, (K,), (True,))).step(delta(SCHEMA, [(("a", 1), 1), *many]))
    assert len(indexed) == 1


def test_a_key_is_not_computed_for_a_row_that_is_not_there() -> None:
    inverse = Call(
        LongType(), True, "IntegralDivide", (Literal(LongType(), False, 1), N), (("mode", "ANSI"),)
    )
    indexed = Alone(Index(SCHEMA, (inverse,), (True,))).step(
        delta(SCHEMA, [(("a", 1), 1), (("b", 0), 1), (("b", 0), -1)])
    )
    assert len(indexed) == 1


def test_an_expression_over_no_columns_of_many_rows() -> None:
    none = pa.schema([])
    empty_rows = delta(none, [((), 2), ((), 1)])
    one = Alone(Project(pa.schema([("one", pa.int64())]), (Literal(LongType(), False, 1),)))
    assert meaning(one.step(empty_rows)) == ReferenceZSet({(1,): 3})
    assert meaning(Alone(View(none, "v")).step(empty_rows)) == ReferenceZSet({(): 3})


def test_values_appear_once_on_the_worker_that_owns_them() -> None:
    alone = Alone(Values(SCHEMA, (("a", 1), ("a", 1), (None, None))))
    assert len(alone.step()) == 0
    alone.opening = True
    assert meaning(alone.step()) == ReferenceZSet({("a", 1): 2, (None, None): 1})
    alone.owner = False
    assert len(alone.step()) == 0


def test_values_without_columns_is_one_row() -> None:
    alone = Alone(Values(pa.schema([]), ((),)))
    alone.opening = True
    assert meaning(alone.step()) == ReferenceZSet({(): 1})


@given(history=histories(row))
@settings(deadline=None, max_examples=25)
def test_a_view_passes_its_changes_on_consolidated_and_keeps_their_sum(history: list[Rows]) -> None:
    alone = Alone(View(SCHEMA, "v"))
    total = ReferenceZSet({})
    previous: Rows = ()
    for rows in history:
        out = alone.step(delta(SCHEMA, [*((r, -1) for r in previous), *((r, 1) for r in rows)]))
        assert isinstance(out, Delta)
        assert len(out) == len(meaning(out))
        total = total.add(meaning(out))
        previous = rows
        assert total == ReferenceZSet.of_rows((r, 1) for r in rows)
        kept = alone.spines[0].merged()
        assert (0 if kept is None else len(kept)) == len(total)


@given(parts=st.lists(st.lists(st.tuples(row, st.integers(-2, 2)), max_size=5), max_size=3))
@settings(deadline=None, max_examples=25)
def test_a_delta_survives_the_wire_and_concatenation(parts: list[list[Any]]) -> None:
    deltas = [delta(SCHEMA, change, (0,)) for change in parts]
    whole = concat_deltas(SCHEMA, [Delta.decode(SCHEMA, part.encode()) for part in deltas])
    assert ReferenceZSet.of(whole.zset) == ReferenceZSet.of_rows(entry for part in parts for entry in part)
    assert whole.keys is not None
    again = hash_columns([whole.zset.columns[0]], len(whole), SEED)
    assert whole.keys.hi.tolist() == again.hi.tolist()


def test_sums_that_only_some_workers_send_count_as_zero_for_the_others() -> None:
    one, other = delta(SCHEMA, [(("a", 1), 1)], (0,)), delta(SCHEMA, [(("b", 1), 1)], (0,))
    one = Delta(one.zset, one.keys, {"x": np.array([7], np.int64)})
    whole = concat_deltas(SCHEMA, [one, other])
    assert whole.sums["x"].tolist() == [7, 0]


@pytest.mark.parametrize("name", REGISTRY)
def test_the_registry_declares_state_exactly_for_operators_that_keep_some(name: str) -> None:
    info = REGISTRY[name].info
    assert info.name == name
    assert (REGISTRY[name].slots is not Operator.slots) == bool(info.state)
    assert not (info.state and info.incremental is Incremental.BILINEAR)


def test_arranged_streams_can_be_read_as_plain_ones() -> None:
    alone = Alone(Arrange(SCHEMA))
    first = alone.step(delta(SCHEMA, [(("a", 1), 1), (("b", 2), 1)], (0,)))
    second = alone.step(delta(SCHEMA, [(("a", 1), -1), (("a", 1), 3)], (0,)))
    assert meaning(first) == ReferenceZSet({("a", 1): 1, ("b", 2): 1})
    assert meaning(second) == ReferenceZSet({("a", 1): 2})
    assert contents(second) == ReferenceZSet({("a", 1): 3, ("b", 2): 1})
    assert contents(alone.operator.idle(alone)) == contents(second)


def test_rows_that_count_as_equal_are_made_equal_to_the_bit_before_they_are_kept() -> None:
    schema = pa.schema([("x", pa.float64()), ("l", pa.list_(pa.float32()))])
    change = [((-0.0, [0.0]), 1), ((0.0, [-0.0]), 1), ((-float("nan"), None), 1)]
    for operator in (Index(schema, (Column(DoubleType(), True, 0, "x"),), (False,)), View(schema, "v")):
        flow = Alone(operator).step(delta(schema, change))
        assert isinstance(flow, Delta)
        x, elements = flow.zset.columns[0], flow.zset.columns[1].flatten()
        assert not np.signbit(np.asarray(x)).any() and not np.signbit(np.asarray(elements)).any()
        assert meaning(flow) == meaning(delta(schema, change))
