"""What the buffers of some rows contain, cut into blocks: plain, and encoded.

Positions are counted in values: bits, numbers, offsets; for text and filters in bytes. ``cuts`` are those at
which blocks begin, and the end. ``before`` is how many the buffer has already.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from penstock.storage.block_index import Role
from penstock.storage.block_layout import children_of, has_offsets
from penstock.storage.encoders import encode_bits, encode_fixed, encode_text, room

__all__ = ["Bits", "Bytes", "Content", "Fixed", "Offsets", "contents", "data_bytes", "size_of"]

Indices = NDArray[np.int64]
Raw = NDArray[np.uint8]
Spans = tuple[Indices, Indices]
"""For each block the first byte of its chunk in the buffer, and how many there are."""
Encoded = tuple[Raw, Indices]
"""Chunks one after the other, and where each ends."""


def size_of(role: Role, width: int, reached: int) -> int:
    """The bytes of a buffer that has so many values."""
    if role in (Role.VALIDITY, Role.BITS):
        return -(-reached // 8)
    return (reached + (role is Role.OFFSETS)) * width


class Content(Protocol):
    """The values of one buffer."""

    @property
    def count(self) -> int:
        """How many there are."""

    def spans(self, before: int) -> Spans:
        """Where the chunks are in the buffer."""

    def plain(self, base: int) -> Raw:
        """The bytes as they are used. ``base`` is the offset that the first one becomes."""

    def encoded(self, before: int, base: int) -> Encoded:
        """The chunks, encoded."""


@dataclass(frozen=True, slots=True, eq=False)
class Bits:
    """Flags, a byte each."""

    flags: Raw
    cuts: Indices

    @property
    def count(self) -> int:
        return len(self.flags)

    def spans(self, before: int) -> Spans:
        starts = (before + self.cuts[:-1]) // 8
        return starts, np.where(np.diff(self.cuts), (before + self.cuts[1:] + 7) // 8 - starts, 0)

    def plain(self, base: int) -> Raw:
        return np.packbits(self.flags, bitorder="little")

    def encoded(self, before: int, base: int) -> Encoded:
        blocks = len(self.cuts) - 1
        out, ends = np.empty(room(blocks, len(self.flags) // 8), np.uint8), np.empty(blocks, np.int64)
        return out[: encode_bits(self.flags, self.cuts, before, out, ends)], ends


@dataclass(frozen=True, slots=True, eq=False)
class Fixed:
    """Values of ``width`` bytes."""

    data: Raw
    width: int
    cuts: Indices

    @property
    def count(self) -> int:
        return len(self.data) // self.width

    def spans(self, before: int) -> Spans:
        return (before + self.cuts[:-1]) * self.width, np.diff(self.cuts) * self.width

    def plain(self, base: int) -> Raw:
        return self.data

    def encoded(self, before: int, base: int) -> Encoded:
        values = self._numbers()
        if values is None:
            return Bytes(self.data, np.arange(self.count + 1) * self.width, self.cuts).encoded(before, base)
        blocks = len(self.cuts) - 1
        out, ends = np.empty(room(blocks, len(self.data)), np.uint8), np.empty(blocks, np.int64)
        return out[: encode_fixed(values, self.cuts, 0, self.width, out, ends)], ends

    def _numbers(self) -> Indices | None:
        """The values as numbers, if they are: of 16 bytes, those that the first eight tell."""
        if self.width in (1, 2, 4, 8):
            return self.data.view(f"<i{self.width}").astype(np.int64)
        if self.width == 16:
            words = self.data.view("<i8").reshape(-1, 2)
            if np.array_equal(words[:, 0] >> 63, words[:, 1]):
                return np.ascontiguousarray(words[:, 0])
        return None


@dataclass(frozen=True, slots=True, eq=False)
class Offsets:
    """Offsets of ``width`` bytes, one more than rows."""

    offsets: Indices
    width: int
    cuts: Indices

    @property
    def count(self) -> int:
        return len(self.offsets) - 1

    @property
    def reach(self) -> int:
        """How many positions they go through."""
        return int(self.offsets[-1] - self.offsets[0])

    def spans(self, before: int) -> Spans:
        return (before + self.cuts[:-1]) * self.width, (np.diff(self.cuts) + 1) * self.width

    def plain(self, base: int) -> Raw:
        moved: Indices = self.offsets - self.offsets[0] + base
        raw: Raw = moved.astype(f"<i{self.width}").view(np.uint8)
        return raw

    def encoded(self, before: int, base: int) -> Encoded:
        blocks = len(self.cuts) - 1
        moved = self.offsets - self.offsets[0] + base
        size = room(blocks, self.width * (len(moved) + blocks))
        out, ends = np.empty(size, np.uint8), np.empty(blocks, np.int64)
        return out[: encode_fixed(moved, self.cuts, 1, self.width, out, ends)], ends


@dataclass(frozen=True, slots=True, eq=False)
class Bytes:
    """Text: the bytes between ``offsets`` of ``data``. ``cuts`` are rows."""

    data: Raw
    offsets: Indices
    cuts: Indices

    @property
    def count(self) -> int:
        return int(self.offsets[-1] - self.offsets[0])

    def spans(self, before: int) -> Spans:
        places = self.offsets[self.cuts] - self.offsets[0]
        return before + places[:-1], np.diff(places)

    def plain(self, base: int) -> Raw:
        return self.data[self.offsets[0] : self.offsets[-1]]

    def encoded(self, before: int, base: int) -> Encoded:
        blocks = len(self.cuts) - 1
        out, ends = np.empty(room(blocks, self.count), np.uint8), np.empty(blocks, np.int64)
        return out[: encode_text(self.data, self.offsets, self.cuts, out, ends)], ends


def contents(rows: pa.RecordBatch, cuts: Indices) -> tuple[dict[tuple[int, Role], Content], dict[int, int]]:
    """What each buffer of each node contains, and how many NULLs each node has."""
    found: dict[tuple[int, Role], Content] = {}
    nulls: dict[int, int] = {}
    node = 0
    for column in rows.columns:
        for array, its_cuts in _nodes(column, cuts):
            nulls[node] = array.null_count
            for role, content in _contents(array, its_cuts):
                found[node, role] = content
            node += 1
    return found, nulls


def _nodes(array: pa.Array, cuts: Indices) -> Iterator[tuple[pa.Array, Indices]]:
    """An array and those within it, depth first, each with the positions at which blocks begin."""
    yield array, cuts
    fields = children_of(array.type)
    if not fields:
        return
    if has_offsets(array.type):
        offsets = _offsets(array)
        values = array.values.slice(offsets[0], int(offsets[-1] - offsets[0]))
        yield from _nodes(values, offsets[cuts] - offsets[0])
        return
    for number in range(len(fields)):
        yield from _nodes(array.field(number), cuts)


def _contents(array: pa.Array, cuts: Indices) -> Iterator[tuple[Role, Content]]:
    kind = array.type
    if pa.types.is_null(kind):
        return
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    yield Role.VALIDITY, Bits(valid.view(np.uint8), cuts)
    if pa.types.is_struct(kind):
        return
    if pa.types.is_boolean(kind):
        yield Role.BITS, Bits(pc.fill_null(array, False).to_numpy(zero_copy_only=False).view(np.uint8), cuts)
    elif children_of(kind):
        yield Role.OFFSETS, Offsets(_offsets(array), _offset_width(kind), cuts)
    elif _is_text(kind):
        offsets, data = _offsets(array), array.buffers()[2]
        raw = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
        yield Role.OFFSETS, Offsets(offsets, _offset_width(kind), cuts)
        yield Role.DATA, Bytes(raw, offsets, cuts)
    else:
        width, data = kind.bit_width // 8, array.buffers()[1]
        if data is None or not len(array):
            raw = np.zeros(len(array) * width, np.uint8)
        else:
            raw = np.frombuffer(data, np.uint8, len(array) * width, array.offset * width)
        yield Role.FIXED, Fixed(raw, width, cuts)


def _offsets(array: pa.Array) -> Indices:
    """The offsets of text or lists, one more than rows."""
    width, data = _offset_width(array.type), array.buffers()[1]
    if data is None or not data.size:
        return np.zeros(len(array) + 1, np.int64)
    return np.frombuffer(data, f"<i{width}", len(array) + 1, array.offset * width).astype(np.int64)


def _offset_width(kind: pa.DataType) -> int:
    is_large = pa.types.is_large_string(kind) or pa.types.is_large_binary(kind)
    return 8 if is_large or pa.types.is_large_list(kind) else 4


def _is_text(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_large_binary(kind)
    )


def data_bytes(column: pa.Array) -> int:
    """The bytes of text, or of everything in a column with nested types."""
    if children_of(column.type):
        return int(column.nbytes)
    if not _is_text(column.type):
        return 0
    offsets = _offsets(column)
    return int(offsets[-1] - offsets[0])
