"""Grouping by hash table against plain dictionaries."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.zset import Hashes, group_rows

# Few values per lane: rows agree in one lane and differ in the other, and slots of the table are shared.
lane = st.sampled_from([0, 1, 16, 32, 2**63, 2**64 - 1])


@given(rows=st.lists(st.tuples(lane, lane, st.integers(-3, 3)), max_size=60))
@settings(deadline=None)
def test_rows_of_one_group_are_those_that_agree_in_both_lanes(rows: list[tuple[int, int, int]]) -> None:
    hashes = Hashes(np.array([r[0] for r in rows], np.uint64), np.array([r[1] for r in rows], np.uint64))
    groups = group_rows(hashes)
    totals: dict[tuple[int, int], int] = {}
    for hi, lo, value in rows:
        totals[hi, lo] = totals.get((hi, lo), 0) + value
    firsts = [rows[row][:2] for row in groups.first.tolist()]
    assert firsts == list(totals)  # each group once, in the order of appearance
    assert [firsts[group] for group in groups.of_row.tolist()] == [row[:2] for row in rows]
    assert groups.sums(np.array([r[2] for r in rows], np.int64)).tolist() == list(totals.values())
