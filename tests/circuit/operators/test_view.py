"""The end of a view: its changes consolidated, and their sum kept."""

from __future__ import annotations

from hypothesis import given, settings

from penstock.circuit.delta import Delta
from penstock.circuit.operators import View
from penstock.trace import merge_runs
from penstock.zset import ReferenceZSet
from tests.circuit.alone import Alone, Rows, delta, histories, meaning
from tests.circuit.operators.plain import ROW, SCHEMA


@given(history=histories(ROW))
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
        assert sum(map(len, merge_runs(alone.stored(0)))) == len(total)
