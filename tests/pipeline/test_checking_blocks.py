"""Batches in blocks that were written wrong, with correct checksums, are found by a check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from penstock.pipeline.checking import blocks as module
from penstock.pipeline.checking.blocks import wrong_blocks
from penstock.storage import BlockForm, Codec, MemoryBackend, Segment, SegmentWriter, block_writer
from penstock.storage.block_index import BlockIndex

FORM = BlockForm(Codec.PACKED, {"key_lo": Codec.PLAIN}, filtered="key_lo", block_rows=16)
ROWS = 200


@pytest.fixture(autouse=True)
def few_blocks_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_AT_ONCE", 3)


def sample() -> dict[str, np.ndarray]:
    words = np.arange(ROWS, dtype=np.uint64) * np.uint64(2**55)
    lane = (words ^ (words >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9)
    return {"order": words, "key_lo": lane, "weight": np.ones(ROWS, np.int64)}


def found(columns: dict[str, np.ndarray], form: BlockForm = FORM) -> list[str]:
    backend = MemoryBackend()
    writer = SegmentWriter(backend, "segments/a.seg")
    values = pa.array([None if i % 5 == 0 else f"row {i}" for i in range(ROWS)])
    rows = pa.RecordBatch.from_pydict({**{name: pa.array(c) for name, c in columns.items()}, "v0": values})
    writer.add_blocks("blocks", {}, rows, form)
    writer.finish()
    return list(wrong_blocks(Segment.open(backend, "segments/a.seg"), backend, 0))


@pytest.mark.parametrize("words", [Codec.PLAIN, Codec.PACKED, Codec.DERIVED])
def test_nothing_is_wrong_with_a_sound_batch(words: Codec) -> None:
    assert found(sample(), replace(FORM, codecs=dict.fromkeys(("order", "key_lo"), words))) == []


def test_disorder_within_and_across_blocks_is_found() -> None:
    within = sample()
    within["order"][[20, 21]] = within["order"][[21, 20]]
    assert any("order word of row 21" in what for what in found(within))
    across = sample()
    across["order"][48:] -= across["order"][10]  # where the next blocks are read
    assert any("block 3 begins with a lower word than" in what for what in found(across))


def test_a_row_that_is_there_twice_is_found() -> None:
    for row in (5, 48):  # 48 is the first row of another group of blocks
        twice = sample()
        for lane in ("order", "key_lo"):
            twice[lane][row] = twice[lane][row - 1]
        assert any("identity" in what for what in found(twice)), row


def changed(change: Callable[[BlockIndex], BlockIndex], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is found if the index is written like this."""
    finish = block_writer.BlockWriter.finish

    def finished(writer: block_writer.BlockWriter) -> tuple[BlockIndex, int]:
        index, end = finish(writer)
        return change(index), end

    monkeypatch.setattr(block_writer.BlockWriter, "finish", finished)
    return found(sample())


def test_an_index_with_other_words_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def other(index: BlockIndex) -> BlockIndex:
        first = index.first_words.copy()
        first[4] += np.uint64(1)
        return replace(index, first_words=first)

    assert any("block 4 does not begin with the word" in what for what in changed(other, monkeypatch))


def test_an_index_with_another_last_word_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = changed(lambda index: replace(index, last_word=index.last_word + 1), monkeypatch)
    assert any("does not end with the word" in what for what in wrong)


def test_an_index_with_another_number_of_nulls_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def other(index: BlockIndex) -> BlockIndex:
        return replace(index, buffers=tuple(replace(b, nulls=b.nulls + (b.nulls > 0)) for b in index.buffers))

    assert any("has 41 NULLs, and it has 40" in what for what in changed(other, monkeypatch))


def test_a_filter_without_a_key_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    build = block_writer.build_filters

    def forgetful(hashes: np.ndarray, cuts: np.ndarray, out: np.ndarray, ends: np.ndarray) -> int:
        return build(np.where(np.arange(len(hashes)) == 100, np.uint64(1), hashes), cuts, out, ends)

    monkeypatch.setattr(block_writer, "build_filters", forgetful)
    assert "the filter of block 6 does not have the key of row 100" in found(sample())
