"""Directories: a search that uses one finds what a search without one finds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from penstock.trace import Batch, directory, lookup
from penstock.trace.directory import NO_DIRECTORY, directory_of
from penstock.trace.lookup import lookup_rows, lookup_sums
from penstock.zset import Hashes

TOP = (1 << 64) - 1


@pytest.fixture(autouse=True)
def small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Directories from one row on, used however many probes there are."""
    monkeypatch.setattr(directory, "LARGE", 1)
    monkeypatch.setattr(lookup, "_FAR", 0)


def batch_of(order: NDArray[np.uint64], *, directed: bool) -> Batch:
    key_lo = order >> np.uint64(32)
    ones = np.ones(len(order), np.int64)
    made = Batch(order, key_lo, None, ones, (), {"n": np.arange(len(order))})
    return replace(made, directory=directory_of(order) if directed else NO_DIRECTORY)


def same_finds(order: NDArray[np.uint64], probes: NDArray[np.uint64]) -> None:
    keys = Hashes(probes, probes >> np.uint64(32))
    with_it, without = batch_of(order, directed=True), batch_of(order, directed=False)
    assert len(with_it.directory) > 0 or len(order) == 0
    rows = [[(m.probe.tolist(), m.row.tolist()) for m in lookup_rows([b], keys)] for b in (with_it, without)]
    assert rows[0] == rows[1]
    sums = [lookup_sums([b], keys) for b in (with_it, without)]
    assert sums[0][0].tolist() == sums[1][0].tolist()
    assert {k: v.tolist() for k, v in sums[0][1].items()} == {k: v.tolist() for k, v in sums[1][1].items()}


words = st.one_of(
    st.integers(0, TOP),
    st.integers(0, 50).map(lambda low: (7 << 32) | low),  # many rows of one key
    st.sampled_from([0, 1, TOP - 1, TOP]),
)


@given(st.sets(words, min_size=1, max_size=60), st.lists(words, max_size=40), st.randoms())
def test_any_words_are_found_or_not_found_alike(stored: set[int], asked: list[int], random: object) -> None:
    order = np.array(sorted(stored), np.uint64)
    probes = np.array([*asked, *list(stored)[:10]], np.uint64)
    same_finds(order, probes)
    same_finds(order, np.sort(probes))


def test_a_hundred_thousand_hashes_are_found() -> None:
    rng = np.random.default_rng(3)
    order = np.unique(rng.integers(0, TOP, 100_000, np.uint64, endpoint=True))
    same_finds(order, np.concatenate((order[::97], rng.integers(0, TOP, 1000, np.uint64))))
    half = order[order < np.uint64(1 << 63)]  # what one worker of two holds
    same_finds(half, order[::89].copy())
    assert len(directory_of(order)) < len(order)


def test_few_rows_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory, "LARGE", 10)
    assert len(directory_of(np.arange(9, dtype=np.uint64))) == 0
    assert len(directory_of(np.arange(10, dtype=np.uint64))) > 0
    assert len(directory_of(np.full(12, 5, np.uint64))) > 0
