"""Lookups against the reference: the right rows, sums and first values, and no row read that need not be."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.trace import (
    Batch,
    build_batch,
    first,
    lookup,
    lookup_first,
    lookup_repeated,
    lookup_rows,
    lookup_sums,
)
from penstock.zset.reference import canonical
from tests.trace.reference import first_of, hashes, ordered_batch, rows_of, totals
from tests.trace.samples import HIGHS, KINDS, LOWS, Entry, batch_of, entries

KEYS = [(high | low, lo) for high in (*HIGHS, 9 << 32) for low in LOWS for lo in (0, 5, 6)]


@given(parts=st.lists(entries, max_size=4))
@settings(deadline=None, max_examples=25)
def test_lookup_rows_finds_the_rows_of_each_key_and_no_strangers(parts: list[list[Entry]]) -> None:
    batches = [batch_of(rows, by_row=True) for rows in parts]
    found: list[dict[object, int]] = [{} for _ in KEYS]
    for matches in lookup_rows(batches, hashes(KEYS)):
        assert matches.batch.row_lo is not None
        for probe, row in zip(matches.probe.tolist(), matches.row.tolist(), strict=True):
            identity = (
                int(matches.batch.order[row]),
                int(matches.batch.key_lo[row]),
                int(matches.batch.row_lo[row]),
            )
            found[probe][identity] = found[probe].get(identity, 0) + int(matches.batch.weights[row])
    for key, rows in zip(KEYS, found, strict=True):
        assert {identity: weight for identity, weight in rows.items() if weight} == rows_of(batches, *key)


@given(parts=st.lists(entries, max_size=4), order=st.permutations(range(len(KEYS))))
@settings(deadline=None, max_examples=25)
def test_lookup_sums_adds_every_component_over_all_batches(
    parts: list[list[Entry]], order: list[int]
) -> None:
    batches = [batch_of(rows, by_row=False) for rows in parts]
    keys = [KEYS[i] for i in order] + KEYS[:3]  # unsorted, and some asked twice
    weights, sums = lookup_sums(batches, hashes(keys))
    everything = totals(batches)
    for i, (hi, lo) in enumerate(keys):
        total = everything.get((hi, lo, None))
        assert weights[i] == (total.weight if total else 0)
        assert {name: column[i] for name, column in sums.items() if column[i]} == dict(
            total.sums if total else ()
        )


@given(
    parts=st.lists(entries, max_size=3),
    order=st.lists(st.sampled_from(range(len(KEYS))), max_size=60),
    alone=st.booleans(),
)
@settings(deadline=None, max_examples=50)
def test_keys_that_come_again_and_again_find_what_they_find_one_by_one(
    parts: list[list[Entry]], order: list[int], alone: bool
) -> None:
    """``alone``: at most one row of each key in a batch."""
    if alone:
        parts = [list({entry[:2]: entry for entry in rows}.values()) for rows in parts]
    batches = [batch_of(rows, by_row=True) for rows in parts]
    keys = hashes([KEYS[i] for i in order])

    def found(matches: Iterator[lookup.Matches]) -> list[tuple[int, int, int]]:
        return sorted(
            (id(each.batch), probe, row)
            for each in matches
            for probe, row in zip(each.probe.tolist(), each.row.tolist(), strict=True)
        )

    assert found(lookup_repeated(batches, keys)) == found(lookup_rows(batches, keys))


def test_lookups_of_nothing_and_in_nothing() -> None:
    some = batch_of([(1, 5, 3, 1, 0, 0)], by_row=True)
    assert list(lookup_rows([], hashes(KEYS))) == []
    assert list(lookup_rows([some], hashes([]))) == []
    assert lookup_sums([], hashes(KEYS))[0].tolist() == [0] * len(KEYS)
    assert lookup_first([], hashes(KEYS)) == (pytest.approx([]), None)
    assert lookup_first([some], hashes([]))[1] is None


# Two keys share the half of the hash that sorts a batch; the third has it to itself.
ORDERED_KEYS = ((7 << 32, 1), (7 << 32, 2), (8 << 32, 1), (9 << 32, 1))


@st.composite
def ordered_batches(draw: st.DrawFn, kind: str, *, descending: bool) -> list[Batch]:
    """Batches of few different values with weights that mostly cancel out: long runs must be read."""
    arrow_type, strategy = KINDS[kind]
    pool = draw(st.lists(strategy, min_size=1, max_size=30))
    row = st.tuples(
        st.sampled_from(ORDERED_KEYS[:3]), st.integers(0, len(pool) - 1), st.sampled_from((-1, -1, 1, 1, 2))
    )
    batches = []
    for _ in range(draw(st.integers(1, 5))):
        rows = draw(st.lists(row, max_size=60))
        values = pa.array([pool[i] for _, i, _ in rows], arrow_type)
        batches.append(
            ordered_batch([k for k, _, _ in rows], values, [w for _, _, w in rows], descending=descending)
        )
    return batches


def check_first(batches: list[Batch], keys: tuple[tuple[int, int], ...], *, descending: bool) -> None:
    probes, values = lookup_first(batches, hashes(list(keys)))
    found = dict(zip(probes.tolist(), [] if values is None else values.to_pylist(), strict=True))
    assert len(found) == len(probes)
    for i, key in enumerate(keys):
        wanted = first_of(batches, *key, descending=descending)
        assert (canonical(found[i]) if i in found else None) == wanted


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(deadline=None, max_examples=10)
def test_lookup_first_is_the_first_value_that_does_not_cancel_out(
    kind: str, descending: bool, data: st.DataObject
) -> None:
    check_first(data.draw(ordered_batches(kind, descending=descending)), ORDERED_KEYS, descending=descending)


@given(data=st.data())
@settings(deadline=None, max_examples=50)
def test_lookup_first_with_long_cancelling_runs_beside_a_strangers(data: st.DataObject) -> None:
    check_first(data.draw(ordered_batches("int8", descending=False)), ORDERED_KEYS, descending=False)


def test_a_window_that_ends_on_a_strangers_equal_value_decides_nothing() -> None:
    # The older batch's window of four ends on the stranger's 4; this key's own -1 of the same 4 is next.
    stranger, own = ORDERED_KEYS[0], ORDERED_KEYS[1]
    older = ordered_batch(
        [stranger] * 4 + [own], pa.array([1, 2, 3, 4, 4]), [1, 1, 1, 1, -1], descending=False
    )
    newer = ordered_batch([own, own], pa.array([4, 9]), [1, 1], descending=False)
    check_first([older, newer], (own,), descending=False)


def test_lookup_first_reads_past_thousands_of_rows_that_cancel_out() -> None:
    key = ORDERED_KEYS[0]
    numbers = pa.array(np.arange(5000))
    there = ordered_batch([key] * 5000, numbers, [1] * 5000, descending=True)
    gone = ordered_batch([key] * 4990, numbers[10:], [-1] * 4990, descending=True)
    check_first([there, gone], (key,), descending=True)
    check_first(
        [there, gone, ordered_batch([key] * 10, numbers[:10], [-1] * 10, descending=True)],
        (key,),
        descending=True,
    )


@pytest.fixture
def rows_read(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many rows each search took out of a batch."""
    counts: list[int] = []
    real = first.expand

    def counting(start: lookup.Indices, size: lookup.Indices) -> tuple[lookup.Indices, lookup.Indices]:
        counts.append(int(size.sum()))
        return real(start, size)

    monkeypatch.setattr(first, "expand", counting)
    yield counts


