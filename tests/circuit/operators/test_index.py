"""Indexing: the hash of the key beside each row, without rows that can match nothing."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.types import LongType

from penstock.circuit.delta import Delta
from penstock.circuit.operators import Index
from penstock.expr.nodes import Call, Literal
from penstock.zset import hash_columns
from tests.circuit.alone import SEED, Alone, Rows, check_follows, delta, histories
from tests.circuit.operators.plain import ROW, SCHEMA, K, N


@given(history=histories(ROW), drop=st.booleans())
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
