"""Window functions against recomputation of every partition, and how little a change at the end of one
costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.types import ArrayType, BooleanType, DoubleType, IntegerType, LongType, StringType

from penstock.circuit.accumulators import Average, Collect, Count, Linear, Moment, Sum
from penstock.circuit.operators import Window
from penstock.circuit.ordering import OrderBy, Ordering
from penstock.circuit.windows import (
    Aggregated,
    Extreme,
    Frame,
    Gathered,
    NTile,
    Picked,
    Ranking,
    Shifted,
    WindowFunction,
)
from penstock.expr.nodes import Call, Column, Literal
from penstock.expr.types import to_arrow
from penstock.trace.sort_key import Direction
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
from tests.circuit.row_order import Row, by_peers, in_order
from tests.circuit.sums import exact_sum
from tests.trace.reference import spark_order

INT, LONG, DOUBLE, TEXT = IntegerType(), LongType(), DoubleType(), StringType()
G, K, X, S = Column(TEXT, True, 0), Column(LONG, True, 1), Column(DOUBLE, True, 2), Column(TEXT, True, 3)
SCHEMA = pa.schema([("g", pa.string()), ("k", pa.int64()), ("x", pa.float64()), ("s", pa.string())])
POSITIVE = Call(BooleanType(), True, "GreaterThan", (X, Literal(DOUBLE, False, 0.0)))

ROW = st.tuples(
    st.sampled_from(["a", "b"]),
    st.sampled_from([None, 0, 1, 2, 3, 2**40, 2**40 + 1]),
    st.sampled_from([None, 1.5, -2.0, 0.1, 1e300, math.nan]),
    st.sampled_from([None, "p", "q"]),
)
ORDERS = {
    "one": (OrderBy(1),),
    "two": (OrderBy(1, True, False), OrderBy(3, False, False)),
    "last": (OrderBy(1, False, False),),
}

Answer = Callable[[list[Row], int, list[tuple[int, int]]], Any]
"""From the partition in order, a row's place, and of each row the first and the past-last of its peers."""


def rows_frame(lower: int | None, upper: int | None) -> tuple[Frame, Callable[..., list[Row]]]:
    def frame(part: list[Row], i: int, peers: list[tuple[int, int]]) -> list[Row]:
        low = 0 if lower is None else max(0, i + lower)
        high = len(part) if upper is None else max(low, i + upper + 1)
        return part[low:high]

    return Frame(True, lower, upper), frame


def running_range(part: list[Row], i: int, peers: list[tuple[int, int]]) -> list[Row]:
    return part[: peers[i][1]]


def peers_only(part: list[Row], i: int, peers: list[tuple[int, int]]) -> list[Row]:
    return part[peers[i][0] : peers[i][1]]


def no_nan(value: Any) -> Any:
    return math.nan if value == ("NaN",) else value


def total(rows: list[Row]) -> Any:
    return exact_sum([no_nan(row[2]) for row in rows if row[2] is not None])


def smallest(rows: list[Row]) -> Any:
    return min((row[2] for row in rows if row[2] is not None), key=spark_order, default=None)


def positive(rows: list[Row]) -> int:
    return len([row for row in rows if row[2] is not None and (row[2] == ("NaN",) or row[2] > 0)])


def shifted(offset: int) -> Answer:
    def answer(part: list[Row], i: int, peers: list[tuple[int, int]]) -> Any:
        return part[i + offset][3] if 0 <= i + offset < len(part) else "none"

    return answer


def shifted_values(offset: int) -> Answer:
    def answer(part: list[Row], i: int, peers: list[tuple[int, int]]) -> Any:
        side = part[i + 1 :] if offset > 0 else part[:i][::-1]
        found = [row[3] for row in side if row[3] is not None]
        return found[abs(offset) - 1] if len(found) >= abs(offset) else None

    return answer


