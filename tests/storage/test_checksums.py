"""Checksums of many pieces at once are those of the library, by the instruction and by tables."""

from __future__ import annotations

import google_crc32c
import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.storage import checksums as module
from penstock.storage.checksums import checksums, first_damaged

DATA = np.random.default_rng(2).integers(0, 256, 5000, dtype=np.uint8)
pieces = st.lists(st.tuples(st.integers(0, 4000), st.integers(0, 1000)), max_size=20)


@given(found=pieces)
def test_checksums_are_those_of_the_library(found: list[tuple[int, int]]) -> None:
    starts, lengths = (np.array([piece[i] for piece in found], np.int64) for i in (0, 1))
    wanted = [google_crc32c.extend(0, pa.py_buffer(DATA[s : s + n])) for s, n in found]
    assert checksums(DATA, starts, lengths).tolist() == wanted


def test_tables_give_the_same_as_the_instruction() -> None:
    crc = np.uint64(0x12345678)
    for word in np.random.default_rng(3).integers(0, 2**64, 50, dtype=np.uint64):
        raw = int(word).to_bytes(8, "little")
        wanted = google_crc32c.extend(int(crc) ^ 0xFFFFFFFF, raw) ^ 0xFFFFFFFF
        crc = module._word_by_tables.py_func(crc, word)
        assert int(crc) == wanted


def test_the_first_damaged_piece_is_named() -> None:
    starts, lengths = np.arange(0, 5000, 100), np.full(50, 100)
    expected = checksums(DATA, starts, lengths)
    assert first_damaged(DATA, starts, lengths, expected) == (-1, 0)
    damaged = DATA.copy()
    damaged[[1234, 3000]] ^= 1
    which, found = first_damaged(damaged, starts, lengths, expected)
    assert which == 12 and found != expected[12]
