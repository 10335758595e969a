"""All four kinds of batches, in memory and on file, do what the slow reference does.

A machine holds some batches, each with its reference, and applies whatever operation comes next to one of
them: builders, merges, slices, truncation, rewrites, moves to a file. Results are batches again, so
operations are applied to slices of merges of slices, partly in memory and partly on file. An operation gets a
batch on file as if it had just been opened, so that one that reads what it did not ask for is noticed.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from penstock.trace import (
    Batch,
    Kind,
    Time,
    TupleBuilder,
    advance,
    cursor,
    key_count,
    lookup_repeated,
    lookup_rows,
    lookup_sums,
    merge_batches,
    merge_runs,
    retain,
    sample_keys,
    scan,
    sum_of,
    truncate,
    truncate_below,
    unpack,
    unsound,
)
from penstock.trace.cursor import Key
from penstock.trace.rewrite import Rewrite, advancing, retaining, rewritten, unchanged
from penstock.trace.scan import LAST
from penstock.trace.stored import merge_to_draft
from tests.trace.layers import (
    HIGHS,
    LANES,
    LOWS,
    ROWS,
    Entry,
    Files,
    bounds,
    entries,
    many,
    reference,
    times,
    unsorted,
)
from tests.trace.old_packing import pack
from tests.trace.reference import ReferenceBatch, Total, Update, hashes, is_sorted_and_consolidated

MEDIA = ["in memory", "on file, plain", "on file, compressed"]
MOST = 6
"""Batches held at a time."""

picks = st.integers(0, MOST - 1)
sizes = st.integers(1, 30)


def stays(batch: Batch) -> np.ndarray:
    """A predicate on all that a row has."""
    text, number, _ = batch.values
    found = (number.to_numpy() % 3 != 0) | text.is_null().to_numpy(zero_copy_only=False)
    found |= batch.weights > 1
    return found if batch.times is None else found & (batch.times % np.uint64(4) != 3)


def stays_in_reference(update: Update, total: Total) -> bool:
    text, number, _ = total.values
    assert isinstance(number, int)
    kept = number % 3 != 0 or text is None or total.weight > 1
    return kept and (update.time is None or update.time % 4 != 3)


class Layers(RuleBasedStateMachine):
    """Some batches of one kind, with their references."""

    def __init__(self, kind: Kind, medium: str) -> None:
        super().__init__()
        self.kind = kind
        self._folder = Path(tempfile.mkdtemp())
        self.files = (
            None if medium == MEDIA[0] else Files(self._folder, compressed=medium == "on file, compressed")
        )
        self.held: list[tuple[Batch, ReferenceBatch]] = []

    def teardown(self) -> None:
        for batch, wanted in self.held:
            self._check(batch, wanted)
        self.held.clear()
        shutil.rmtree(self._folder)

    @property
    def is_timed(self) -> bool:
        return self.kind in (Kind.KEY, Kind.VAL)

    def _check(self, batch: Batch, wanted: ReferenceBatch) -> None:
        if self.files is not None:
            self.files.drop()
        assert batch.kind is self.kind
        assert ReferenceBatch.of(batch) == wanted
        assert is_sorted_and_consolidated(batch.whole())
        assert unsound(batch.whole().to_columns()) == ""

    def _hold(self, batch: Batch, wanted: ReferenceBatch) -> None:
        self._check(batch, wanted)
        self.held.append((batch, wanted))
        del self.held[:-MOST]

    def _pick(self, pick: int) -> tuple[Batch, ReferenceBatch]:
        batch, wanted = self.held[pick % len(self.held)]
        return batch if self.files is None else self.files.opened_again(batch), wanted

    # ---- builders ---------------------------------------------------------------------------------

    @initialize(rows=entries, seed=st.integers(0, 5))
    def begin(self, rows: list[Entry], seed: int) -> None:
        self._hold(sum_of([unsorted(self.kind, rows)]), reference(self.kind, rows))
        large = many(seed, 120)
        self._hold(sum_of([unsorted(self.kind, large)]), reference(self.kind, large))
        self.move(0)
        self.move(1)

    @rule(rows=entries, cuts=st.lists(st.integers(0, 40), max_size=4).map(sorted), size=sizes)
    def build_from_tuples(self, rows: list[Entry], cuts: list[int], size: int) -> None:
        builder = TupleBuilder(self._pick(0)[0], rows=size)
        for start, stop in zip([0, *cuts], [*cuts, len(rows)], strict=True):
            builder.push(unsorted(self.kind, rows[start:stop]))
        self._hold(builder.done(), reference(self.kind, rows))
        assert len(builder.done()) == 0

    @rule(pick=picks)
    def move(self, pick: int) -> None:
        """To a file, or through the forms in which small batches are stored."""
        batch, wanted = self._pick(pick)
        if self.files is not None:
            self._hold(self.files.stored(batch), wanted)
        else:
            self._hold(Batch.from_arrow(batch.to_arrow()), wanted)
            self._hold(unpack(pack(batch, with_words=True), None, None), wanted)

    @rule(one=picks, other=picks)
    def merge(self, one: int, other: int) -> None:
        (left, first), (right, second) = self._pick(one), self._pick(other)
        self._hold(merge_batches([left, right]), first.plus(second))

    @rule(chosen=st.lists(picks, min_size=1, max_size=4), size=sizes)
    def merge_in_pieces(self, chosen: list[int], size: int) -> None:
        batches, wanted = self._several(chosen)
        pieces = list(merge_runs(batches, rows=size))
        words = [set(piece.order.tolist()) for piece in pieces]
        assert sum(map(len, words)) == len(set().union(*words)), "no word is split"
        self._hold(merge_batches(pieces or [batches[0].slice(0, 0)]), wanted)

    def _several(self, chosen: list[int]) -> tuple[list[Batch], ReferenceBatch]:
        wanted = ReferenceBatch({})
        for pick in chosen:
            wanted = wanted.plus(self._pick(pick)[1])
        return [self._pick(pick)[0] for pick in chosen], wanted

    @precondition(lambda self: self.files is not None)
    @rule(chosen=st.lists(picks, min_size=1, max_size=3), frontier=st.lists(times, max_size=2))
    def merge_to_a_file(self, chosen: list[int], frontier: list[Time]) -> None:
        assert self.files is not None
        batches, wanted = self._several(chosen)
        change: Rewrite = unchanged
        if frontier and self.is_timed:
            change, wanted = advancing(frontier), wanted.advanced(pairs(frontier))
        elif frontier:
            change, wanted = retaining(stays), wanted.where(stays_in_reference)
        draft = merge_to_draft(self.files.backend, batches, {}, self.files.form, rewrite=change)
        assert draft.rows == len(wanted.totals)
        if draft.rows == 0:
            draft.discard()
            return
        ref, _ = draft.publish(self.files.name())
        self._hold(self.files.open(ref.segment), wanted)

    # ---- parts and rewrites -----------------------------------------------------------------------

    @rule(pick=picks, start=st.integers(0, 60), rows=st.integers(0, 60))
    def slice(self, pick: int, start: int, rows: int) -> None:
        batch, wanted = self._pick(pick)
        part = batch.slice(min(start, len(batch)), min(start + rows, len(batch)))
        found = ReferenceBatch.of(part)
        assert found.totals.items() <= wanted.totals.items() and len(found.totals) == len(part)
        self._hold(part, found)

    @rule(pick=picks, bound=bounds)
    def truncate(self, pick: int, bound: int) -> None:
        batch, wanted = self._pick(pick)
        self._hold(truncate(batch, bound), wanted.between(0, bound))
        self._hold(truncate_below(batch, bound), wanted.between(bound, LAST))

    @rule(pick=picks)
    def retain(self, pick: int) -> None:
        batch, wanted = self._pick(pick)
        self._hold(retain(batch, stays), wanted.where(stays_in_reference))
        assert retain(batch, lambda rows: np.ones(len(rows), np.bool_)) is batch

    @rule(pick=picks, size=sizes)
    def retain_in_slices(self, pick: int, size: int) -> None:
        batch, wanted = self._pick(pick)
        self._hold(rewritten(batch, retaining(stays), rows=size), wanted.where(stays_in_reference))

    @precondition(lambda self: self.is_timed)
    @rule(pick=picks, frontier=st.lists(times, min_size=1, max_size=3), size=sizes)
    def advance(self, pick: int, frontier: list[Time], size: int) -> None:
        batch, wanted = self._pick(pick)
        later = wanted.advanced(pairs(frontier))
        self._hold(rewritten(batch, advancing(frontier), rows=size), later)
        self._check(advance(batch, frontier), later)

    # ---- reading ----------------------------------------------------------------------------------

    @rule(pick=picks)
    def count_keys(self, pick: int) -> None:
        batch, wanted = self._pick(pick)
        assert key_count(batch) == len(wanted.all_keys())

    @rule(pick=picks, size=st.integers(0, 12), seed=st.integers(0, 99))
    def sample(self, pick: int, size: int, seed: int) -> None:
        batch, wanted = self._pick(pick)
        found = sample_keys(batch, size, np.random.default_rng(seed))
        sampled = list(zip(found.hi.tolist(), found.lo.tolist(), strict=True))
        assert sampled == sorted(set(sampled)) and set(sampled) <= set(wanted.all_keys())
        assert len(sampled) == min(size, len(wanted.all_keys()))

    @rule(pick=picks, low=bounds, high=bounds, window=sizes)
    def walk(self, pick: int, low: int, high: int, window: int) -> None:
        batch, wanted = self._pick(pick)
        inside = wanted.between(low, high)
        at = cursor(batch, low, high, rows=window)
        for word, lane in inside.all_keys():
            assert at.valid and at.key == Key(word, lane)
            key = (word, lane)
            run = at.run
            assert ReferenceBatch.of(run) == inside.where(lambda u, _, key=key: u.key == key)
            assert is_sorted_and_consolidated(run)
            at.next()
        assert not at.valid
        runs = [ReferenceBatch.of(run) for run in cursor(batch, low, high, rows=window)]
        assert len(runs) == len(inside.all_keys())

    @rule(
        pick=picks,
        goals=st.lists(st.tuples(bounds, st.sampled_from(LANES)), min_size=1, max_size=5),
        high=bounds,
        window=sizes,
    )
    def seek(self, pick: int, goals: list[tuple[int, int]], high: int, window: int) -> None:
        batch, wanted = self._pick(pick)
        left = wanted.between(0, high).all_keys()
        at = cursor(batch, 0, high, rows=window)
        has_values = self.kind in (Kind.INDEXED_ZSET, Kind.VAL)
        for word, lane in goals:
            at.seek(Key(word, lane))
            target = (word >> 32 << 32 if has_values else word, lane)
            left = [key for key in left if key >= target]
            assert at.valid == bool(left)
            if left:
                assert at.key == Key(*left[0])

    @rule(pick=picks, low=bounds, high=bounds, size=sizes, whole=st.booleans())
    def scan(self, pick: int, low: int, high: int, size: int, whole: bool) -> None:
        batch, wanted = self._pick(pick)
        found = ReferenceBatch({})
        units: list[set[int]] = []
        mask = 0xFFFFFFFF << 32 if whole and batch.row_lo is not None else LAST
        for piece in scan(batch, low, high, rows=size, whole_keys=whole):
            found = found.plus(ReferenceBatch.of(piece))
            units.append({word & mask for word in piece.order.tolist()})
            assert 0 < len(piece) <= size or len(units[-1]) == 1
        assert found == wanted.where(lambda update, _: low <= update.word <= high)
        assert sum(map(len, units)) == len(set().union(*units))

    @rule(
        pick=picks,
        probes=st.lists(st.tuples(st.sampled_from(HIGHS), st.sampled_from(LANES)), max_size=12),
        search=st.sampled_from([lookup_rows, lookup_repeated]),
    )
    def look_rows_up(self, pick: int, probes: list[tuple[int, int]], search: Callable[..., object]) -> None:
        batch, wanted = self._pick(pick)
        found: list[list[Update]] = [[] for _ in probes]
        for matches in search([batch], hashes(probes)):  # type: ignore[attr-defined]
            rows = matches.batch.take(matches.row)
            for i, probe in enumerate(matches.probe.tolist()):
                found[probe] += ReferenceBatch.of(rows.slice(i, i + 1)).totals
        for (high, lane), updates in zip(probes, found, strict=True):
            mine = [u for u in wanted.totals if u.word >> 32 == high >> 32 and u.lane == lane]
            assert sorted(updates) == sorted(mine)

    @rule(
        pick=picks,
        probes=st.lists(
            st.tuples(st.sampled_from(HIGHS), st.sampled_from(LOWS), st.sampled_from(LANES)), max_size=12
        ),
        row=st.sampled_from(ROWS),
    )
    def look_sums_up(self, pick: int, probes: list[tuple[int, int, int]], row: int) -> None:
        batch, wanted = self._pick(pick)
        keys = hashes([(high | low, lane) for high, low, lane in probes])
        has_values = self.kind in (Kind.INDEXED_ZSET, Kind.VAL)
        weights, sums = lookup_sums(
            [batch], keys, np.full(len(probes), row, np.uint64) if has_values else None
        )
        for i, (high, low, lane) in enumerate(probes):
            mine = [
                total
                for u, total in wanted.totals.items()
                if (u.word, u.lane, u.row) == (high | low, lane, row if has_values else None)
            ]
            assert weights[i] == sum(total.weight for total in mine)
            for name in "ab":
                found = sums[name][i] if name in sums else 0
                assert found == sum(dict(total.sums).get(name, 0) for total in mine)

    @rule()
    def look_again(self) -> None:
        """Nothing that was done since has changed a batch."""
        for batch, wanted in self.held:
            self._check(batch, wanted)


def pairs(frontier: list[Time]) -> list[tuple[int, int]]:
    return [(time.step, time.iteration) for time in frontier]


@pytest.mark.parametrize("medium", MEDIA)
@pytest.mark.parametrize("kind", Kind, ids=lambda kind: kind.value)
def test_every_operation_does_what_the_reference_does(kind: Kind, medium: str) -> None:
    run_state_machine_as_test(
        partial(Layers, kind, medium),
        settings=settings(
            max_examples=15,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.parametrize("compressed", [False, True], ids=["plain", "compressed"])
@pytest.mark.parametrize("kind", Kind, ids=lambda kind: kind.value)
def test_larger_batches_are_the_same_on_file_and_in_memory(
    kind: Kind, compressed: bool, tmp_path: Path
) -> None:
    files = Files(tmp_path, compressed=compressed)
    rows = many(1, 4000)
    wanted = sum_of([unsorted(kind, rows)])
    stored = files.stored(wanted)
    builder = TupleBuilder(wanted, rows=100)
    for start in range(0, len(rows), 37):
        builder.push(unsorted(kind, rows[start : start + 37]))
    changed = retain(wanted, stays)
    for batch in (stored, builder.done()):
        files.drop()
        assert batch.whole().to_columns().equals(wanted.to_columns())
        assert key_count(batch) == key_count(wanted) == sum(1 for _ in cursor(batch, rows=64))
        assert retain(batch, stays).to_columns().equals(changed.to_columns())
        if wanted.times is not None:
            frontier = [Time(2, 1), Time(1, 3)]
            assert advance(batch, frontier).to_columns().equals(advance(wanted, frontier).to_columns())
            assert key_count(advance(batch, frontier)) <= key_count(wanted)
    files.drop()
    read = files.pool.counts.bytes_read
    middle = int(wanted.order[len(wanted) // 2])
    assert cursor(stored, middle, rows=16).valid
    assert files.pool.counts.bytes_read - read < stored.nbytes // 10, "a cursor reads what it stands on"
