"""Building circuits: equal parts are one node, and the names of arrangements never change by accident."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql.types import BooleanType, DoubleType, LongType, StringType

from penstock.circuit.accumulators import Extremum
from penstock.circuit.circuit import CircuitBuilder
from penstock.circuit.feeds import OrderedFeed, SumsFeed
from penstock.circuit.operators import (
    Aggregate,
    AppendTable,
    AppendTopK,
    Arrange,
    Distinct,
    Filter,
    Index,
    Join,
    Project,
    Table,
    TopK,
    Union,
    Values,
    View,
    Window,
)
from penstock.circuit.ordering import OrderBy, Ordering
from penstock.expr.nodes import Call, Column, Literal
from penstock.trace.order import IMAGE
from tests.schedule.shop import program

SCHEMA = pa.schema([("id", pa.int64()), ("k", pa.string()), ("x", pa.float64())])
ID, K, X = (
    Column(LongType(), False, 0, "id"),
    Column(StringType(), True, 1, "k"),
    Column(DoubleType(), True, 2, "x"),
)


def test_equal_operators_over_equal_inputs_are_one_node_whatever_their_columns_are_called() -> None:
    builder = CircuitBuilder()
    table = builder.add_table("t", Table(SCHEMA, "t", (0,)))
    named = Project(pa.schema([("a", pa.string())]), (Column(StringType(), True, 1, "k"),))
    other = Project(pa.schema([("b", pa.string())]), (Column(StringType(), True, 1, "other"),))
    assert builder.add(named, (table,)) == builder.add(other, (table,))
    assert builder.add(named, (table,), (True,)) != builder.add(named, (table,), (False,))
    assert builder.add_view("v", View(named.schema, "v"), 1) != builder.add_view(
        "w", View(named.schema, "w"), 1
    )


def test_operators_that_differ_in_anything_that_matters_are_different_nodes() -> None:
    builder = CircuitBuilder()
    table = builder.add_table("t", Table(SCHEMA, "t", (0,)))
    zero, minus_zero = Literal(DoubleType(), False, 0.0), Literal(DoubleType(), False, -0.0)
    schema = pa.schema([("x", pa.float64())])
    variants = [
        Project(schema, (X,)),
        Project(pa.schema([("x", pa.float32())]), (X,)),
        Project(schema, (zero,)),
        Project(schema, (minus_zero,)),
        Project(schema, (Literal(DoubleType(), False, None),)),
        Filter(schema, Literal(BooleanType(), False, True)),
    ]
    assert len({builder.add(variant, (table,)) for variant in variants}) == len(variants)


def test_views_of_a_node_are_those_that_depend_on_it() -> None:
    builder = CircuitBuilder()
    table = builder.add_table("t", Table(SCHEMA, "t", (0,)))
    shared = builder.add(Filter(SCHEMA, Literal(BooleanType(), False, True)), (table,))
    only = builder.add(Distinct(SCHEMA), (shared,))
    builder.add_view("a", View(SCHEMA, "a"), shared)
    builder.add_view("b", View(SCHEMA, "b"), only)
    circuit = builder.build()
    assert circuit.views_of(table) == circuit.views_of(shared) == ("a", "b")
    assert circuit.views_of(only) == ("b",)


# Fingerprints name state on disk. If this test fails, stored pipelines lose their state at the next upgrade:
# change it only together with a migration, or while nothing has been released.
GOLDEN = {
    "table": "850c3314f5ffb096dcc19f38",
    "keyless": "51321904dc933b9f1594b413",
    "append": "264ed88244bbd28d8dba9bbe",
    "values": "b47e2e7f9f4384a8d86de952",
    "filter": "0f85f67177d4e813f1df2436",
    "project": "f8ad4b3e6986878bba95f669",
    "union": "c100b800f3e2426c9447440d",
    "index": "825b34f9cd022222cbadda5f",
    "arrange": "35db68e258d3672704b62878",
    "join": "e232052e002a88744b36d07a",
    "distinct": "bc71d6e28e5747325b212d08",
    "view": "7bb003e29f9b21ec6989ff3a",
    "by_k": "e098f628035e5aeace0b1603",
    "whole": "097b2a96790ea8d1a3cc440f",
}


def fingerprints() -> dict[str, str]:
    """Nodes of many kinds by name, over the same few tables."""
    builder = CircuitBuilder()
    key = pa.schema([("k", pa.string())])
    below = Call(BooleanType(), True, "LessThan", (X, Literal(DoubleType(), False, 1.5)))
    nodes = {
        "table": builder.add_table("t", Table(SCHEMA, "t", (0,))),
        "keyless": builder.add_table("u", Table(SCHEMA, "u", ())),
        "append": builder.add_table("a", AppendTable(SCHEMA, "a")),
        "values": builder.add(Values(SCHEMA, ((1, "a", 0.5), (None, None, None)))),
    }
    nodes["filter"] = builder.add(Filter(SCHEMA, below), (nodes["table"],))
    nodes["project"] = builder.add(Project(key, (K,)), (nodes["filter"],))
    nodes["union"] = builder.add(Union(SCHEMA), (nodes["filter"], nodes["values"]))
    nodes["index"] = builder.add(Index(SCHEMA, (K, ID), (True, False)), (nodes["union"],))
    nodes["arrange"] = builder.add(Arrange(SCHEMA), (nodes["index"],), (True,))
    nodes["join"] = builder.add(Join(SCHEMA, below, (0, 4, 2)), (nodes["arrange"], nodes["table"]))
    nodes["distinct"] = builder.add(Distinct(key), (nodes["project"],), (True,))
    nodes["view"] = builder.add_view("v", View(SCHEMA, "v"), nodes["join"])
    circuit = builder.build()
    found = {name: circuit.nodes[node].fingerprint for name, node in nodes.items()}
    planned = program("by_k", "whole").circuit  # aggregates, as the planner puts them together
    for name, sink in planned.views.items():
        found[name] = planned.nodes[planned.nodes[sink].inputs[0]].fingerprint
    return found


def test_fingerprints_are_what_they_always_were() -> None:
    assert fingerprints() == GOLDEN


def test_a_slot_is_named_by_fingerprint_and_number() -> None:
    builder = CircuitBuilder()
    table = builder.add_table("t", Table(SCHEMA, "t", (0,)))
    circuit = builder.build()
    assert circuit.nodes[table].slot(0) == f"{circuit.nodes[table].fingerprint}.0"


def test_what_is_kept_in_the_order_of_an_image_is_told_apart_from_what_another_image_ordered() -> None:
    ordering = Ordering((OrderBy(0),))
    totals, largest = SumsFeed(()), OrderedFeed(Extremum(LongType(), (), descending=True))
    for kept in (
        TopK(SCHEMA, ordering, 0, 1),
        AppendTopK(SCHEMA, ordering, 0, 1),
        Window(SCHEMA, ordering, ()),
        Aggregate(SCHEMA, 1, (totals, largest), ()),
    ):
        assert IMAGE in kept.identity()
    assert IMAGE not in Aggregate(SCHEMA, 1, (totals,), ()).identity()
