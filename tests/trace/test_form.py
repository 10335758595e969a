"""The form of a batch follows from its size, its purpose and the settings, and from nothing else."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from penstock.storage import BlockForm, Codec
from penstock.trace import Batch
from penstock.trace.form import BLOCK_BYTES, Purpose, Shape, form_of, shape_of, shape_of_sum


def shape(rows: int = 100_000, row_bytes: int = 80, **more: bool) -> Shape:
    return Shape(rows, 24 * rows, row_bytes * rows, **more)


def form(
    of: Shape, purpose: Purpose = Purpose.TABLE, *, derivable: bool = True, compact: bool = False
) -> BlockForm:
    found = form_of(of, purpose, derivable=derivable, compact=compact)
    assert found is not None
    return found


@pytest.mark.parametrize(("rows", "compact"), [(65_535, False), (16_383, True)])
def test_recent_batches_are_small_and_stored_whole(rows: int, compact: bool) -> None:
    for purpose in Purpose if compact else (Purpose.TABLE, Purpose.INDEX):
        assert form_of(shape(rows), purpose, derivable=True, compact=compact) is None
        assert form_of(shape(rows + 1), purpose, derivable=True, compact=compact) is not None


def test_few_rows_that_are_large_are_stored_in_blocks_of_bounded_size() -> None:
    found = form(Shape(1000, 24_000, 100_000_000))
    assert found.block_rows == 8
    assert form(shape(row_bytes=2000)).block_rows * 2024 <= BLOCK_BYTES
    assert form(shape()).block_rows == 1024


def test_words_that_are_searched_are_plain_and_have_filters() -> None:
    for purpose in (Purpose.TABLE, Purpose.INDEX):
        found = form(shape(), purpose)
        assert found.of("key_lo") is found.of("row_lo") is Codec.PLAIN
        assert found.of("order") is (Codec.PACKED if purpose is Purpose.TABLE else Codec.PLAIN)
        assert found.of("v0") is (Codec.PACKED if purpose is Purpose.TABLE else Codec.PLAIN)
        assert found.of("weight") is Codec.PACKED
        assert found.filtered == "key_lo" and not found.tight


def test_views_are_not_searched() -> None:
    found = form(shape(), Purpose.VIEW)
    assert found.of("order") is Codec.PACKED and not found.filtered


def test_words_that_would_take_more_than_the_values_are_computed_if_they_can_be() -> None:
    narrow = shape(row_bytes=16)
    assert form(narrow).of("order") is Codec.DERIVED
    assert form(narrow, derivable=False).of("key_lo") is Codec.PLAIN
    assert form(shape(row_bytes=40)).of("key_lo") is Codec.PLAIN


def test_compact_leaves_words_out_and_prefers_small_chunks() -> None:
    found = form(shape(), compact=True)
    assert found.of("order") is Codec.DERIVED and found.tight
    assert form(shape(), derivable=False, compact=True).of("order") is Codec.PACKED


def test_words_of_sequences_follow_from_their_position() -> None:
    for compact in (False, True):
        found = form(shape(is_sequence=True), compact=compact)
        assert found.of("order") is Codec.PACKED and not found.filtered


def sequence(first: int, rows: int) -> Batch:
    words = np.arange(first, first + rows, dtype=np.uint64)
    lane, ones = np.zeros(rows, np.uint64), np.ones(rows, np.int64)
    return Batch(words, lane, None, ones, (pa.array(range(rows)),))


def test_the_shape_of_a_merge_is_that_of_its_inputs_together() -> None:
    parts = [sequence(0, 10), sequence(50, 20)]
    both = shape_of_sum(parts)
    each = [shape_of(part, is_sequence=True) for part in parts]
    assert both == Shape(30, 480, sum(one.value_bytes for one in each), is_sequence=True)
    gap = Batch(np.array([1, 5], np.uint64), np.zeros(2, np.uint64), None, np.ones(2, np.int64))
    assert not shape_of_sum([*parts, gap]).is_sequence
