"""The merge builder: one batch from sorted batches, in pieces. (:mod:`.tuple_builder` takes unsorted rows.)

**Merging in pieces.** All inputs are cut at a common order word, so that what lies below the cut is a few
thousand rows; those are merged, handed out, and forgotten. Rows of one word are never split, so the pieces,
concatenated, are exactly what :func:`~penstock.trace.merge_batches` makes of the whole inputs, in memory that
does not depend on their size.

Each input has a window of rows, and the cut is the smallest of the windows' last words. Half of the rows are
divided evenly among the windows, half in proportion to what is left of the inputs. Words begin with bits of a
hash and are spread evenly, so the windows of large inputs end near each other, and those of small inputs
reach further than needed: a piece has between half and all of the rows asked for. Cost: that of merging, plus
some microseconds per piece and input.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from penstock.trace.batch import Batch, merge_batches
from penstock.trace.scan import LAST, PIECE, position_after, position_of_word, section

__all__ = ["merge_runs", "read_from"]


def merge_runs(batches: Sequence[Batch], *, rows: int = PIECE) -> Iterator[Batch]:
    """The sum of all batches, in order, in pieces that are merged from at most about ``rows`` rows: more only
    if a single word has more, or if there are more batches than that. No piece is empty.

    Like any batch, a piece lacks those columns of sums that are zero in all its rows. A piece that comes from
    one batch shares memory with it."""
    inputs = [batch for batch in batches if len(batch)]
    starts = [0] * len(inputs)
    while inputs:
        parts = _below_the_cut(inputs, starts, rows)
        starts = [start + len(part) for start, part in zip(starts, parts, strict=True)]
        merged = merge_batches([part for part in parts if len(part)])
        if len(merged):
            yield merged
        unread = [i for i, batch in enumerate(inputs) if starts[i] < len(batch)]
        inputs, starts = [inputs[i] for i in unread], [starts[i] for i in unread]


def read_from(batches: Sequence[Batch], low: int, most_bytes: int) -> tuple[list[Batch], int | None]:
    """The sum of all batches from order word ``low`` on, in pieces of about ``most_bytes`` together, and the
    word to go on from; None if that was all."""
    unread = [batch.slice(position_of_word(batch, low), len(batch)) for batch in batches]
    found: list[Batch] = []
    size = 0
    for piece in merge_runs(unread):
        found.append(piece)
        size += piece.nbytes
        last = int(piece.order[-1])
        if size >= most_bytes and last < LAST:
            return found, last + 1
    return found, None


def _below_the_cut(inputs: Sequence[Batch], starts: Sequence[int], rows: int) -> list[Batch]:
    """The next rows of each input, such that no later row has the word of one of them. Never all empty."""
    sizes = _window_sizes([len(batch) - start for batch, start in zip(inputs, starts, strict=True)], rows)
    stops = [start + size for start, size in zip(starts, sizes, strict=True)]
    windows = list(map(section, inputs, starts, stops))
    open_ends = [
        window.order[-1]
        for batch, stop, window in zip(inputs, stops, windows, strict=True)
        if stop < len(batch)
    ]
    if not open_ends:
        return windows
    word = min(open_ends)
    cuts = [int(np.searchsorted(window.order, word)) for window in windows]
    if any(cuts):
        return [window.slice(0, cut) for window, cut in zip(windows, cuts, strict=True)]
    # The word that fills a window is the smallest of all: take its rows whole, however many there are.
    return [
        section(batch, start, position_after(batch, int(word)))
        for batch, start in zip(inputs, starts, strict=True)
    ]


def _window_sizes(left: Sequence[int], rows: int) -> list[int]:
    total = sum(left)
    even = rows // (2 * len(left))
    return [min(size, max(1, even + rows * size // (2 * total))) for size in left]
