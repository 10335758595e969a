"""Reads, checks and unpacks the chunks of one buffer, many blocks in one call.

From a file in place nothing is copied: checksums are computed where the chunks are, and what is packed is
unpacked from there. Otherwise chunks are first read next to each other into memory, some megabytes at a
time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.errors import CorruptionError
from penstock.storage.block_index import BlockIndex, Codec, Role
from penstock.storage.checksums import first_damaged
from penstock.storage.decoders import decode_bits, decode_fixed, decode_raw, decode_text
from penstock.storage.encodings import Encoding
from penstock.storage.packing import unpack_zstd
from penstock.storage.source import Source

__all__ = ["ChunkReader"]

Indices = NDArray[np.int64]
Raw = NDArray[np.uint8]

_STAGED = 16 << 20
"""Bytes that are read at a time if the file is not mapped."""


class ChunkReader:
    """Reads the chunks of one batch: in ``content``, the file in place, or else as ``source`` gives them."""

    def __init__(
        self, source: Source, index: BlockIndex, content: pa.Buffer | None, origin: str = ""
    ) -> None:
        self._source, self._index, self._origin = source, index, origin
        self._file = None if content is None else np.frombuffer(content, np.uint8)

    def fill(self, number: int, blocks: Indices, target: Raw | None) -> int:
        """Checks the chunks of a buffer and, if there is a ``target``, unpacks them into it; returns how many
        bytes they have in the file."""
        lengths = self._index.chunks.length[blocks, number].astype(np.int64)
        kept = np.flatnonzero(lengths)
        for part in self._groups(kept, lengths):
            its = blocks[part]
            data, offsets = self._stored(number, its)
            self._check(number, its, data, offsets, lengths[part])
            if target is not None:
                self._unpack(number, its, data, offsets, lengths[part], target)
        return int(lengths.sum())

    def _groups(self, kept: Indices, lengths: Indices) -> Iterator[Indices]:
        if self._file is not None:
            if len(kept):
                yield kept
            return
        group = np.cumsum(lengths[kept]) // _STAGED
        for part in np.split(kept, np.flatnonzero(np.diff(group)) + 1):
            if len(part):
                yield part

    def _stored(self, number: int, blocks: Indices) -> tuple[Raw, Indices]:
        """Memory that has the chunks, and where they begin in it."""
        table = self._index.chunks
        offsets = table.offset[blocks, number].astype(np.int64)
        lengths = table.length[blocks, number].astype(np.int64)
        if self._file is not None:
            if int((offsets + lengths).max()) > len(self._file):
                raise self._damaged(number, int(blocks[(offsets + lengths).argmax()]), "the file was cut")
            return self._file, offsets
        ends = np.cumsum(lengths)
        staged = np.empty(int(ends[-1]), np.uint8)
        starts = ends - lengths
        contents = self._source.read_all(list(zip(offsets.tolist(), lengths.tolist(), strict=True)))
        for block, content, start, end in zip(
            blocks.tolist(), contents, starts.tolist(), ends.tolist(), strict=True
        ):
            if content.size != end - start:
                raise self._damaged(number, block, "the file was cut")
            staged[start:end] = np.frombuffer(content, np.uint8)
        return staged, starts

    def _check(self, number: int, blocks: Indices, data: Raw, offsets: Indices, lengths: Indices) -> None:
        expected = self._index.chunks.crc32c[blocks, number]
        wrong, found = first_damaged(data, offsets, lengths, expected)
        if wrong >= 0:
            reason = f"its checksum is {found:08x}, {int(expected[wrong]):08x} was written"
            raise self._damaged(number, int(blocks[wrong]), reason)

    def _unpack(
        self, number: int, blocks: Indices, data: Raw, offsets: Indices, lengths: Indices, target: Raw
    ) -> None:
        buffer, table = self._index.buffers[number], self._index.chunks
        starts = table.start[blocks, number].astype(np.int64)
        sizes = table.size[blocks, number].astype(np.int64)
        places = (data, offsets, lengths)
        if buffer.codec is Codec.PLAIN:
            for offset, start, size in zip(offsets.tolist(), starts.tolist(), sizes.tolist(), strict=True):
                target[start : start + size] = data[offset : offset + size]
            return
        width = buffer.width
        if buffer.role in (Role.VALIDITY, Role.BITS):
            bad = decode_bits(*places, target)
        else:
            bad = decode_raw(*places, starts, sizes, target)
            if bad < 0 and width in (1, 2, 4, 8) and buffer.role is not Role.DATA:
                bad = decode_fixed(*places, starts // width, sizes // width, 1, target.view(f"i{width}"))
            elif bad < 0 and width == 16:
                bad = decode_fixed(*places, starts // width, sizes // width, 2, target.view("i8"))
            if bad < 0 and (buffer.role is Role.DATA or width not in (1, 2, 4, 8)):
                bad = decode_text(*places, starts, sizes, target)
            for chunk in np.flatnonzero(data[offsets] == Encoding.ZSTD).tolist():
                stored = data[offsets[chunk] : offsets[chunk] + lengths[chunk]]
                try:
                    plain = unpack_zstd(stored, int(sizes[chunk]))
                except (OSError, pa.ArrowException) as error:
                    reason = f"it cannot be unpacked: {error}"
                    raise self._damaged(number, int(blocks[chunk]), reason) from error
                target[starts[chunk] : starts[chunk] + sizes[chunk]] = plain
        if bad >= 0:
            raise self._damaged(number, int(blocks[bad]), "it is not what its header says")

    def _damaged(self, number: int, block: int, reason: str) -> CorruptionError:
        buffer, table = self._index.buffers[number], self._index.chunks
        column, where = self._index.schema.names[buffer.column], int(table.offset[block, number])
        return CorruptionError(
            f"{self._source.name}: block {block}, column {column} ({buffer.role.name.lower()}, from byte "
            f"{where} on) is damaged: {reason}{self._origin}"
        )
