"""Joins of every kind on conditions of every kind, as whole circuits on one worker and on several.

Both tables are multisets with NULLs in every column. All joins are views of one program, so that they share
arrangements; after every step each is compared with a loop over all pairs of rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql.types import BooleanType, DoubleType, LongType, StructField, StructType

from penstock.circuit.operation import Operation
from penstock.circuit.operators import Copy, Join
from penstock.circuit.program import Program, cut
from penstock.errors import EvaluationError
from penstock.expr.nodes import Call, Column, Expr, Literal
from penstock.pipeline.step_input import StepInput, pushed
from penstock.pipeline.tables import TableSchema
from penstock.schedule.opening import Opening
from penstock.sql import plan as p
from penstock.sql.joining import joined
from penstock.sql.planner import Planner
from penstock.zset import ReferenceZSet
from tests.schedule.driving import opened, run
from tests.schedule.inline import SEED, Resident, Staged, zset_of

LONG, BOOLEAN = LongType(), BooleanType()
A = TableSchema("a", StructType([StructField("k", LONG), StructField("x", LONG)]))
B = TableSchema("b", StructType([StructField("k", LONG), StructField("y", LONG)]))
SCAN_A = p.Scan((p.Field("k", LONG), p.Field("x", LONG)), "a")
SCAN_B = p.Scan((p.Field("k", LONG), p.Field("y", LONG)), "b")
K, X, L, Y = (Column(LONG, True, i, name) for i, name in enumerate(("k", "x", "l", "y")))


def call(function: str, *args: Expr) -> Call:
    return Call(BOOLEAN, True, function, args)


def number(value: int) -> Literal:
    return Literal(LONG, False, value)


EQUAL, BELOW = call("EqualTo", K, L), call("LessThan", X, Y)
NULL_AWARE = call("Or", EQUAL, call("IsNull", EQUAL))
Test = Callable[[Any, Any], bool]


def equal(a: Any, b: Any) -> bool:
    return a[0] is not None and a[0] == b[0]


def below(a: Any, b: Any) -> bool:
    return a[1] is not None and b[1] is not None and a[1] < b[1]


def equal_or_null(a: Any, b: Any) -> bool:
    return a[0] is None or b[0] is None or a[0] == b[0]


CONDITIONS: dict[str, tuple[list[Expr], Test]] = {
    "nothing": ([], lambda a, b: True),
    "key": ([EQUAL], equal),
    "null_safe": ([call("EqualNullSafe", L, K)], lambda a, b: a[0] == b[0]),
    "two_keys": (
        [EQUAL, call("EqualNullSafe", X, Y)],
        lambda a, b: equal(a, b) and a[1] == b[1],
    ),
    "residual": ([EQUAL, BELOW], lambda a, b: equal(a, b) and below(a, b)),
    "theta": ([BELOW], below),
    "left_side": (
        [EQUAL, call("GreaterThan", X, number(1))],
        lambda a, b: equal(a, b) and a[1] is not None and a[1] > 1,
    ),
    "right_side": (
        [EQUAL, call("GreaterThan", Y, number(1)), BELOW],
        lambda a, b: equal(a, b) and b[1] is not None and b[1] > 1 and below(a, b),
    ),
    "left_side_only": ([call("GreaterThan", X, number(1))], lambda a, b: a[1] is not None and a[1] > 1),
    "never": ([Literal(BOOLEAN, False, False)], lambda a, b: False),
    "null_aware": ([NULL_AWARE], equal_or_null),
    "null_aware_and_key": (
        [NULL_AWARE, call("EqualTo", X, Y)],
        lambda a, b: equal_or_null(a, b) and a[1] is not None and a[1] == b[1],
    ),
    "null_aware_and_residual": ([NULL_AWARE, BELOW], lambda a, b: equal_or_null(a, b) and below(a, b)),
    "null_aware_twice": (
        [NULL_AWARE, call("Or", call("EqualTo", X, Y), call("IsNull", call("EqualTo", X, Y)))],
        lambda a, b: equal_or_null(a, b) and (a[1] is None or b[1] is None or a[1] == b[1]),
    ),
}
KINDS = ("inner", "left", "full", "semi", "anti", "existence")
VIEWS = {f"{kind} {name}": (kind, name) for kind in KINDS for name in CONDITIONS}


def expected(kind: str, matches: Test, a: ReferenceZSet, b: ReferenceZSet) -> ReferenceZSet:
    pairs = a.join(b, matches)

    def has(one: Any) -> bool:
        return any(matches(one, other) for other in b.weights)

    if kind == "existence":
        return a.map(lambda one: (*one, has(one)))
    if kind in ("semi", "anti"):
        return a.filter(lambda one: has(one) == (kind == "semi"))
    if kind in ("left", "full"):
        pairs = pairs.add(a.filter(lambda one: not has(one)).map(lambda one: (*one, None, None)))
    if kind == "full":
        alone = b.filter(lambda other: not any(matches(one, other) for one in a.weights))
        pairs = pairs.add(alone.map(lambda other: (None, None, *other)))
    return pairs


def program(**views: p.Plan) -> Program:
    planner = Planner()
    for table in (A, B):
        planner.add_table(table.name, table.arrow_schema, ())
    for name, plan in views.items():
        planner.add_view(name, plan)
    return cut(planner.build())


PROGRAM = program(
    **{name: joined(SCAN_A, SCAN_B, kind, CONDITIONS[on][0]) for name, (kind, on) in VIEWS.items()}
)


class Tables:
    """The two tables as lists, and pushes that change them."""

    def __init__(self) -> None:
        self.rows: dict[str, list[Any]] = {"a": [], "b": []}

    def zset(self, name: str) -> ReferenceZSet:
        return ReferenceZSet.of_rows((row, 1) for row in self.rows[name])

    def push(self, **changes: tuple[list[Any], list[Any]]) -> StepInput:
        """For each table rows that come and rows that go."""
        parts = []
        for table in (A, B):
            for rows, weight in zip(changes.get(table.name, ([], [])), (1, -1), strict=True):
                for row in rows:
                    held = self.rows[table.name]
                    held.append(row) if weight > 0 else held.remove(row)
                columns = [pa.array([row[i] for row in rows], pa.int64()) for i in range(2)]
                batch = pa.RecordBatch.from_arrays(columns, schema=table.arrow_schema)
                parts.append((table.name, pushed(table, batch, Operation(weight), SEED)))
        return StepInput.of(parts, 0)

    def random(self, rng: np.random.Generator) -> StepInput:
        """Mostly small changes; now and then a table is emptied, or loses all NULLs."""
        changes = {}
        for name, held in self.rows.items():
            values = [*range(4), None] if rng.integers(3) else [*range(4)]
            added = [
                (values[int(rng.integers(len(values)))], values[int(rng.integers(len(values)))])
                for _ in range(int(rng.integers(12)))
            ]
            fate = int(rng.integers(4))
            gone = held if fate == 0 else [row for row in held if fate == 1 and None in row] or held[:1]
            changes[name] = (added if fate else [], list(gone))
        return self.push(**changes)


@pytest.mark.parametrize(("kind", "workers"), [(Resident, 1), (Resident, 3), (Staged, 2)])
def test_every_join_is_right_after_every_step(kind: type[Resident], workers: int) -> None:
    tables, rng = Tables(), np.random.default_rng(100)
    crew = opened(kind, workers, PROGRAM)
    spoken: dict[str, int] = dict.fromkeys(VIEWS, 0)
    for step in range(1, 9 if kind is Resident else 5):
        run(crew, step, tables.random(rng))
        a, b = tables.zset("a"), tables.zset("b")
        for name, (joint, on) in VIEWS.items():
            found = zset_of(crew.read(name))
            assert found == expected(joint, CONDITIONS[on][1], a, b), (step, name)
            spoken[name] += len(found)
    if kind is Resident:
        assert {name for name, rows in spoken.items() if not rows} == {"inner never", "semi never"}


def test_a_view_created_later_is_filled_from_the_tables() -> None:
    tables = Tables()
    crew = opened(Resident, 2, program(of_a=SCAN_A))
    run(crew, 1, tables.push(a=([(1, 1), (None, 2), (2, 2)], []), b=([(1, 5), (1, 5)], [])))
    replies = crew.commit(2)
    arrangements: dict[str, Any] = {}
    for reply in replies:
        for slot, refs in reply.arrangements.items():
            arrangements.setdefault(slot, []).extend(refs)
    later = Resident(PROGRAM, 3, crew.backend)
    later.open(Opening(0, arrangements, tuple(s for s in PROGRAM.slots if s not in arrangements)))
    run(later, 2, None)
    a, b = tables.zset("a"), tables.zset("b")
    for name, (kind, on) in VIEWS.items():
        assert zset_of(later.read(name)) == expected(kind, CONDITIONS[on][1], a, b), name


COUNT = p.Aggregate(
    (p.Field("n", LONG, False),), SCAN_B, (), (p.AggregateCall("Count", (number(1),), LONG, False),)
)


def test_a_join_with_one_row_leaves_the_other_side_on_all_workers() -> None:
    of = program(v=joined(SCAN_A, COUNT, "inner", []))
    operators = [node.operator for node in of.circuit.nodes]
    assert any(isinstance(operator, Copy) for operator in operators)
    crew, tables = opened(Resident, 4, of), Tables()
    run(crew, 1, tables.push(a=([(n, n) for n in range(100)], []), b=([(1, 1)], [])))
    assert [sum(part.num_rows for part in worker.read("v").batches) > 0 for worker in crew.workers] == [
        True
    ] * 4
    assert zset_of(crew.read("v")) == tables.zset("a").map(lambda row: (*row, 1))
    run(crew, 2, tables.push(b=([(1, 1), (2, 2)], [(1, 1)])))
    assert zset_of(crew.read("v")) == tables.zset("a").map(lambda row: (*row, 2))


SINGLE_B = p.SingleRow(
    (p.Field("y", LONG),), p.Project((p.Field("y", LONG),), SCAN_B, (Column(LONG, True, 1),))
)


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize(
    "plan",
    [
        joined(SCAN_A, SINGLE_B, "inner", []),
        joined(SCAN_A, SCAN_B, "single", [EQUAL]),
        joined(SCAN_A, SCAN_B, "single", [EQUAL, call("LessThanOrEqual", X, Y)]),
    ],
    ids=["uncorrelated", "correlated", "correlated with a condition"],
)
def test_a_scalar_subquery_of_two_rows_fails_the_step_and_leaves_no_trace(plan: p.Plan, workers: int) -> None:
    of = program(v=plan)
    crew, tables = opened(Resident, workers, of), Tables()

    def values() -> ReferenceZSet:
        last = len(plan.schema) - 1
        return zset_of(crew.read("v")).select([0, 1, last])

    run(crew, 1, tables.push(a=([(1, 1)], [])))
    assert values() == ReferenceZSet({(1, 1, None): 1})
    run(crew, 2, tables.push(b=([(1, 5)], [])))
    assert values() == ReferenceZSet({(1, 1, 5): 1})
    with pytest.raises(EvaluationError) as raised:
        run(crew, 3, tables.push(b=([(1, 6)], [])))
    assert raised.value.condition == "SCALAR_SUBQUERY_TOO_MANY_ROWS"
    assert raised.value.view == "v"
    tables.rows["b"].remove((1, 6))
    run(crew, 3, tables.push(b=([(1, 7)], [(1, 5)])))
    assert values() == ReferenceZSet({(1, 1, 7): 1})


def test_an_expression_is_not_evaluated_on_a_pair_of_rows_that_never_met() -> None:
    """A row with divisor 0 leaves in the step in which its partner comes."""
    plan = joined(SCAN_A, SCAN_B, "inner", [EQUAL])
    double = [Call(DoubleType(), True, "Cast", (c,), (("mode", "ANSI"), ("timezone", "UTC"))) for c in (X, Y)]
    quotient = Call(DoubleType(), True, "Divide", tuple(double), (("mode", "ANSI"),))
    of = program(v=p.Project((p.Field("q", DoubleType()),), plan, (quotient,)))
    assert any(isinstance(node.operator, Join) for node in of.circuit.nodes)
    crew, tables = opened(Resident, 2, of), Tables()
    run(crew, 1, tables.push(b=([(1, 0)], [])))
    run(crew, 2, tables.push(a=([(1, 4)], []), b=([(1, 2)], [(1, 0)])))
    assert zset_of(crew.read("v")) == ReferenceZSet({(2.0,): 1})
    with pytest.raises(EvaluationError, match="DIVIDE_BY_ZERO"):
        run(crew, 3, tables.push(b=([(1, 0)], [])))
