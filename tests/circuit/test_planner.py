"""From plans to circuits: exchanges only where rows are in the wrong place, arrangements shared by all."""

from __future__ import annotations

from penstock.circuit.circuit import Circuit, Node
from penstock.circuit.operators import Aggregate, Arrange, Distinct, Join, Project, Table
from penstock.circuit.program import cut
from penstock.sql import plan as p
from penstock.sql.planner import Planner
from tests.schedule.shop import LONG, ONE, SCAN_T, SCAN_U, TEXT, VIEWS, T, U, call, col, fields, join, project


def planned(**views: p.Plan) -> Circuit:
    planner = Planner()
    planner.add_table("t", T.arrow_schema, (0,))
    planner.add_table("u", U.arrow_schema, ())
    for name, plan in views.items():
        planner.add_view(name, plan)
    return planner.build()


def nodes(circuit: Circuit, kind: type) -> list[Node]:
    return [node for node in circuit.nodes if isinstance(node.operator, kind)]


def counted(child: p.Plan, *keys: int) -> p.Aggregate:
    names = {f"k{i}": child.schema[i].data_type for i in keys}
    return p.Aggregate(
        fields(**names, c=LONG), child, tuple(col(child, i) for i in keys), (call("Count", LONG, ONE),)
    )


def test_grouping_by_the_primary_key_moves_no_rows() -> None:
    assert cut(planned(v=counted(SCAN_T, 0))).levels == 1
    assert cut(planned(v=counted(SCAN_T, 1))).levels == 2
    assert (
        cut(planned(v=counted(SCAN_T, 0, 1))).levels == 2
    )  # spread by less than the key would do too: later


def test_a_filter_keeps_rows_in_place_and_a_projection_if_it_keeps_the_key() -> None:
    assert cut(planned(v=counted(VIEWS["big"], 0))).levels == 1
    assert cut(planned(v=counted(project(VIEWS["big"], 2, 0), 1))).levels == 1
    assert cut(planned(v=counted(project(VIEWS["big"], 2, 1), 1))).levels == 2


def test_a_join_or_a_distinct_on_what_was_grouped_by_moves_no_rows_again() -> None:
    by_k = counted(SCAN_T, 1)
    once = planned(v=join(by_k, counted(SCAN_U, 0), [(0, 0)]))
    assert cut(once).levels == 2
    assert cut(planned(v=counted(join(by_k, SCAN_U, [(0, 0)]), 0))).levels == 2
    assert cut(planned(v=p.Distinct(fields(k=TEXT), project(by_k, 0)))).levels == 2
    assert cut(planned(v=p.Distinct(fields(k=TEXT, c=LONG), by_k))).levels == 3


def test_a_distinct_of_a_keyless_table_moves_no_rows() -> None:
    assert cut(planned(v=p.Distinct(SCAN_U.schema, SCAN_U))).levels == 1


def test_the_order_of_the_keys_matters_for_where_rows_are() -> None:
    grouped = counted(SCAN_T, 1, 2)
    assert cut(planned(v=counted(grouped, 0, 1))).levels == 2
    assert cut(planned(v=counted(grouped, 1, 0))).levels == 3


def test_global_aggregates_and_cross_joins_bring_all_rows_together() -> None:
    (aggregate,) = nodes(planned(v=counted(SCAN_T)), Aggregate)
    assert aggregate.exchanged == (True,)
    crossed = planned(v=join(SCAN_T, SCAN_U, []))
    assert all(node.exchanged == (True,) for node in nodes(crossed, Arrange))
    assert len(nodes(crossed, Arrange)) == 2


def test_a_join_on_the_primary_key_uses_the_table_as_it_is() -> None:
    circuit = planned(v=join(SCAN_T, project(SCAN_T, 0, 2), [(0, 0)]))
    (joined,) = nodes(circuit, Join)
    assert isinstance(circuit.nodes[joined.inputs[0]].operator, Table)
    assert len(nodes(circuit, Arrange)) == 1


def test_views_share_arrangements_whatever_their_columns_are_called() -> None:
    first = join(SCAN_T, SCAN_U, [(1, 0)])
    renamed = p.Scan((p.Field("a", LONG, False), *fields(b=TEXT, c=SCAN_T.schema[2].data_type)), "t")
    second = project(join(renamed, SCAN_U, [(1, 0)]), 0)
    circuit = planned(v=first, w=second, again=first)
    assert len(nodes(circuit, Arrange)) == 2
    assert len(nodes(circuit, Join)) == 2  # w keeps one column only
    assert circuit.views["v"] != circuit.views["again"]
    assert circuit.nodes[circuit.views["v"]].inputs == circuit.nodes[circuit.views["again"]].inputs


def test_a_view_on_a_view_reads_the_same_stream() -> None:
    over = p.Scan(VIEWS["kinds"].schema, "kinds")
    circuit = planned(kinds=VIEWS["kinds"], more=counted(over, 0))
    assert len(nodes(circuit, Distinct)) == 1


def test_a_projection_over_a_join_gathers_only_what_it_reads() -> None:
    circuit = planned(v=project(join(SCAN_T, SCAN_U, [(1, 0)]), 4, 0))
    (joined,) = nodes(circuit, Join)
    assert joined.operator.keep == (0, 4)  # type: ignore[attr-defined]
    plain = planned(v=project(join(SCAN_T, SCAN_U, [(1, 0)]), 0, 4))
    assert not nodes(plain, Project)  # the join itself gives the columns in order
