"""UNION ALL: weights add up."""

from __future__ import annotations

from hypothesis import given, settings

from penstock.circuit.operators import Union
from tests.circuit.alone import Rows, check_follows, delta, histories
from tests.circuit.operators.plain import ROW, SCHEMA


@given(history=histories(ROW))
@settings(deadline=None, max_examples=25)
def test_union_adds_its_inputs_even_the_same_one_twice(history: list[Rows]) -> None:
    check_follows(
        Union(SCHEMA),
        history,
        lambda rows: rows.add(rows).add(rows),
        lambda change: [delta(SCHEMA, change)] * 3,
    )