def tile(part: list[Row], i: int, peers: list[tuple[int, int]]) -> int:
    small, larger = divmod(len(part), 3)
    sizes = [small + 1] * larger + [small] * (3 - larger)
    return next(n for n in range(1, 4) if i < sum(sizes[:n]))


def case(function: WindowFunction, answer: Answer) -> tuple[WindowFunction, Answer]:
    return function, answer


def framed(
    frame: tuple[Frame, Callable[..., list[Row]]], function: Linear, answer: Callable[[list[Row]], Any]
) -> Any:
    return Aggregated(function.data_type, function, frame[0]), lambda *at: answer(frame[1](*at))


SUM, COUNT = Sum(DOUBLE, (X,), None), Count(LONG, (X,), POSITIVE)
RUNNING = Frame(False, None, 0), running_range
PEERS = Frame(False, 0, 0), peers_only
DEFAULT = Literal(TEXT, False, "none")
NULL = Literal(TEXT, True, None)


def value_range(part: list[Row], i: int, peers: list[tuple[int, int]]) -> list[Row]:
    key = part[i][1]
    if key is None:
        return [row for row in part if row[1] is None]
    return [row for row in part if row[1] is not None and key - 1 <= row[1] <= key + 1]


def moved_key(by: int) -> Call:
    return Call(LONG, True, "Add", (K, Literal(LONG, False, by)), (("mode", "ANSI"),))


CASES: dict[str, tuple[WindowFunction, Answer]] = {
    "row_number": case(Ranking(INT, "RowNumber"), lambda part, i, peers: i + 1),
    "rank": case(Ranking(INT, "Rank"), lambda part, i, peers: peers[i][0] + 1),
    "dense_rank": case(
        Ranking(INT, "DenseRank"), lambda part, i, peers: len({first for first, _ in peers[: i + 1]})
    ),
    "percent_rank": case(
        Ranking(DOUBLE, "PercentRank"),
        lambda part, i, peers: peers[i][0] / (len(part) - 1) if len(part) > 1 else 0.0,
    ),
    "cume_dist": case(Ranking(DOUBLE, "CumeDist"), lambda part, i, peers: peers[i][1] / len(part)),
    "ntile": case(NTile(INT, 3), tile),
    "lag": case(Shifted(TEXT, S, -1, DEFAULT), shifted(-1)),
    "lead": case(Shifted(TEXT, S, 2, DEFAULT), shifted(2)),
    "lag_values": case(Shifted(TEXT, S, -2, NULL, True), shifted_values(-2)),
    "lead_values": case(Shifted(TEXT, S, 1, NULL, True), shifted_values(1)),
    "running_rows": framed(rows_frame(None, 0), SUM, total),
    "running_ahead": framed(rows_frame(None, 2), SUM, total),
    "running_behind": framed(rows_frame(None, -2), SUM, total),
    "running_range": framed(RUNNING, SUM, total),
    "running_count": framed(RUNNING, COUNT, positive),
    "sliding": framed(rows_frame(-2, 1), SUM, total),
    "ahead": framed(rows_frame(1, 2), COUNT, positive),
    "behind": framed(rows_frame(-3, -2), SUM, total),
    "to_the_end": framed(rows_frame(0, None), SUM, total),
    "whole": framed(rows_frame(None, None), SUM, total),
    "peers": framed(PEERS, SUM, total),
    "smallest_sliding": case(
        Extreme(DOUBLE, X, False, None, Frame(True, -2, 1)),
        lambda *at: smallest(rows_frame(-2, 1)[1](*at)),
    ),
    "smallest_running": case(
        Extreme(DOUBLE, X, False, None, Frame(False, None, 0)), lambda *at: smallest(running_range(*at))
    ),
    "first": case(Picked(TEXT, S, 1, Frame(False, None, 0)), lambda part, i, peers: part[0][3]),
    "last": case(Picked(TEXT, S, -1, Frame(False, None, 0)), lambda *at: running_range(*at)[-1][3]),
    "second_value": case(
        Picked(TEXT, S, 2, Frame(True, -1, 1), True),
        lambda *at: ([r[3] for r in rows_frame(-1, 1)[1](*at) if r[3] is not None] + [None, None])[1],
    ),
    "list": case(
        Gathered(ArrayType(TEXT), Collect(ArrayType(TEXT), False), (S,), (0,), (), None, Frame(True, -1, 1)),
        lambda *at: tuple(r[3] for r in rows_frame(-1, 1)[1](*at) if r[3] is not None),
    ),
    "set": case(
        Gathered(
            ArrayType(TEXT),
            Collect(ArrayType(TEXT), True),
            (S,),
            (0,),
            ((0, Direction()),),
            None,
            Frame(True, None, 0),
        ),
        lambda *at: tuple(sorted({r[3] for r in rows_frame(None, 0)[1](*at) if r[3] is not None})),
    ),
}


