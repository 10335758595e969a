"""Tables that stand still: kept as any other table, and known to the planner."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.circuit.circuit import CircuitBuilder
from penstock.circuit.delta import Delta, pushed_delta
from penstock.circuit.operation import Operation
from penstock.circuit.operators import StaticTable, Table, Union
from penstock.zset import hash_columns
from tests.circuit.alone import SEED, Alone, contents, delta, meaning, reference
from tests.circuit.operators.plain import SCHEMA

KEYED = StaticTable(SCHEMA, "s", (1,))


def pushed(rows: list[tuple[int, str | None]], operation: Operation) -> Delta:
    columns = (
        pa.array([value for _, value in rows], pa.string()),
        pa.array([key for key, _ in rows], pa.int64()),
    )
    keys = hash_columns(columns[1:], len(rows), SEED)
    return pushed_delta(SCHEMA, columns, len(rows), keys, operation, keyed=True)


@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from([Operation.UPSERT, Operation.DELETE]),
            st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["a", "b", None])), min_size=1, max_size=6),
        ),
        max_size=6,
    )
)
@settings(deadline=None, max_examples=25)
def test_until_it_stands_still_it_is_a_dictionary(steps: list[Any]) -> None:
    alone = Alone(KEYED)
    held: dict[int, str | None] = {}
    for operation, rows in steps:
        out = alone.step(pushed(rows, operation))
        for key, value in rows:
            if operation is Operation.DELETE:
                held.pop(key, None)
            else:
                held[key] = value
        assert contents(out) == reference([(value, key) for key, value in held.items()])
    alone.opening = True
    assert meaning(alone.step(delta(SCHEMA, [], (1,)))) == reference([(v, k) for k, v in held.items()])


def test_what_is_computed_from_such_tables_alone_stands_still() -> None:
    builder = CircuitBuilder()
    static = builder.add_table("s", KEYED)
    other = builder.add_table("o", StaticTable(SCHEMA, "o", ()))
    moving = builder.add_table("t", Table(SCHEMA, "t", (1,)))
    assert builder.is_static(static) and builder.is_static(other) and not builder.is_static(moving)
    assert builder.is_static(builder.add(Union(SCHEMA), (static, other)))
    assert not builder.is_static(builder.add(Union(SCHEMA), (static, moving)))


def test_its_state_is_its_own_and_not_that_of_a_table_which_may_change() -> None:
    builder = CircuitBuilder()
    nodes = [builder.add(StaticTable(SCHEMA, "s", (1,))), builder.add(Table(SCHEMA, "s", (1,)))]
    circuit = builder.build()
    assert circuit.nodes[nodes[0]].fingerprint != circuit.nodes[nodes[1]].fingerprint
