"""ORDER BY … LIMIT against sorting everything, and how little of the order a step reads."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings

from penstock.circuit.operators import TopK
from penstock.circuit.ordering import OrderBy, Ordering
from penstock.zset import ReferenceZSet
from tests.circuit.alone import (
    Alone,
    Change,
    Rows,
    changes_of,
    colliding,
    delta,
    histories,
    meaning,
    reference,
)
from tests.circuit.operators.ranked import ORDERS, ROW, SCHEMA
from tests.circuit.row_order import in_order


def taken(rows: ReferenceZSet, op: TopK, width: int) -> ReferenceZSet:
    found: list[tuple[Any, int]] = []
    for part in rows.groups(range(width)).values() if width else [rows]:
        ordered = in_order(part, op.ordering.items, 3)[op.offset :]
        found += [(row, 1) for row in (ordered if op.limit is None else ordered[: op.limit])]
    return ReferenceZSet.of_rows(found)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("offset", "limit"), [(0, 1), (0, 3), (2, 2), (2, None)])
@pytest.mark.parametrize(("width", "collide"), [(0, False), (1, False), (1, True)])
@given(history=histories(ROW))
@settings(deadline=None, max_examples=5)
def test_the_rows_at_the_places_asked_for(
    history: list[Rows], order: str, offset: int, limit: int | None, width: int, collide: bool
) -> None:
    op = TopK(SCHEMA, Ordering(ORDERS[order]), offset, limit)
    alone = Alone(op)
    total = ReferenceZSet({})
    for rows, change in zip(history, changes_of(history), strict=True):
        part = delta(SCHEMA, change, range(width))
        total = total.add(meaning(alone.step(colliding(part) if collide else part)))
        assert total == taken(reference(rows), op, width)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("limit", [1, 3])
@given(history=histories(ROW))
@settings(deadline=None, max_examples=8)
def test_rows_tell_their_place(history: list[Rows], order: str, limit: int) -> None:
    schema = SCHEMA.append(pa.field("n", pa.int32()))
    op = TopK(schema, Ordering(ORDERS[order]), 0, limit, numbers=1)
    alone = Alone(op)
    total = ReferenceZSet({})
    for rows, change in zip(history, changes_of(history), strict=True):
        total = total.add(meaning(alone.step(delta(SCHEMA, change, range(1)))))
        expected = [
            ((*row, place), 1)
            for part in reference(rows).groups(range(1)).values()
            for place, row in enumerate(in_order(part, op.ordering.items, 3)[:limit], start=1)
        ]
        assert total == ReferenceZSet.of_rows(expected)


def test_a_limit_reads_as_many_rows_as_it_keeps() -> None:
    alone = Alone(TopK(SCHEMA, Ordering((OrderBy(1),)), 0, 10))
    many: Change = [(("a", float(i), None), 1) for i in range(20_000)]
    alone.step(delta(SCHEMA, many, ()))
    alone.counters.clear()
    alone.step(delta(SCHEMA, [(("a", 30_000.0, None), 1)], ()))
    out = alone.step(delta(SCHEMA, [(("a", -1.0, None), 1)], ()))
    assert meaning(out) == ReferenceZSet({("a", -1.0, None): 1, ("a", 9.0, None): -1})
    assert alone.counters["rows read"] <= 40


def test_rows_before_the_limit_that_were_deleted_are_replaced_by_those_behind_it() -> None:
    alone = Alone(TopK(SCHEMA, Ordering((OrderBy(1),)), 0, 2))
    rows: Change = [(("a", float(i), None), 1) for i in range(500)]
    alone.step(delta(SCHEMA, rows, ()))
    for row, _ in rows[:400]:
        alone.step(delta(SCHEMA, [(row, -1)], ()))
    out = alone.step(delta(SCHEMA, [(rows[400][0], -1)], ()))
    assert meaning(out) == ReferenceZSet({("a", 400.0, None): -1, ("a", 402.0, None): 1})
