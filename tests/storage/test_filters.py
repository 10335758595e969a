"""Filters never deny a key that is there, and seldom claim one that is not."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.storage.filters import build_filters, filter_room, may_hold

RNG = np.random.default_rng(5)


def hashed(words: np.ndarray) -> np.ndarray:
    """A second lane, independent of the order of the words."""
    mixed = (words ^ (words >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
    return (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)


def asked(keys: np.ndarray, probes: np.ndarray, block: int) -> np.ndarray:
    """What the filters of blocks of ``block`` rows say to each probe, by its word and hash."""
    cuts = np.append(np.arange(0, len(keys), block), len(keys))
    out, ends = np.zeros(filter_room(len(keys), len(cuts) - 1), np.uint8), np.empty(len(cuts) - 1, np.int64)
    size = build_filters(hashed(keys), cuts, out, ends)
    assert size <= len(out)
    starts = np.append(0, ends[:-1])
    found = np.empty(len(probes), np.bool_)
    may_hold(
        keys[cuts[:-1]], probes, probes, hashed(probes), out[:size], starts, np.diff(ends, prepend=0), found
    )
    return found


@pytest.mark.parametrize("block", [8, 1024, 8192])
def test_keys_that_are_there_are_found_and_others_mostly_not(block: int) -> None:
    keys = np.sort(RNG.integers(0, 2**64, 20_000, dtype=np.uint64))
    assert asked(keys, keys, block).all()
    others = np.sort(RNG.integers(0, 2**64, 100_000, dtype=np.uint64))
    assert asked(keys, others, block).mean() < (0.02 if block > 8 else 0.05)


def test_rows_of_one_key_are_counted_once() -> None:
    keys = np.repeat(np.sort(RNG.integers(0, 2**64, 20, dtype=np.uint64)), 1000)
    out, ends = np.zeros(filter_room(len(keys), 1), np.uint8), np.empty(1, np.int64)
    assert build_filters(keys, np.array([0, len(keys)]), out, ends) == 32
    assert asked(keys, keys, 1024).all()
