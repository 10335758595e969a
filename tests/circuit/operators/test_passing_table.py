"""Tables that hand their rows on and keep none."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.circuit.circuit import CircuitBuilder
from penstock.circuit.delta import Delta
from penstock.circuit.operators import Filter, PassingTable
from penstock.zset import ReferenceZSet
from tests.circuit.alone import Alone, Change, delta, meaning
from tests.circuit.operators.plain import ROW, SCHEMA, K


@given(steps=st.lists(st.lists(st.tuples(ROW, st.just(1)), max_size=6), max_size=6))
@settings(deadline=None, max_examples=25)
def test_rows_are_handed_on_as_they_come(steps: list[Change]) -> None:
    alone = Alone(PassingTable(SCHEMA, "t"))
    for change in steps:
        out = alone.step(delta(SCHEMA, change, (0,)))
        assert isinstance(out, Delta)
        assert meaning(out) == ReferenceZSet.of_rows(change) and len(out) == len(change)
        assert out.keys is None  # rows are on any worker, so a reader by key must exchange them
    assert not alone.spines


def test_nothing_can_be_filled_from_it() -> None:
    table = PassingTable(SCHEMA, "t")
    assert table.slots == 0 and not table.opens
    alone = Alone(table)
    alone.step(delta(SCHEMA, [(("a", 1), 1)]))
    alone.opening = True
    assert len(table.idle(alone)) == 0


def test_its_rows_are_on_any_worker_and_never_go() -> None:
    table = PassingTable(SCHEMA, "t")
    assert table.routing is None
    builder = CircuitBuilder()
    source = builder.add_table("t", table)
    assert builder.is_insert_only(source) and not builder.is_static(source)
    assert builder.is_insert_only(builder.add(Filter(SCHEMA, K), (source,)))
