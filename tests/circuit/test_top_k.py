"""ORDER BY … LIMIT against sorting everything, and how little of the order a step reads."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.circuit.operators import AppendTopK, PartialTopK, TopK
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
from tests.circuit.places import in_order

SCHEMA = pa.schema([("g", pa.string()), ("x", pa.float64()), ("s", pa.string())])

ROW = st.tuples(
    st.sampled_from(["a", "b", None]),
    st.sampled_from([None, 1.0, -0.5, 0.0, math.nan, math.inf, 2.0**-60, 1.0 + 2.0**-40]),
    st.sampled_from([None, "", "abcd", "abcde", "abcd\0", "z"]),
)
ORDERS = {
    "ascending": (OrderBy(1),),
    "descending": (OrderBy(1, True, False),),
    "nulls_last": (OrderBy(1, False, False), OrderBy(2, True, True)),
    "text_first": (OrderBy(2, True, False), OrderBy(1)),
    "nothing": (),
}


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


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("offset", "limit", "numbers"), [(0, 1, 0), (0, 3, 1), (2, 2, 0), (1, 2, 1)])
@pytest.mark.parametrize("collide", [False, True])
@given(history=st.lists(st.lists(ROW, max_size=12), min_size=1, max_size=6))
@settings(deadline=None, max_examples=6)
def test_over_rows_that_never_go_the_same_rows_are_found_though_few_are_kept(
    history: list[list[Any]], order: str, offset: int, limit: int, numbers: int, collide: bool
) -> None:
    schema = SCHEMA.append(pa.field("n", pa.int32())) if numbers else SCHEMA
    parameters = (schema, Ordering(ORDERS[order]), offset, limit, numbers)
    plain, growing = Alone(TopK(*parameters)), Alone(AppendTopK(*parameters))
    partial = Alone(PartialTopK(SCHEMA, Ordering(ORDERS[order]), offset + limit))
    for rows in history:
        part = delta(SCHEMA, [(row, 1) for row in rows], range(1))
        part = colliding(part) if collide else part
        first = partial.step(part)
        assert len(first) <= len(part)
        assert meaning(growing.step(first)) == meaning(plain.step(part))


def test_what_falls_behind_the_limit_is_not_kept() -> None:
    alone = Alone(AppendTopK(SCHEMA, Ordering((OrderBy(1, True, False),)), 0, 2))
    for start in range(0, 1000, 100):
        alone.step(delta(SCHEMA, [(("a", float(start + i), None), 1) for i in range(100)], range(1)))
    assert sum(len(batch) for batch in alone.stored(0)) <= 8


def test_rows_that_come_together_are_cut_to_the_limit_before_they_travel() -> None:
    alone = Alone(PartialTopK(SCHEMA, Ordering((OrderBy(1),)), 3))
    out = alone.step(delta(SCHEMA, [(("a", float(i), None), 1) for i in range(100)], range(1)))
    assert meaning(out) == ReferenceZSet({("a", float(i), None): 1 for i in range(3)})
