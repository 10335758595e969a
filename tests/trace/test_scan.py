"""Scans: all rows of a range, in order, in slices that never split a word or a key."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.trace import build_batch
from penstock.trace.batch import HIGH
from penstock.trace.scan import LAST, PIECE, scan, truncate, truncate_below
from tests.trace.reference import totals
from tests.trace.samples import HIGHS, LOWS, Entry, batch_of, entries

words = st.one_of(st.sampled_from([high | low for high in HIGHS for low in LOWS]), st.integers(0, LAST))
identities = pytest.mark.parametrize("by_row", [True, False], ids=["by row", "by key"])


@identities
@given(rows=entries, low=words, high=words, size=st.integers(1, 12), whole_keys=st.booleans())
@settings(deadline=None, max_examples=60)
def test_a_scan_gives_the_rows_of_the_range_in_whole_words_or_keys(
    rows: list[Entry], low: int, high: int, size: int, whole_keys: bool, by_row: bool
) -> None:
    batch = batch_of(rows, by_row=by_row)
    pieces = list(scan(batch, low, high, rows=size, whole_keys=whole_keys))
    inside = (batch.order >= np.uint64(low)) & (batch.order <= np.uint64(high))
    assert np.concatenate([piece.order for piece in pieces] or [batch.order[:0]]).tolist() == (
        batch.order[inside].tolist()
    )
    wanted = {name: total for name, total in totals([batch]).items() if low <= name[0] <= high}
    assert totals(pieces) == wanted
    mask = HIGH if whole_keys and by_row else np.uint64(LAST)
    units = [set((piece.order & mask).tolist()) for piece in pieces]
    assert all(len(piece) <= size or len(unit) == 1 for piece, unit in zip(pieces, units, strict=True))
    assert sum(map(len, units)) == len(set().union(*units))


@identities
@given(rows=entries, word=words)
@settings(deadline=None, max_examples=40)
def test_truncation_keeps_the_keys_on_one_side_of_the_bound(
    rows: list[Entry], word: int, by_row: bool
) -> None:
    batch = batch_of(rows, by_row=by_row)
    whole = totals([batch])
    bits = 32 if by_row else 0
    below = {name: total for name, total in whole.items() if name[0] >> bits < word >> bits}
    above = {name: total for name, total in whole.items() if name[0] >> bits > word >> bits}
    for kept, dropped in ((truncate_below(batch, word), below), (truncate(batch, word), above)):
        assert totals([kept]) == {name: total for name, total in whole.items() if name not in dropped}
        assert len(kept) == 0 or np.shares_memory(kept.order, batch.order)


def test_slices_are_as_large_as_asked_for_and_share_memory() -> None:
    order = np.arange(3 * PIECE, dtype=np.uint64)
    batch = build_batch(order, order, None, np.ones(len(order), np.int64))
    pieces = list(scan(batch))
    assert [len(piece) for piece in pieces] == [PIECE] * 3
    assert all(np.shares_memory(piece.order, batch.order) for piece in pieces)
    assert [len(piece) for piece in scan(batch, 1, 10, rows=4)] == [4, 4, 2]
    assert list(scan(batch, 10, 9)) == list(scan(batch, 3 * PIECE)) == []
