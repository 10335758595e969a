"""In which form a batch is stored: the one place that decides it.

Recent batches are small, are read whole and are soon merged: they are stored as they are in memory. Large
ones stay, so they are stored in blocks. Those of tables and views are small: values are packed
(:mod:`penstock.storage.encodings`). Indexes are hot, every step looks many keys up, so they are plain, to be
used in the mapped file: a block is there five times as fast. Batches that are searched have a filter over
their keys; the key lanes of tables are plain too, and the order words become a quarter smaller. Views are
only read as a whole, and sequences have words that follow from their position: there all words are packed.
Where words would take more than the values, or with ``compact``, they are not stored if they can be computed
from the values.

Decision 79 has the figures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from penstock.storage import BlockForm, Codec
from penstock.storage.block_form import BLOCK_ROWS
from penstock.trace.batch import WORDS, Batch

__all__ = ["Forms", "Purpose", "Shape", "form_of", "shape_of", "shape_of_sum", "whole"]

BLOCKED_ROWS = 65_536
"""The number of rows from which on a batch is stored in blocks..."""
COMPACT_ROWS = 16_384
"""...and with ``compact``, or in a view, which has more batches of similar size."""
BLOCKED_BYTES = 16 << 20
"""The number of bytes from which on it is in any case."""
BLOCK_BYTES = 1 << 20
"""What a block takes at most, unless it has no more than eight rows."""
_ORDER, _KEY, _ = WORDS
_WEIGHT = "weight"


class Purpose(Enum):
    """What an arrangement is for."""

    TABLE = "table"
    """Rows by primary key, looked up by every update."""
    VIEW = "view"
    """Rows that are only read as a whole."""
    INDEX = "index"
    """What joins, aggregates and other operators look up."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What of a batch decides about its form: rows, bytes of words and of values, and whether its words are
    consecutive."""

    rows: int
    word_bytes: int
    value_bytes: int
    is_sequence: bool = False


Forms = Callable[[str, Shape], BlockForm | None]
"""The form of a batch of an arrangement, or None if it is stored whole."""


def whole(slot: str, shape: Shape) -> None:
    """Stores every batch whole."""


def shape_of(batch: Batch, *, is_sequence: bool) -> Shape:
    """The shape of a batch, of which nothing is read."""
    word_bytes = len(batch) * 8 * (2 if batch.row_lo is None else 3)
    return Shape(len(batch), word_bytes, max(0, batch.nbytes - word_bytes), is_sequence)


def shape_of_sum(batches: Sequence[Batch]) -> Shape:
    """The most that the sum of batches can be."""
    shapes = [shape_of(batch, is_sequence=_may_be_sequence(batch)) for batch in batches]
    return Shape(
        sum(shape.rows for shape in shapes),
        sum(shape.word_bytes for shape in shapes),
        sum(shape.value_bytes for shape in shapes),
        all(shape.is_sequence for shape in shapes),
    )


def _may_be_sequence(batch: Batch) -> bool:
    """Whether words may be consecutive, as far as can be told without reading them."""
    if batch.row_lo is not None or batch.sums or not len(batch):
        return False
    if batch.backing is not None:
        first, last = batch.backing.span
        return last - first == batch.backing.columns.index.rows - 1
    return int(batch.order[-1]) - int(batch.order[0]) == len(batch) - 1


def form_of(shape: Shape, purpose: Purpose, *, derivable: bool, compact: bool) -> BlockForm | None:
    """The form of a batch in blocks, or None if it is stored whole. ``derivable`` says whether words can be
    computed from values."""
    is_large = shape.rows >= (COMPACT_ROWS if compact or purpose is Purpose.VIEW else BLOCKED_ROWS)
    if not is_large and shape.word_bytes + shape.value_bytes < BLOCKED_BYTES:
        return None
    rows = _block_rows(shape)
    if shape.is_sequence:
        return BlockForm(Codec.PACKED, tight=compact, block_rows=rows)
    filtered = "" if purpose is Purpose.VIEW else _KEY
    if derivable and (compact or shape.value_bytes < shape.word_bytes):
        words = Codec.DERIVED
    else:
        words = Codec.PACKED if compact or purpose is Purpose.VIEW else Codec.PLAIN
    codecs = dict.fromkeys(WORDS, words)
    if purpose is Purpose.TABLE and words is Codec.PLAIN:
        codecs[_ORDER] = Codec.PACKED
    codec = Codec.PACKED
    if purpose is Purpose.INDEX and not compact:
        codec, codecs[_WEIGHT] = Codec.PLAIN, Codec.PACKED  # it is nearly always one
    return BlockForm(codec, codecs, tight=compact, filtered=filtered, block_rows=rows)


def _block_rows(shape: Shape) -> int:
    """Rows in a block: fewer if they are wide."""
    rows = BLOCK_ROWS
    while rows > 8 and rows * (shape.word_bytes + shape.value_bytes) > BLOCK_BYTES * shape.rows:
        rows //= 2
    return rows
