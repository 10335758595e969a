"""A spine: the integral of a stream of batches, kept as O(log n) immutable batches.

Addition of Z-sets commutes, so the age of a batch does not matter and any two may merge. Batches of similar
size are merged, so sizes stay geometric: a row is merged O(log n) times in its life, and a lookup searches
O(log n) batches.

A batch is stored in segments, perhaps as several parts (:mod:`.held`), or it is written by the next commit.
Until the commit's manifest exists, the old batches stay on disk: forgetting an interrupted merge loses
nothing.

Merging two large batches takes longer than many small steps. With an executor it runs in the background: the
inputs stay in use until the merged batch replaces them, when the next batch arrives. A second large merge
that falls due meanwhile waits for the first. A merge that is small compared with the batch that triggered it
runs at once where two batches are merged: it will be due again with the next one.

While large batches arrive (a load), more of them are kept side by side: searching one more for many keys
costs far less than merging, and merged batches must be written again. Merges that they trigger are rare, so
they run in the background whatever their size. When the load is over (a step brought no large batch, or no
step comes) :meth:`Spine.continue_merging` merges what is left. Where merging reduces rows, because they have
the same keys (the groups of an aggregate), deferring does not pay: there batches are merged at once.

A merge with a batch that is on file goes to a file itself (:mod:`.filing`), and so does one whose result is
large, so that it needs little memory however large the batches are. Batches leave memory in the same way when
there are too many of them (:meth:`Spine.leave_memory`): those in a segment already are used from there, the
others are merged into a file.

A commit writes while steps continue: it keeps a copy of :attr:`Spine.held`, and records in each
:class:`~penstock.trace.Held` where it wrote the batch. If the batch has been merged meanwhile, that record is
ignored.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from itertools import groupby

from penstock.storage import BatchRef
from penstock.trace.batch import Batch, merge_batches
from penstock.trace.filing import Filed, Filing
from penstock.trace.held import Held, Part, Stored, stored_as_parts

__all__ = ["LARGE", "Spine"]

LARGE = 65_536
"""The number of rows from which on a merge runs in the background."""
RARE = 16
"""How many times the arriving rows a merge must be to run in the background; smaller ones are due all the
time."""
BULK = 32_768
"""The number of rows from which on a batch counts as part of a load."""
BULK_FAN = 8
"""How many batches of similar size are kept during a load."""
SMALL_BYTES = 1 << 20
"""Batches in memory that take less than this together are not worth a file."""
SHRUNK = 0.75
"""A merge whose result has at most this share of its input rows counts as reducing."""


@dataclass(frozen=True, slots=True)
class _Merging:
    """A merge in progress: of which of the held batches."""

    start: int
    stop: int
    job: object
    result: Future[Filed]


class Spine:
    """The batches of one arrangement, largest first.

    ``fan`` batches of similar size are merged at once. Two keeps the number of batches that a lookup must
    search smallest; more means less merging, for arrangements that are read occasionally but not searched.
    """

    def __init__(
        self,
        fan: int = 2,
        merger: Executor | None = None,
        *,
        filing: Filing | None = None,
        slot: str = "",
    ) -> None:
        self._fan, self._merger = fan, merger
        self._filing, self._slot = filing, slot
        self._held: list[Held] = []
        self._batches: tuple[Batch, ...] = ()
        self._merging: _Merging | None = None
        self._bytes_in_memory = 0
        self._shrinks = False  # whether the last merge reduced the rows
        self._loading = False  # whether the last batch was part of a load, and no step has come since
        self._settled = True  # whether there is nothing to merge

    @property
    def batches(self) -> tuple[Batch, ...]:
        """The batches, largest first. Their sum is the arrangement."""
        return self._batches

    @property
    def held(self) -> tuple[Held, ...]:
        """The same with their positions on disk, or None while a batch is in memory only."""
        return tuple(self._held)

    def __len__(self) -> int:
        """Stored rows, an upper bound of the rows of the arrangement (batches may cancel out)."""
        return sum(map(len, self._batches))

    @property
    def bytes_in_memory(self) -> int:
        """What its batches take in memory."""
        return self._bytes_in_memory

    @property
    def is_merging(self) -> bool:
        """Whether a merge is in progress."""
        return self._merging is not None

    def load(self, batch: Batch, ref: BatchRef, stored: int = 0) -> None:
        """Adds a batch that is read from a segment, where it takes ``stored`` bytes, at its position by
        size."""
        if len(batch):
            place = bisect_right(self._held, -len(batch), key=lambda other: -len(other.batch))
            self._held.insert(place, Held(batch, Stored((Part(ref, stored),)), source=ref.segment))
            self._settled = False
            self._changed()

    def merge_small(self) -> None:
        """Merges the smallest batches, if they are small together: a batch may be stored as many parts, and
        searching one is faster. To be called when all stored batches are loaded. They stay stored as they
        are: opening a version writes nothing."""
        rows, start = 0, len(self._held)
        while start and (rows := rows + len(self._held[start - 1].batch)) < LARGE:
            start -= 1
        if len(self._held) - start > 1:
            parts = tuple(part for held in self._held[start:] for part in held.stored.parts)
            merged = merge_batches([held.batch for held in self._held[start:]])
            self._held[start:] = [Held(merged, Stored(parts))]
            self._changed()

    def insert(self, batch: Batch) -> None:
        """Adds a batch, merging while there are ``fan`` of similar size."""
        if len(batch):
            self._held.append(Held(batch, Stored(unwritten=(batch,))))
            self._merge(len(batch))
            self._changed()

    def continue_merging(self) -> bool:
        """Continues background merging; call it after each step, and while none comes. After a load, merges
        what is left, smallest first. False if there is nothing left to do."""
        if self._settled:
            return False
        if self._merging is not None and self._merging.result.done():
            self._take_over()
            self._changed()
        if self._loading:
            self._loading = False
        elif self._merging is None:
            self._settled = self._merger is None or not self._merge_left(self._merger)
        return not self._settled

    def settle(self) -> None:
        """The same, but waits until it is finished."""
        while self.continue_merging():
            if self._merging is not None:
                self._merging.result.result()

    def _merge_left(self, merger: Executor) -> bool:
        """Starts to merge the smallest batches of similar size, if there are any."""
        sizes = [len(held.batch) for held in self._held]
        for stop in range(len(sizes), 1, -1):
            if (alike := _alike(sizes[:stop], self._fan)) >= self._fan:
                self._merge_in_passing(merger, stop - alike, stop)
                return True
        return False

    def _merge(self, came: int) -> None:
        if self._merging is not None and self._merging.result.done():
            self._take_over()
        bulk = self._merger is not None and came >= BULK and not self._shrinks
        while due := self._due(max(self._fan, BULK_FAN) if bulk else self._fan):
            start, stop = len(self._held) - due, len(self._held)
            rows = sum(len(held.batch) for held in self._held[start:])
            rare = bulk or self._fan >= BULK_FAN or rows >= RARE * came
            batches = [held.batch for held in self._held[start:]]
            filing = self._filing if self._filing is not None and self._filing.takes(batches) else None
            if self._merger is None and filing is not None:
                self._replace(start, stop, filing.write(object(), batches, self._slot))
            elif self._merger is None or (filing is None and (rows < LARGE or not rare)):
                self._replace(start, stop, _in_memory(batches))
            elif self._merging is None:
                self._merge_in_passing(self._merger, start, stop)
            else:
                self._take_over()
        self._loading, self._settled = bulk, False

    def _merge_in_passing(self, merger: Executor, start: int, stop: int, *, to_file: bool = False) -> None:
        batches, job = [held.batch for held in self._held[start:stop]], object()
        if self._filing is not None and (to_file or self._filing.takes(batches)):
            result = merger.submit(self._filing.write, job, batches, self._slot)
        else:
            result = merger.submit(_in_memory, batches)
        self._merging = _Merging(start, stop, job, result)

    def leave_memory(self) -> int:
        """Has batches used from the segments that they are in, and starts to file the largest run of others,
        unless they are small or a merge is in progress. Returns how many bytes left, or will have left when
        :attr:`is_merging` ends."""
        if self._filing is None:
            return 0
        before = self._bytes_in_memory
        self._read_from_segments([held for held in self._held if held.source is None])
        left = before - self._bytes_in_memory
        if self._merger is None or self._merging is not None:
            return left
        runs = [run for run in self._runs_in_memory() if run[2] >= SMALL_BYTES]
        if not runs:
            return left
        start, stop, size = max(runs, key=lambda run: run[2])
        if not self._filing.can_store([held.batch for held in self._held[start:stop]]):
            return left
        self._merge_in_passing(self._merger, start, stop, to_file=True)
        self._settled = False
        return left + size

    def _runs_in_memory(self) -> Iterator[tuple[int, int, int]]:
        """Neighbouring batches in memory: first, one past last, and their bytes."""
        number = 0
        for in_memory, run in groupby(self._held, key=lambda held: held.source is None):
            batches = list(run)
            if in_memory:
                yield number, number + len(batches), sum(held.bytes_in_memory for held in batches)
            number += len(batches)

    def wait(self) -> None:
        """Waits for the merge in progress, if there is one, and installs its result."""
        if self._merging is not None:
            self._take_over()
            self._changed()

    def take_published(self) -> None:
        """Installs the merge in progress if its result is on file already: it must be in the next
        snapshot."""
        if (
            self._merging is not None
            and self._filing is not None
            and self._merging.job in self._filing.published
        ):
            self._take_over()
            self._changed()

    def _take_over(self) -> None:
        """Waits for the merge in progress, and installs its result."""
        assert self._merging is not None
        merging, self._merging = self._merging, None
        self._replace(merging.start, merging.stop, self._result_of(merging))
        if self._filing is not None:
            self._filing.published.discard(merging.job)

    def _result_of(self, merging: _Merging) -> Filed:
        if self._filing is None:
            return merging.result.result()
        with self._filing.turns.hurried():
            return merging.result.result()

    def _replace(self, start: int, stop: int, merged: Filed) -> None:
        rows = 0 if merged.batch is None else len(merged.batch)
        self._shrinks = rows < SHRUNK * sum(len(held.batch) for held in self._held[start:stop])
        inputs = self._held[start:stop]
        if merged.batch is None or not rows:
            self._held[start:stop] = []
        elif merged.ref is not None:
            stored = Stored((Part(merged.ref, merged.stored),))
            self._held[start:stop] = [Held(merged.batch, stored, merged.ref.segment)]
        else:
            self._held[start:stop] = [Held(merged.batch, stored_as_parts(inputs, merged.batch))]

    def _due(self, fan: int) -> int:
        """How many of the last batches to merge: ``fan`` or more of similar size, plus those that are similar
        in size to the result. So what would be merged again at once is merged in one go."""
        busy = 0 if self._merging is None else self._merging.stop
        sizes = [len(held.batch) for held in self._held[busy:]]
        due = 0
        while (alike := _alike(sizes, fan)) >= fan:
            due += alike - (due > 0)
            sizes[-alike:] = [sum(sizes[-alike:])]
        return due

    def follow_rewritten(self) -> None:
        """Reads batches from where a commit has stored them since, so that the segments in which they were
        before can be deleted."""
        on_file = [held for held in self._held if held.source is not None]
        moved = [held for held in on_file if all(ref.segment != held.source for ref in held.refs)]
        if moved:
            self._read_from_segments(moved)

    def _read_from_segments(self, batches: Iterable[Held]) -> None:
        for held in batches:
            ref = held.whole_ref
            if self._filing is not None and ref is not None and self._filing.can_open(ref):
                held.batch, held.source = self._filing.open(ref, held.batch.ordered), ref.segment
        self._changed()

    def _changed(self) -> None:
        self._batches = tuple(held.batch for held in self._held)
        before = self._bytes_in_memory
        self._bytes_in_memory = sum(held.bytes_in_memory for held in self._held)
        if self._filing is not None:
            self._filing.bytes_in_memory += self._bytes_in_memory - before


def _in_memory(batches: Sequence[Batch]) -> Filed:
    return Filed(merge_batches(batches))


def _alike(sizes: Sequence[int], fan: int) -> int:
    """How many of the last sizes are similar: less than ``fan / 2`` times that of a later one (but at least
    twice). So the result of merging ``fan`` batches is not similar to them, even if rows cancelled out."""
    largest = count = 0
    for size in reversed(sizes):
        if count and size >= max(2, fan // 2) * largest:
            break
        largest = max(largest, size)
        count += 1
    return count
