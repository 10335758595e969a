"""Which nodes run when views are added: only what is new and what it cannot read."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.circuit.operators import (
    Aggregate,
    Arrange,
    Filter,
    Index,
    Join,
    PartialAggregate,
    Project,
    Table,
    Values,
    View,
)
from penstock.circuit.program import Edge, Program, cut
from penstock.expr.nodes import Call, Column
from penstock.schedule.fill import Fill, plan_fill
from penstock.sql import plan as p
from penstock.sql.planner import Planner
from tests.schedule.shop import BY_K, DOUBLE, LONG, ONE, SCAN_T, TEXT, VIEWS, T, U, call, col, fields, join

SCAN_BY_K = p.Scan(BY_K.schema, "by_k")
COUNTED = p.Aggregate(
    fields(k=TEXT, c=LONG, hi=LONG),
    SCAN_T,
    (col(SCAN_T, 1),),
    (call("Count", LONG, ONE), call("Max", LONG, col(SCAN_T, 0))),
)
SCAN_COUNTED = p.Scan(COUNTED.schema, "counted")
NEGATED = p.Project(
    fields(id=LONG, x=DOUBLE),
    SCAN_T,
    (col(SCAN_T, 0), Call(DOUBLE, True, "UnaryMinus", (col(SCAN_T, 2),))),
)
SCAN_NEGATED = p.Scan(NEGATED.schema, "negated")


def count(child: p.Plan) -> p.Plan:
    """How many rows there are."""
    return p.Aggregate(fields(c=LONG), child, (), (call("Count", LONG, ONE),))


PLANS: dict[str, p.Plan] = {
    **VIEWS,
    "counted": COUNTED,
    "negated": NEGATED,
    "count": count(SCAN_T),
    "count_by_k": count(SCAN_BY_K),
    "count_counted": count(SCAN_COUNTED),
    "count_negated": count(SCAN_NEGATED),
    "over_counted": join(SCAN_COUNTED, SCAN_T, [(0, 1)]),
    "pairs_again": p.Project(
        fields(x=DOUBLE, n=LONG), VIEWS["pairs"], (Column(DOUBLE, True, 2), Column(LONG, True, 1))
    ),
    "by_x": join(SCAN_T, SCAN_T, [(2, 2)]),
}
NEEDS = {"by_n": "pairs", "count_by_k": "by_k", "count_counted": "counted", "over_counted": "counted"}
NEEDS |= {"count_negated": "negated"}


def program(*views: str) -> Program:
    planner = Planner()
    planner.add_table("t", T.arrow_schema, (0,))
    planner.add_table("u", U.arrow_schema, ())
    for name in views:
        planner.add_view(name, PLANS[name])
    return cut(planner.build())


def added(old: Sequence[str], new: Sequence[str], workers: int = 2) -> tuple[Program, Fill, frozenset[str]]:
    """The program with both, the fill of what is new in it, and what was there."""
    before, after = program(*old), program(*old, *new)
    present = frozenset(before.slots)
    return after, plan_fill(after, set(after.slots) - present, workers), present


def kinds(of: Program, nodes: object) -> list[type]:
    assert isinstance(nodes, frozenset | dict)
    return [type(of.circuit.nodes[node].operator) for node in sorted(nodes)]


def test_a_count_over_a_table_runs_three_operators() -> None:
    of, fill, _ = added(list(VIEWS), ["count"])
    assert kinds(of, fill.computed) == [PartialAggregate, Aggregate, View]
    table = of.circuit.tables["t"]
    assert fill.read == {table: table}
    assert fill.exchanging(of) == {0}


def test_a_view_over_a_view_starts_from_its_rows() -> None:
    of, fill, _ = added(["counted"], ["count_counted"])
    assert kinds(of, fill.computed) == [PartialAggregate, Aggregate, View]
    [(stream, holder)] = fill.read.items()
    assert isinstance(of.circuit.nodes[stream].operator, Aggregate)
    assert holder == of.circuit.views["counted"]


def test_sums_of_doubles_are_read_but_not_what_may_be_another_zero_than_the_stored_one() -> None:
    of, fill, _ = added(["by_k"], ["count_by_k"])
    assert list(fill.read.values()) == [of.circuit.views["by_k"]]
    of, fill, _ = added(["negated"], ["count_negated"])
    assert list(fill.read) == [of.circuit.tables["t"]]
    assert kinds(of, fill.computed) == [Project, PartialAggregate, Aggregate, View]


def test_a_shared_join_is_computed_from_the_arrangements_that_are_there() -> None:
    of, fill, _ = added(["pairs"], ["pairs_again"])
    assert kinds(of, fill.read) == [Arrange, Arrange]
    assert kinds(of, fill.computed) == [Join, View] or kinds(of, fill.computed) == [Join, Project, View]
    assert not fill.exchanging(of)


def outputs_of(program: Program, node: int) -> list[Edge]:
    return [edge for edge in program.edges if edge.source == node]


def test_another_index_of_a_table_starts_from_the_table() -> None:
    of, fill, _ = added(["pairs"], ["by_x"])
    assert kinds(of, fill.read) == [Table]
    assert kinds(of, fill.computed) == [Index, Arrange, Join, View]


def test_rows_in_the_wrong_place_are_computed_and_not_read() -> None:
    """A join on the columns just grouped by makes no exchange: it needs the groups where they were made."""
    of, fill, _ = added(["counted"], ["over_counted"], workers=2)
    index = [node for node in of.circuit.nodes if isinstance(node.operator, Index)]
    assert any(not of.circuit.nodes[e.target].exchanged[0] for n in index for e in outputs_of(of, n.id))
    assert of.circuit.views["counted"] not in fill.read.values()
    assert Aggregate in kinds(of, fill.computed)
    of, fill, _ = added(["counted"], ["over_counted"], workers=1)
    assert of.circuit.views["counted"] in fill.read.values()
    assert Aggregate not in kinds(of, fill.computed)


def test_a_view_that_keeps_no_rows_is_not_read() -> None:
    planner = Planner()
    planner.add_table("t", T.arrow_schema, (0,))
    planner.add_view("counted", COUNTED, keeps_rows=False)
    present = set(cut(planner.build()).slots)
    planner.add_view("count_counted", PLANS["count_counted"])
    of = cut(planner.build())
    fill = plan_fill(of, set(of.slots) - present, 2)
    assert list(fill.read) == [of.circuit.tables["t"]]
    assert of.circuit.views["counted"] not in fill.computed


def test_rows_without_a_key_are_missing_behind_an_index_for_joins() -> None:
    """The arrangement of ``big`` by ``k`` has no rows with a NULL there, so the filter runs again."""
    planner = Planner()
    planner.add_table("t", T.arrow_schema, (0,))
    planner.add_table("u", U.arrow_schema, ())
    planner.add_view("joined", join(VIEWS["big"], p.Scan(fields(k=TEXT, n=LONG), "u"), [(1, 0)]))
    present = set(cut(planner.build()).slots)
    planner.add_view("n", count(VIEWS["big"]))
    of = cut(planner.build())
    fill = plan_fill(of, set(of.slots) - present, 1)
    assert kinds(of, fill.computed) == [Filter, PartialAggregate, Aggregate, View]
    assert kinds(of, fill.read) == [Table]


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[str], list[str]]:
    """Views that are there, and views that are added; each after what it reads."""
    order = draw(st.permutations(list(PLANS)))
    listed: list[str] = []
    for name in order:
        needed = [NEEDS[name]] if name in NEEDS else []
        listed += [one for one in (*needed, name) if one not in listed]
    split = draw(st.integers(0, len(listed)))
    return listed[:split], listed[split : draw(st.integers(split, len(listed)))]


@given(history=histories(), workers=st.sampled_from([1, 2]))
@settings(max_examples=80, deadline=None)
def test_a_fill_is_complete_and_does_nothing_else(history: tuple[list[str], list[str]], workers: int) -> None:
    of, fill, present = added(*history, workers)
    nodes = of.circuit.nodes
    assert fill.slots == set(of.slots) - present
    assert fill.computed.isdisjoint(fill.read)
    for node in nodes:
        new = [node.slot(i) in fill.slots for i in range(node.operator.slots)]
        assert all(new) or not any(new)
        if any(new):
            assert node.id in fill.computed
        wanted = any(edge.target in fill.computed for edge in outputs_of(of, node.id))
        if node.id in fill.computed:  # it has what it needs, and there is a reason
            assert all(source in fill.computed or source in fill.read for source in node.inputs)
            assert any(new) or wanted
        if node.id in fill.read:
            holder = nodes[fill.read[node.id]]
            assert wanted and holder.operator.readable
            assert holder.slot(0) in present
            assert not any(e.exchange for e in outputs_of(of, node.id) if e.target in fill.computed)
        if isinstance(node.operator, Table | Arrange | View) and not any(new):
            assert node.id not in fill.computed  # it keeps all that it ever gave
    assert fill.exchanging(of) <= set(range(of.levels - 1))


@pytest.mark.parametrize("workers", [1, 2])
def test_nothing_that_is_missing_means_nothing_to_do(workers: int) -> None:
    of = program(*VIEWS)
    assert plan_fill(of, (), workers) == Fill(frozenset(), frozenset(), {})


def test_a_new_pipeline_computes_everything() -> None:
    of = program(*VIEWS)
    fill = plan_fill(of, of.slots, 2)
    assert fill.computed == {node.id for node in of.circuit.nodes} and not fill.read
    assert Values in kinds(of, fill.computed)
