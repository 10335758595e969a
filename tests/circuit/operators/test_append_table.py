"""Append-only tables: every row is kept as it came, on any worker."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.circuit.layout import Layout
from penstock.circuit.operators import AppendTable
from penstock.trace import merge_runs
from penstock.zset import ReferenceZSet
from tests.circuit.alone import Alone, delta, meaning
from tests.circuit.operators.plain import ROW, SCHEMA
from tests.trace.reference import is_sorted_and_consolidated


@given(steps=st.lists(st.lists(st.tuples(ROW, st.just(1)), min_size=1, max_size=6), max_size=6))
@settings(deadline=None, max_examples=25)
def test_an_append_only_table_keeps_every_row_and_opens_with_all_of_them(steps: list[list[Any]]) -> None:
    alone = Alone(AppendTable(SCHEMA, "a"))
    for change in steps:
        assert meaning(alone.step(delta(SCHEMA, change))) == ReferenceZSet.of_rows(change)
    everything = [entry for change in steps for entry in change]
    assert len(alone.spines[0]) == len(everything)  # equal rows are told apart: none is merged with another
    assert all(map(is_sorted_and_consolidated, merge_runs(alone.stored(0))))
    alone.opening = True
    assert meaning(alone.step(delta(SCHEMA, []))) == ReferenceZSet.of_rows(everything)
    assert len(alone.spines[0]) == len(everything)


def test_any_number_of_workers_shares_an_append_only_table() -> None:
    alone = Alone(AppendTable(SCHEMA, "a"))
    for size in (5, 1, 30, 200):
        alone.step(delta(SCHEMA, [(("a", i), 1) for i in range(size)]))
    for workers in (1, 3, 8):
        layout = Layout.even(workers)
        for batch in alone.spines[0].batches:
            parts = [part for worker in range(workers) for part in layout.slices(worker, batch)]
            assert sum(stop - start for start, stop in parts) == len(batch)
