"""What may be said about how many versions to keep, and which ones that keeps."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import PipelineError
from penstock.pipeline.retention import Retain, duration_text, duration_us
from penstock.storage import EarlierVersion, Retention

TIMES = st.lists(st.integers(0, 100), max_size=8).map(sorted)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (timedelta(minutes=2), 120),
        (7200, 7200),
        (0.5, 0.5),
        (0, 0),
        ("90", 90),
        ("90s", 90),
        (" 1.5 h ", 5400),
        ("30 min", 1800),
        ("30m", 1800),
        ("7D", 7 * 86400),
        ("2w", 14 * 86400),
    ],
)
def test_a_time_is_said_in_many_ways(value: Any, seconds: float) -> None:
    assert duration_us(value) == seconds * 1_000_000


@pytest.mark.parametrize(
    "value", ["", "h", "2 fortnights", "-1h", -1, float("nan"), float("inf"), True, None, [], "1e3", "2h30"]
)
def test_what_is_no_time_is_refused_with_examples(value: Any) -> None:
    with pytest.raises(PipelineError, match=r'retain_for is a time.*"2h"'):
        duration_us(value)


@pytest.mark.parametrize("value", [1, 0, -3, True, 2.0, "3"])
def test_at_least_two_versions_are_kept(value: Any) -> None:
    with pytest.raises(PipelineError, match="at least 2, not"):
        Retain.of(value, None)


def test_what_a_run_does_not_say_stays_as_it_was() -> None:
    before = Retention(5, 60_000_000)
    assert Retain.of(None, None).over(before) == before
    assert Retain.of(9, None).over(before) == Retention(9, 60_000_000)
    assert Retain.of(None, "2h").over(before) == Retention(5, 7_200_000_000)
    assert Retain.of(2, 0).over(before) == Retention()


@given(TIMES, st.integers(0, 5), st.integers(2, 6), st.integers(0, 50))
def test_a_version_is_kept_if_either_says_so(times: list[int], later: int, count: int, age: int) -> None:
    earlier = [EarlierVersion(n, n, at) for n, at in enumerate(times, start=1)]
    newest = EarlierVersion(len(times) + 1, 0, (times[-1] if times else 0) + later)
    kept = Retention(count, age).kept(earlier, newest)
    assert kept == tuple(
        found
        for found in earlier
        if newest.number - found.number < count or (age and found.made_us >= newest.made_us - age)
    )


def test_a_clock_that_was_set_back_leaves_no_gap() -> None:
    earlier = [EarlierVersion(n, n, at) for n, at in ((1, 10), (2, 90), (3, 20), (4, 30), (5, 95))]
    kept = Retention(2, 50).kept(earlier, EarlierVersion(6, 6, 100))
    assert [found.number for found in kept] == [2, 3, 4, 5]


def test_times_for_people() -> None:
    found = [duration_text(us * 1_000_000) for us in (90, 120, 7200, 86400 * 7)]
    assert found == ["90 s", "2 min", "2 h", "7 d"]
