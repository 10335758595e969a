"""Times form a lattice, and advancing them is invisible to whoever reads at or after the frontier."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.trace.times import (
    ITERATION_BITS,
    STEP_BITS,
    Time,
    advance,
    iterations_of,
    join,
    less_equal,
    meet,
    steps_of,
    times_of,
)

LAST_STEP, LAST_ITERATION = (1 << STEP_BITS) - 1, (1 << ITERATION_BITS) - 1

numbers = st.integers(0, 5)
small = st.builds(Time, numbers, numbers)
any_time = st.one_of(
    small,
    st.builds(Time, st.sampled_from([0, 7, LAST_STEP]), st.sampled_from([0, 3, LAST_ITERATION])),
    st.builds(Time, st.integers(0, LAST_STEP), st.integers(0, LAST_ITERATION)),
)
frontiers = st.lists(small, min_size=1, max_size=4)
GRID = [Time(step, iteration) for step in range(7) for iteration in range(7)]


def words(*times: Time) -> np.ndarray:
    return np.array([time.word for time in times], np.uint64)


def before(left: Time, right: Time) -> bool:
    return bool(less_equal(words(left), right.word)[0])


def both(left: Time, right: Time) -> tuple[Time, Time]:
    joined, met = join(words(left), right.word), meet(words(left), right.word)
    return Time.of_word(joined[0]), Time.of_word(met[0])


@given(any_time, any_time)
@settings(deadline=None)
def test_order_join_and_meet_are_those_of_pairs(left: Time, right: Time) -> None:
    assert before(left, right) == (left.step <= right.step and left.iteration <= right.iteration)
    joined, met = both(left, right)
    assert joined == Time(max(left.step, right.step), max(left.iteration, right.iteration))
    assert met == Time(min(left.step, right.step), min(left.iteration, right.iteration))
    assert not before(left, right) or left.word <= right.word, "words extend the order"


@given(any_time, any_time, any_time)
@settings(deadline=None)
def test_join_is_the_least_upper_bound_and_meet_the_greatest_lower(a: Time, b: Time, c: Time) -> None:
    joined, met = both(a, b)
    assert before(a, joined) and before(b, joined) and before(met, a) and before(met, b)
    assert (before(a, c) and before(b, c)) == before(joined, c)
    assert (before(c, a) and before(c, b)) == before(c, met)
    assert both(a, b) == both(b, a) and both(joined, a)[1] == both(met, a)[0] == a
    assert both(joined, c)[0] == both(a, both(b, c)[0])[0] and both(met, c)[1] == both(a, both(b, c)[1])[1]


@given(any_time)
@settings(deadline=None)
def test_a_time_is_its_word(time: Time) -> None:
    word = times_of(np.array([time.step], np.uint64), np.array([time.iteration], np.uint64))
    assert word[0] == time.word and Time.of_word(word[0]) == time
    assert steps_of(word)[0] == time.step and iterations_of(word)[0] == time.iteration


def seen(time: Time, frontier: list[Time]) -> list[bool]:
    """Which readers at or after the frontier see an update at this time."""
    readers = [reader for reader in GRID if any(before(start, reader) for start in frontier)]
    return less_equal(words(*[time] * len(readers)), words(*readers)).tolist()


@given(frontiers)
@settings(deadline=None, max_examples=60)
def test_times_become_one_exactly_if_no_reader_can_tell_them_apart(frontier: list[Time]) -> None:
    advanced = [Time.of_word(word) for word in advance(words(*GRID), frontier)]
    views = [seen(time, frontier) for time in GRID]
    assert [seen(time, frontier) for time in advanced] == views
    for (one, his), (other, hers) in itertools.combinations(zip(advanced, views, strict=True), 2):
        assert (one == other) == (his == hers)


@given(any_time, st.lists(any_time, min_size=1, max_size=4))
@settings(deadline=None)
def test_advancing_is_the_meet_of_the_joins_with_the_frontier(time: Time, frontier: list[Time]) -> None:
    wanted = both(time, frontier[0])[0]
    for start in frontier[1:]:
        wanted = both(wanted, both(time, start)[0])[1]
    once = advance(words(time), frontier)
    assert Time.of_word(once[0]) == wanted
    assert np.array_equal(advance(once, frontier), once)


@given(any_time, frontiers, frontiers)
@settings(deadline=None)
def test_advancing_to_a_later_frontier_may_be_done_in_parts(
    time: Time, first: list[Time], later: list[Time]
) -> None:
    beyond = [both(one, other)[0] for one in first for other in later]
    assert np.array_equal(advance(advance(words(time), first), beyond), advance(words(time), beyond))


@pytest.mark.parametrize("pair", [(-1, 0), (0, -1), (LAST_STEP + 1, 0), (0, LAST_ITERATION + 1)])
def test_a_step_or_iteration_without_room_is_refused(pair: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="does not fit"):
        Time(*pair)
    if min(pair) >= 0:
        with pytest.raises(ValueError, match="does not fit"):
            times_of(np.array([1, pair[0]], np.uint64), np.array([1, pair[1]], np.uint64))


def test_a_frontier_that_nobody_is_behind_is_refused() -> None:
    with pytest.raises(ValueError, match="nobody reads"):
        advance(words(Time(1)), [])
    empty = np.empty(0, np.uint64)
    assert len(advance(empty, [Time(1)])) == len(times_of(empty, empty)) == 0
