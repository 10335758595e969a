"""Runs a planned aggregate on a few workers in this process, and works its answers out the slow way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql.types import DataType, IntegerType

from penstock.circuit.delta import Delta, concat_deltas
from penstock.circuit.layout import Layout
from penstock.circuit.operator import Flow
from penstock.circuit.operators import Aggregate, Table
from penstock.expr.nodes import Column, Literal
from penstock.expr.types import arrow_schema
from penstock.sql import plan as p
from penstock.sql.planner import Planner
from penstock.zset import ReferenceZSet, hash_columns
from tests.circuit.alone import SEED, Alone, Change, Rows, changes_of, colliding, delta, meaning, reference

Answer = Callable[[list[tuple[Any, ...]]], Any]

ONE = Literal(IntegerType(), False, 1)


def column(kind: DataType, ordinal: int, *, nullable: bool = True) -> Column:
    return Column(kind, nullable, ordinal)


def call(function: str, kind: DataType, *args: Any, **fields: Any) -> p.AggregateCall:
    return p.AggregateCall(function, args, kind, True, **fields)


class Grouping:
    """``SELECT keys, calls FROM t GROUP BY keys`` with the first ``width`` columns as keys."""

    def __init__(
        self,
        types: Sequence[DataType],
        width: int,
        calls: Sequence[p.AggregateCall],
        workers: int = 1,
        *,
        collide: bool = False,
    ) -> None:
        self.schema = arrow_schema([(f"c{i}", kind) for i, kind in enumerate(types)])
        fields = tuple(p.Field(f"c{i}", kind) for i, kind in enumerate(types))
        answers = tuple(p.Field(f"r{i}", item.data_type) for i, item in enumerate(calls))
        keys = tuple(column(types[i], i) for i in range(width))
        planner = Planner()
        planner.add_table("t", self.schema, ())
        planner.compile(p.Aggregate((*fields[:width], *answers), p.Scan(fields, "t"), keys, tuple(calls)))
        self.nodes = planner.build().nodes
        self.layout, self.collide = Layout.even(workers), collide
        self.workers = [[Alone(node.operator) for node in self.nodes] for _ in range(workers)]
        owner = int(self.layout.workers_of(hash_columns([], 1, SEED))[0])
        for number, alones in enumerate(self.workers):
            for alone in alones:
                alone.owner = number == owner

    @property
    def aggregate(self) -> Alone:
        """The last operator on the first worker."""
        return self.workers[0][-1]

    def step(self, change: Change, *, opening: bool = False) -> ReferenceZSet:
        """What the aggregate says of a change, whose rows lie on the workers in turn."""
        count = len(self.workers)
        flows: list[list[Flow]] = [[] for _ in range(count)]
        for node in self.nodes:
            for number, alones in enumerate(self.workers):
                alone = alones[node.id]
                if isinstance(node.operator, Table):
                    flows[number].append(delta(self.schema, change[number::count]))
                    continue
                inputs = [
                    self._input(flows, source, exchanged, number)
                    for source, exchanged in zip(node.inputs, node.exchanged, strict=True)
                ]
                if self.collide and isinstance(node.operator, Aggregate):
                    inputs = [colliding(part) for part in inputs]
                alone.opening = opening
                idle = not any(map(len, inputs)) and not (opening and node.operator.opens)
                flows[number].append(node.operator.idle(alone) if idle else alone.step(*inputs))
                alone.opening = False
        total = ReferenceZSet({})
        for number in range(count):
            total = total.add(meaning(flows[number][-1]))
        return total

    def _input(self, flows: list[list[Flow]], source: int, exchanged: bool, number: int) -> Delta:
        schema = self.nodes[source].operator.schema
        if not exchanged:
            own = flows[number][source]
            assert isinstance(own, Delta)
            return own
        parts: list[Delta] = [Delta.empty(schema)]
        for sent in flows:
            part = sent[source]
            assert isinstance(part, Delta)
            parts += [Delta.decode(schema, p.encode()) for to, p in self.layout.split(part) if to == number]
        return concat_deltas(schema, parts)


def expected(rows: ReferenceZSet, width: int, answers: Sequence[Answer]) -> ReferenceZSet:
    """One row per group: its key and what each function says of the group's rows."""
    groups = rows.groups(range(width))
    if width == 0:
        groups.setdefault((), ReferenceZSet({}))
    expanded = {
        key: [row for row, weight in part.weights.items() for _ in range(weight)]
        for key, part in groups.items()
    }
    return ReferenceZSet.of_rows(((*key, *(f(part) for f in answers)), 1) for key, part in expanded.items())


def present(part: list[tuple[Any, ...]], *ordinals: int) -> list[Any]:
    """The values of a column that are not NULL, or tuples of several columns without NULLs."""
    found = [tuple(row[i] for i in ordinals) for row in part if all(row[i] is not None for i in ordinals)]
    return [values[0] for values in found] if len(ordinals) == 1 else found


def check(grouping: Grouping, width: int, history: list[Rows], answers: Sequence[Answer]) -> None:
    """After every step the sum of all output is what the answers make of all input."""
    total = ReferenceZSet({})
    if width == 0:
        total = total.add(grouping.step([], opening=True))
        assert_same(total, expected(ReferenceZSet({}), 0, answers), 0)
    for rows, change in zip(history, changes_of(history), strict=True):
        total = total.add(grouping.step(change))
        assert_same(total, expected(reference(rows), width, answers), width)


def assert_same(got: ReferenceZSet, wanted: ReferenceZSet, width: int) -> None:
    """Equal to the last bit; every group occurs once."""
    mine = {row[:width]: (row[width:], weight) for row, weight in got.weights.items()}
    theirs = {row[:width]: (row[width:], weight) for row, weight in wanted.weights.items()}
    assert len(mine) == len(got.weights)
    assert mine == theirs
