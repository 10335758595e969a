"""Sessions against recomputation of every key, and how little of a key a change reads."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.types import LongType

from penstock.circuit.delta import Delta
from penstock.circuit.operators import Sessions
from penstock.expr.nodes import Column
from penstock.zset import ReferenceZSet
from tests.circuit.alone import Alone, Change, Rows, changes_of, colliding, delta, meaning, reference

SCHEMA = pa.schema([("g", pa.string()), ("from", pa.int64()), ("to", pa.int64()), ("s", pa.string())])
FIRST, LAST = Column(LongType(), False, 1), Column(LongType(), False, 2)
OPERATOR = Sessions(SCHEMA.append(pa.field("session", pa.int64())), FIRST, LAST)
SECOND = 1_000_000
FAR = [-(2**62), -(10**18), -7 * SECOND, -1, 2**61]


def row_of(g: str | None, start: int, length: int, s: str) -> tuple[object, ...]:
    return (g, start, start + length, s)


ROW = st.builds(
    row_of,
    st.sampled_from(["a", "b", None]),
    st.one_of(st.integers(-30, 30).map(lambda x: x * SECOND), st.integers(0, 40), st.sampled_from(FAR)),
    st.sampled_from([0, 1, 3, SECOND, 2 * SECOND, 20 * SECOND]),
    st.sampled_from(["p", "q"]),
)


def in_sessions(rows: ReferenceZSet) -> ReferenceZSet:
    """Every row with the start of its session: the slow and obvious way."""
    found = []
    for part in rows.groups([0]).values():
        first = last = None
        for row in sorted(part.weights, key=lambda row: (row[1], row[2])):
            if last is None or row[1] > last:
                first, last = row[1], row[2]
            last = max(last, row[2])
            found.append(((*row, first), part.weights[row]))
    return ReferenceZSet.of_rows(found)


def fed(change: Change, *, collide: bool = False) -> Delta:
    part = delta(SCHEMA, change, [0])
    return colliding(part) if collide else part


@pytest.mark.parametrize("collide", [False, True])
@given(history=st.lists(st.lists(ROW, max_size=16), min_size=1, max_size=8))
@settings(deadline=None, max_examples=150)
def test_rows_come_and_go(history: list[Rows], collide: bool) -> None:
    alone = Alone(OPERATOR)
    total = ReferenceZSet({})
    for rows, change in zip(history, changes_of(history), strict=True):
        total = total.add(meaning(alone.step(fed(change, collide=collide))))
        assert total == in_sessions(reference(rows))


@pytest.mark.parametrize("collide", [False, True])
@given(
    steps=st.lists(
        st.lists(st.tuples(ROW, st.sampled_from([1, 1, 1, 2, -1])), max_size=8), min_size=1, max_size=20
    )
)
@settings(deadline=None, max_examples=150)
def test_single_rows_come_and_go(steps: list[Change], collide: bool) -> None:
    """Mostly insertions, each step a few rows: sessions grow, join and fall apart."""
    alone = Alone(OPERATOR)
    inside, total = ReferenceZSet({}), ReferenceZSet({})
    for wanted in steps:
        change: Change = []
        for row, weight in wanted:
            held = inside.weights.get(row, 0)
            if held + weight >= 0:
                change.append((row, weight))
                inside = inside.add(ReferenceZSet.of_rows([(row, weight)]))
        total = total.add(meaning(alone.step(fed(change, collide=collide))))
        assert total == in_sessions(inside)


def hits(*starts: int) -> Change:
    """Rows of one key, each there for ten seconds."""
    return [(row_of("a", start * SECOND, 10 * SECOND, "p"), 1) for start in starts]


def gone(change: Change) -> Change:
    return [(row, -weight) for row, weight in change]


def test_a_row_that_makes_a_session_longer_changes_no_other_row() -> None:
    alone = Alone(OPERATOR)
    alone.step(fed(hits(0, 5, 10)))
    assert meaning(alone.step(fed(hits(20)))) == reference([(*hits(20)[0][0], 0)])
    assert alone.counters["rows read"] == 0


def test_a_row_that_touches_belongs_to_the_session_and_one_that_does_not_opens_another() -> None:
    alone = Alone(OPERATOR)
    alone.step(fed(hits(0)))
    late = (row_of("a", 20 * SECOND + 1, 5, "p"), 1)
    assert meaning(alone.step(fed([*hits(10), late]))) == reference(
        [(*hits(10)[0][0], 0), (*late[0], late[0][1])]
    )


def test_only_the_session_that_loses_its_start_is_said_anew() -> None:
    alone = Alone(OPERATOR)
    alone.step(fed(hits(0, 5, 20, 25)))
    (first, _), (second, _) = hits(20, 25)
    joined = meaning(alone.step(fed(hits(12))))
    expected = [
        ((*first, 20 * SECOND), -1),
        ((*second, 20 * SECOND), -1),
        ((*first, 0), 1),
        ((*second, 0), 1),
    ]
    assert joined == ReferenceZSet.of_rows([*expected, ((*hits(12)[0][0], 0), 1)])
    assert alone.counters["rows read"] == 2
    parted = meaning(alone.step(fed(gone(hits(12)))))
    assert parted == ReferenceZSet.of_rows(
        [(row, -weight) for row, weight in [*expected, ((*hits(12)[0][0], 0), 1)]]
    )


def test_a_change_at_the_end_of_a_long_key_reads_its_last_session_only() -> None:
    alone = Alone(OPERATOR)
    for number in range(0, 5000, 500):
        alone.step(fed(hits(*range(number * 100, (number + 500) * 100, 100))))
    alone.counters.clear()
    alone.step(fed(gone(hits(499_900))))
    alone.step(fed(hits(499_905, 499_912)))
    assert alone.counters["rows read"] <= 2


def test_fewer_of_the_same_row_change_nothing_about_its_session() -> None:
    alone = Alone(OPERATOR)
    alone.step(fed([*hits(0), *hits(0), *hits(5)]))
    assert meaning(alone.step(fed(gone(hits(0))))) == ReferenceZSet.of_rows([((*hits(0)[0][0], 0), -1)])


def test_a_long_past_of_sessions_that_joined_is_not_taken_for_sessions() -> None:
    """The book's entries before a stretch cancel out, so that the search goes on behind them."""
    alone = Alone(OPERATOR)
    inside: Change = []
    for change in (
        hits(0),
        hits(*range(100, 2000, 20)),
        hits(*range(110, 2000, 20)),
        hits(*range(5, 100, 5)),
    ):
        inside += change
        alone.step(fed(change))
    later = hits(1995)
    assert meaning(alone.step(fed(later))) == reference([(*later[0][0], 0)])
    removed = meaning(alone.step(fed(gone([*inside, *later]))))
    assert removed == ReferenceZSet.of_rows(((*row, 0), -1) for row, _ in [*inside, *later])


def test_a_row_that_changes_in_other_columns_reads_no_others() -> None:
    alone = Alone(OPERATOR)
    alone.step(fed(hits(0, 5, 10)))
    old, new = row_of("a", 5 * SECOND, 10 * SECOND, "p"), row_of("a", 5 * SECOND, 10 * SECOND, "q")
    changed = meaning(alone.step(fed([(old, -1), (new, 1)])))
    assert changed == ReferenceZSet.of_rows([((*old, 0), -1), ((*new, 0), 1)])
    assert alone.counters["rows read"] == 0


def test_a_step_without_rows_says_nothing() -> None:
    alone = Alone(OPERATOR)
    assert len(alone.step(fed([]))) == 0
    assert len(alone.step(fed([*hits(1), *gone(hits(1))]))) == 0