def _many(by_row: bool) -> Batch:
    rng = np.random.default_rng(1)
    words = rng.integers(0, 2**63, 20_000, dtype=np.uint64)
    return build_batch(words, words, words if by_row else None, np.ones(len(words), np.int64))


def test_a_lookup_finds_only_the_rows_of_its_keys() -> None:
    batch = _many(by_row=True)
    wanted = hashes([(int(batch.order[i]), int(batch.key_lo[i])) for i in range(0, 500, 5)] + [(3, 3)])
    assert sum(len(found.row) for found in lookup_rows([batch], wanted)) == 100


def test_a_lookup_of_sums_finds_one_row_for_each_key() -> None:
    batch = _many(by_row=False)
    wanted = hashes([(int(batch.order[i]), int(batch.key_lo[i])) for i in range(0, 500, 5)] + [(3, 3)])
    assert lookup_sums([batch, batch], wanted)[0].tolist() == [2] * 100 + [0]


def test_the_first_value_of_a_large_group_is_read_off_a_prefix(rows_read: list[int]) -> None:
    keys = [ORDERED_KEYS[0], ORDERED_KEYS[2]]
    ties = 1 << 30  # beyond 24 bits many numbers share an image: the values themselves have to be read
    batches = [
        ordered_batch(
            [key] * 3000, pa.array(ties + np.arange(start, start + 3000)), [1] * 3000, descending=False
        )
        for start in (0, 1500)
        for key in keys
    ]
    _, values = lookup_first(batches, hashes(keys))
    assert values is not None
    assert values.to_pylist() == [ties, ties]
    assert 0 < sum(rows_read) <= len(keys) * len(batches) * 4


@given(parts=st.lists(entries, max_size=4))
@settings(deadline=None, max_examples=25)
def test_many_rows_come_in_parts_and_are_the_same_rows(parts: list[list[Entry]]) -> None:
    batches = [batch_of(rows, by_row=True) for rows in parts]

    numbers = {id(batch): number for number, batch in enumerate(batches)}

    def found(at_once: int) -> list[tuple[int, int, int]]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(lookup, "_AT_ONCE", at_once)
            matches = list(lookup_rows(batches, hashes(KEYS)))
        assert all(len(part.row) <= at_once for part in matches)
        return [
            (numbers[id(part.batch)], probe, row)
            for part in matches
            for probe, row in zip(part.probe.tolist(), part.row.tolist(), strict=True)
        ]

    assert found(3) == found(1 << 20)


@given(parts=st.lists(entries, max_size=4))
@settings(deadline=None, max_examples=25)
def test_lookup_sums_of_single_rows(parts: list[list[Entry]]) -> None:
    batches = [batch_of(rows, by_row=True) for rows in parts]
    identities = [(hi, lo, row) for hi, lo in KEYS for row in (3, 4)]
    rows = np.array([row for _, _, row in identities], np.uint64)
    weights, _ = lookup_sums(batches, hashes([(hi, lo) for hi, lo, _ in identities]), rows)
    everything = totals(batches)
    for weight, identity in zip(weights.tolist(), identities, strict=True):
        total = everything.get(identity)
        assert weight == (total.weight if total else 0)
