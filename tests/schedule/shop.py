"""Two small tables and views of every kind over them, with their contents worked out the slow way.

Plans are built node by node, so no Spark is needed to test how they run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql.types import (
    BooleanType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from penstock.circuit.operation import Operation
from penstock.circuit.program import Program, cut
from penstock.expr.nodes import Call, Column, Literal
from penstock.pipeline.step_input import StepInput, pushed
from penstock.pipeline.tables import TableSchema
from penstock.sql import plan as p
from penstock.sql.planner import Planner
from penstock.zset import HashSeed, ReferenceZSet
from penstock.zset.reference import Row
from tests.circuit.sums import exact_sum
from tests.schedule.inline import SEED
from tests.trace.reference import spark_order

LONG, DOUBLE, TEXT = LongType(), DoubleType(), StringType()

T = TableSchema(
    "t",
    StructType([StructField("id", LONG, False), StructField("k", TEXT), StructField("x", DOUBLE)]),
    ("id",),
)
U = TableSchema("u", StructType([StructField("k", TEXT), StructField("n", LONG)]))


def fields(**types: DataType) -> tuple[p.Field, ...]:
    return tuple(p.Field(name, kind) for name, kind in types.items())


def col(plan: p.Plan, ordinal: int) -> Column:
    return Column(
        plan.schema[ordinal].data_type, plan.schema[ordinal].nullable, ordinal, plan.schema[ordinal].name
    )


def call(function: str, kind: DataType, *args: Any, **options: Any) -> p.AggregateCall:
    return p.AggregateCall(function, args, kind, True, **options)


def project(child: p.Plan, *ordinals: int) -> p.Project:
    return p.Project(tuple(child.schema[i] for i in ordinals), child, tuple(col(child, i) for i in ordinals))


def join(left: p.Plan, right: p.Plan, keys: Sequence[tuple[int, int]], condition: Any = None) -> p.Join:
    return p.Join(
        left.schema + right.schema,
        left,
        right,
        "inner",
        tuple(col(left, i) for i, _ in keys),
        tuple(col(right, j) for _, j in keys),
        (False,) * len(keys),
        condition,
    )


ONE = Literal(IntegerType(), False, 1)
SCAN_T = p.Scan((p.Field("id", LONG, False), *fields(k=TEXT, x=DOUBLE)), "t")
SCAN_U = p.Scan(fields(k=TEXT, n=LONG), "u")
POSITIVE = Call(BooleanType(), True, "GreaterThan", (col(SCAN_T, 2), Literal(DOUBLE, False, 0.0)))
BY_K = p.Aggregate(
    fields(k=TEXT, c=LONG, s=DOUBLE, hi=DOUBLE, ids=LONG),
    SCAN_T,
    (col(SCAN_T, 1),),
    (
        call("Count", LONG, ONE),
        call("Sum", DOUBLE, col(SCAN_T, 2)),
        call("Max", DOUBLE, col(SCAN_T, 2)),
        call("Min", LONG, col(SCAN_T, 0), filter=POSITIVE),
    ),
)
MATCHED = join(
    SCAN_T,
    SCAN_U,
    [(1, 0)],
    Call(BooleanType(), True, "LessThan", (Column(LONG, False, 0), Column(LONG, True, 4))),
)
PAIRS = project(MATCHED, 0, 4, 2)
SCAN_PAIRS = p.Scan(PAIRS.schema, "pairs")
KINDS = p.Distinct(fields(k=TEXT), project(SCAN_U, 0))
CONSTANTS = p.Values(fields(a=LONG, b=TEXT), ((1, "one"), (2, None)))

VIEWS: dict[str, p.Plan] = {
    "big": p.Filter(SCAN_T.schema, SCAN_T, POSITIVE),
    "by_k": BY_K,
    "pairs": PAIRS,
    "kinds": KINDS,
    "by_n": p.Aggregate(
        fields(n=LONG, c=LONG, s=DOUBLE),
        SCAN_PAIRS,
        (col(SCAN_PAIRS, 1),),
        (call("Count", LONG, col(SCAN_PAIRS, 2)), call("Sum", DOUBLE, col(SCAN_PAIRS, 2))),
    ),
    "all_k": p.Union(fields(k=TEXT), (project(SCAN_T, 1), project(SCAN_U, 0), project(SCAN_T, 1))),
    "whole": p.Aggregate(
        fields(c=LONG, s=LONG, lo=LONG),
        SCAN_U,
        (),
        (call("Count", LONG, ONE), call("Sum", LONG, col(SCAN_U, 1)), call("Min", LONG, col(SCAN_U, 1))),
    ),
    "self": join(SCAN_T, SCAN_T, [(0, 0)]),
    "by_id": p.Aggregate(
        fields(id=LONG, c=LONG), SCAN_T, (col(SCAN_T, 0),), (call("Count", LONG, col(SCAN_T, 1)),)
    ),
    "crossed": join(CONSTANTS, KINDS, []),
    "deep": join(BY_K, join(SCAN_U, KINDS, [(0, 0)]), [(0, 0)]),
}


def program(*views: str) -> Program:
    """The program of some of the views (all, if none is named)."""
    planner = Planner()
    planner.add_table("t", T.arrow_schema, (0,))
    planner.add_table("u", U.arrow_schema, ())
    for name in views or VIEWS:
        planner.add_view(name, VIEWS[name])
    return cut(planner.build())


def _max(values: list[Any]) -> Any:
    return max(values, key=spark_order, default=None)


def _by_k(t: ReferenceZSet, u: ReferenceZSet) -> ReferenceZSet:
    rows = []
    for (k,), part in t.groups([1]).items():
        xs = [row[2] for row in part.weights if row[2] is not None]
        ids = [row[0] for row in part.weights if row[2] is not None and spark_order(row[2]) > (False, 0.0)]
        total = exact_sum([float("nan") if x == ("NaN",) else x for x in xs])
        rows.append(((k, len(part), total, _max(xs), min(ids, default=None)), 1))  # type: ignore[type-var]
    return ReferenceZSet.of_rows(rows)


def _pairs(t: ReferenceZSet, u: ReferenceZSet) -> ReferenceZSet:
    def matches(left: Row, right: Row) -> bool:
        return left[1] is not None and left[1] == right[0] and right[1] is not None and left[0] < right[1]  # type: ignore[operator]

    return t.join(u, matches).select([0, 4, 2])


def _by_n(t: ReferenceZSet, u: ReferenceZSet) -> ReferenceZSet:
    rows = []
    for (n,), part in _pairs(t, u).groups([1]).items():
        xs = [row[2] for row, weight in part.weights.items() for _ in range(weight) if row[2] is not None]
        rows.append(((n, len(xs), exact_sum([float("nan") if x == ("NaN",) else x for x in xs])), 1))
    return ReferenceZSet.of_rows(rows)


def _whole(t: ReferenceZSet, u: ReferenceZSet) -> ReferenceZSet:
    ns: list[Any] = [row[1] for row, weight in u.weights.items() for _ in range(weight) if row[1] is not None]
    count = sum(u.weights.values())
    return ReferenceZSet.of_rows([((count, sum(ns) if ns else None, min(ns, default=None)), 1)])


def _kinds(t: ReferenceZSet, u: ReferenceZSet) -> ReferenceZSet:
    return u.select([0]).distinct()


EXPECTED: Mapping[str, Callable[[ReferenceZSet, ReferenceZSet], ReferenceZSet]] = {
    "t": lambda t, u: t,
    "u": lambda t, u: u,
    "big": lambda t, u: t.filter(lambda r: r[2] is not None and spark_order(r[2]) > (False, 0.0)),
    "by_k": _by_k,
    "pairs": _pairs,
    "kinds": _kinds,
    "by_n": _by_n,
    "all_k": lambda t, u: t.select([1]).add(t.select([1])).add(u.select([0])),
    "whole": _whole,
    "self": lambda t, u: t.join(t, lambda one, other: one[0] == other[0]),
    "by_id": lambda t, u: t.map(lambda r: (r[0], int(r[1] is not None))),
    "crossed": lambda t, u: ReferenceZSet({(1, "one"): 1, (2, None): 1}).join(
        _kinds(t, u), lambda a, b: True
    ),
    "deep": lambda t, u: _by_k(t, u).join(
        u.join(_kinds(t, u), lambda a, b: a[0] == b[0] and a[0] is not None), lambda a, b: a[0] == b[0]
    ),
}


@dataclass
class Shop:
    """The tables as a dictionary and a multiset, and pushes that change them."""

    seed: HashSeed = SEED
    t: dict[int, tuple[Any, Any]] = field(default_factory=dict)
    u: list[tuple[Any, Any]] = field(default_factory=list)

    def contents(self, name: str) -> ReferenceZSet:
        """What a table or view must hold."""
        t = ReferenceZSet.of_rows(((key, *rest), 1) for key, rest in self.t.items())
        return EXPECTED[name](t, ReferenceZSet.of_rows((row, 1) for row in self.u))

    def input(self, *pushes: tuple[TableSchema, Sequence[tuple[Any, ...]], int], at_us: int = 0) -> StepInput:
        """A step's input, and the same done to the model."""
        parts = []
        for table, rows, operation in pushes:
            schema = table.arrow_schema
            columns = [pa.array([row[i] for row in rows], f.type) for i, f in enumerate(schema)]
            batch = pa.RecordBatch.from_arrays(columns, schema=schema)
            parts.append((table.name, pushed(table, batch, Operation(operation), self.seed)))
            for row in rows:
                self._apply(table, row, operation)
        return StepInput.of(parts, at_us)

    def _apply(self, table: TableSchema, row: tuple[Any, ...], operation: int) -> None:
        if table is U and operation > 0:
            self.u.append(row)  # type: ignore[arg-type]
        elif table is U:
            self.u.remove(row)  # type: ignore[arg-type]
        elif operation == Operation.DELETE:
            self.t.pop(row[0], None)
        else:
            self.t[row[0]] = row[1:]  # type: ignore[assignment]

    def random(self, rng: np.random.Generator, size: int = 12, at_us: int = 0) -> StepInput:
        """A random step: upserts, inserts, deletes (some of absent keys), equal rows, NULL, NaN."""
        ks, xs = ["a", "b", "c", "abcde", None], [0.0, 1.5, -2.5, 1e300, -1e300, 0.1, float("nan"), None]

        def some(values: Sequence[Any]) -> Any:
            return values[int(rng.integers(len(values)))]

        upserts = [(int(rng.integers(30)), some(ks), some(xs)) for _ in range(int(rng.integers(size)))]
        deletes = [(int(rng.integers(30)), None, None) for _ in range(int(rng.integers(size // 2 + 1)))]
        adds = [(some(ks), some([None, 0, 5, 20, 25])) for _ in range(int(rng.integers(size)))]
        held = list(self.u)
        rng.shuffle(held)  # type: ignore[arg-type]
        gone = [tuple(row) for row in held[: int(rng.integers(len(held) // 2 + 1))]]
        fresh = [key for key in range(30, 60) if key not in self.t][:2]
        return self.input(
            (T, upserts, Operation.UPSERT),
            (T, deletes, Operation.DELETE),
            (T, [(key, some(ks), some(xs)) for key in fresh], Operation.INSERT),
            (T, [(key, None, None) for key in fresh if rng.integers(2)], Operation.DELETE),
            (U, adds, 1),
            (U, gone, -1),
            at_us=at_us,
        )