def operator(order: Sequence[OrderBy], *functions: WindowFunction) -> Window:
    results = [(f"r{i}", to_arrow(function.data_type)) for i, function in enumerate(functions)]
    return Window(pa.schema([*SCHEMA, *results]), Ordering(tuple(order)), functions)


def recomputed(rows: ReferenceZSet, order: Sequence[OrderBy], answers: Sequence[Answer]) -> ReferenceZSet:
    found: list[tuple[Row, int]] = []
    for group in rows.groups(range(1)).values():
        part = in_order(group, order, 4)
        same = [[by_peers(a, b, order) == 0 for b in part] for a in part]
        peers = [(row.index(True), len(part) - row[::-1].index(True)) for row in same]
        found += [((*row, *(f(part, i, peers) for f in answers)), 1) for i, row in enumerate(part)]
    return ReferenceZSet.of_rows(found)


def check(
    history: list[Rows], order: Sequence[OrderBy], names: Sequence[str], *, collide: bool = False
) -> None:
    functions, answers = zip(*(CASES[name] for name in names), strict=True)
    alone = Alone(operator(order, *functions))
    total = ReferenceZSet({})
    for rows, change in zip(history, changes_of(history), strict=True):
        part = delta(SCHEMA, change, (0,))
        total = total.add(meaning(alone.step(colliding(part) if collide else part)))
        assert total == recomputed(reference(rows), order, answers)


@pytest.mark.parametrize("name", CASES)
@given(history=histories(ROW), order=st.sampled_from(sorted(ORDERS)))
@settings(deadline=None, max_examples=8)
def test_every_function_equals_recomputation(name: str, history: list[Rows], order: str) -> None:
    check(history, ORDERS[order], [name])


@given(history=histories(ROW), names=st.lists(st.sampled_from(sorted(CASES)), min_size=2, max_size=3))
@settings(deadline=None, max_examples=15)
def test_functions_of_different_reach_together(history: list[Rows], names: list[str]) -> None:
    check(history, ORDERS["one"], names)


@pytest.mark.parametrize("name", ["row_number", "rank", "lag", "running_range", "sliding"])
@given(history=histories(ROW))
@settings(deadline=None, max_examples=15)
def test_partitions_whose_rows_are_mixed_up_in_batches(name: str, history: list[Rows]) -> None:
    check(history, ORDERS["one"], [name], collide=True)


def test_rows_of_a_stranger_in_the_place_of_a_partition_do_not_lie_between_its_own() -> None:
    before = [("a", 0, None, None)] * 3
    check([before, [("b", None, None, None), ("b", 0, None, None)]], ORDERS["one"], ["lag"], collide=True)


SMALL = st.tuples(st.just("a"), st.integers(0, 30), st.sampled_from([1.5, 2.0]), st.sampled_from(["p", "q"]))


