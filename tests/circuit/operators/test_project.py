"""Projection: every row is evaluated, whatever its weight."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from pyspark.sql.types import LongType

from penstock.circuit.operators import Project, View
from penstock.expr.nodes import Literal
from penstock.zset import ReferenceZSet
from tests.circuit.alone import Alone, Rows, check_follows, delta, histories, meaning
from tests.circuit.operators.plain import PLUS_TWO, ROW, SCHEMA, K


def _plus_two(value: Any) -> Any:
    return None if value is None else value + 2


@given(history=histories(ROW))
@settings(deadline=None, max_examples=25)
def test_project_evaluates_every_row(history: list[Rows]) -> None:
    schema = pa.schema([("m", pa.int64()), ("k", pa.string())])
    check_follows(
        Project(schema, (PLUS_TWO, K)),
        history,
        lambda rows: rows.map(lambda r: (_plus_two(r[1]), r[0])),
        lambda change: [delta(SCHEMA, change)],
    )


def test_an_expression_over_no_columns_of_many_rows() -> None:
    none = pa.schema([])
    empty_rows = delta(none, [((), 2), ((), 1)])
    one = Alone(Project(pa.schema([("one", pa.int64())]), (Literal(LongType(), False, 1),)))
    assert meaning(one.step(empty_rows)) == ReferenceZSet({(1,): 3})
    assert meaning(Alone(View(none, "v")).step(empty_rows)) == ReferenceZSet({(): 3})
