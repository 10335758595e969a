"""Joining small reads into large ones."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.storage import Pointer
from penstock.storage.ranges import runs_of, windows_of

POINTERS = st.lists(
    st.builds(Pointer, st.sampled_from("ab"), st.integers(0, 500), st.integers(0, 60)), max_size=30
)


@given(POINTERS, st.integers(0, 50), st.integers(1, 200))
def test_every_pointer_is_in_exactly_one_run_that_covers_it(
    pointers: list[Pointer], gap: int, most: int
) -> None:
    runs = runs_of(pointers, gap=gap, most=most)
    assert sorted(number for run in runs for number in run.members) == list(range(len(pointers)))
    for run in runs:
        whole = run.whole
        for number in run.members:
            each = pointers[number]
            assert each.name == whole.name and whole.offset <= each.offset
            assert each.offset + each.length <= whole.offset + whole.length
        assert whole.length <= max(most, *(pointers[number].length for number in run.members))
        wanted = {b for n in run.members for b in range(pointers[n].offset, sum_end(pointers[n]))}
        assert whole.length - len(wanted) <= gap * (len(run.members) - 1)


def sum_end(pointer: Pointer) -> int:
    return pointer.offset + pointer.length


def test_neighbours_are_read_at_once_and_distant_ones_are_not() -> None:
    near, far = Pointer("a", 110, 10), Pointer("a", 500, 10)
    runs = runs_of([far, Pointer("a", 100, 10), near], gap=0, most=1000)
    assert [run.whole for run in runs] == [Pointer("a", 100, 20), far]


@given(POINTERS, st.integers(1, 100))
def test_windows_keep_the_order_and_the_bound(pointers: list[Pointer], size: int) -> None:
    windows = list(windows_of(pointers, size))
    assert [each for window in windows for each in window] == pointers
    assert all(len(w) > 0 and (len(w) == 1 or sum(p.length for p in w) <= size) for w in windows)