@pytest.mark.parametrize(
    "names", [["lag", "sliding"], ["row_number"], ["rank", "running_range"], ["lead", "behind"]]
)
@given(
    start=st.lists(SMALL, min_size=20, max_size=60),
    changes=st.lists(st.lists(st.tuples(SMALL, st.booleans()), max_size=4), max_size=6),
)
@settings(deadline=None, max_examples=8)
def test_long_partitions_of_many_batches(names: list[str], start: list[Row], changes: Any) -> None:
    history, rows = [start], list(start)
    for change in changes:
        for row, insert in change:
            if insert:
                rows = [*rows, row]
            elif rows:
                rows = [*rows]
                rows.pop(hash(row) % len(rows))
        history.append(rows)
    functions, answers = zip(*(CASES[name] for name in names), strict=True)
    alone = Alone(operator(ORDERS["one"], *functions))
    total, previous = ReferenceZSet({}), ReferenceZSet({})
    for content in history:
        now = reference(content)
        change = [(row, weight) for row, weight in now.add(previous.negate()).weights.items()]
        total = total.add(meaning(alone.step(delta(SCHEMA, change, (0,)))))
        previous = now
        assert total == recomputed(now, ORDERS["one"], answers)


LONG_PARTITION: Change = [(("a", i, 1.0, "p"), 1) for i in range(100_000)]


@pytest.mark.parametrize(
    "name", ["row_number", "rank", "lag", "lead", "running_rows", "running_range", "sliding"]
)
def test_a_change_at_the_end_of_a_long_partition_costs_a_few_rows(name: str) -> None:
    alone = Alone(operator(ORDERS["one"], CASES[name][0]))
    alone.step(delta(SCHEMA, LONG_PARTITION, (0,)))
    for change in ([(("a", 200_000, 2.0, "q"), 1)], [(("a", 99_999, 1.0, "p"), -1)]):
        alone.counters.clear()
        out = alone.step(delta(SCHEMA, change, (0,)))
        assert 1 <= len(out) <= 8
        assert alone.counters["rows read"] <= 16


@pytest.mark.parametrize("name", ["row_number", "rank", "lag", "running_count", "sliding"])
def test_a_row_replaced_at_the_start_alters_nothing_far_behind_it(name: str) -> None:
    alone = Alone(operator(ORDERS["one"], CASES[name][0]))
    alone.step(delta(SCHEMA, LONG_PARTITION, (0,)))
    alone.counters.clear()
    out = alone.step(delta(SCHEMA, [(("a", 5, 1.0, "p"), -1), (("a", 5, 2.0, "q"), 1)], (0,)))
    assert 2 <= len(out) <= 10
    assert alone.counters["rows read"] <= 20


def test_changes_far_apart_in_one_partition_are_read_apart() -> None:
    alone = Alone(operator(ORDERS["one"], CASES["lag"][0], CASES["sliding"][0]))
    alone.step(delta(SCHEMA, LONG_PARTITION, (0,)))
    alone.counters.clear()
    out = alone.step(delta(SCHEMA, [(("a", 5, 1.0, "p"), -1), (("a", 99_000, 2.0, "q"), 1)], (0,)))
    assert 2 <= len(out) <= 16
    assert alone.counters["rows read"] <= 40


def test_a_spread_over_a_frame_is_exact() -> None:
    spread = Moment(DOUBLE, (X,), None, "var_pop")
    mean = Average(DOUBLE, (X,), None)
    frame = Frame(True, -1, 0)
    alone = Alone(operator((OrderBy(1),), Aggregated(DOUBLE, spread, frame), Aggregated(DOUBLE, mean, frame)))
    out = alone.step(delta(SCHEMA, [(("a", 1, 1e9, None), 1), (("a", 2, 1e9 + 1, None), 1)], (0,)))
    assert meaning(out) == ReferenceZSet(
        {("a", 1, 1e9, None, 0.0, 1e9): 1, ("a", 2, 1e9 + 1, None, 0.25, 1e9 + 0.5): 1}
    )


@given(history=histories(ROW))
@settings(deadline=None, max_examples=30)
def test_a_frame_by_value(history: list[Rows]) -> None:
    frame = Frame(False, moved_key(-1), moved_key(1), K)
    CASES["by_value"] = framed((frame, value_range), SUM, total)
    check(history, ORDERS["one"], ["by_value"])
