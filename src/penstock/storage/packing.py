"""Packs the chunks of one buffer: quickly decoded encodings, or zstd where that is much smaller.

Whether it is, is tried on one chunk in sixteen: a general compressor takes longer to compress than everything
else that writing a block takes, and neighbouring chunks of a column are alike."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.storage.block_content import Bytes, Content, Fixed
from penstock.storage.encodings import HEADER, Encoding

__all__ = ["Packer", "unpack_zstd"]

Indices = NDArray[np.int64]
Raw = NDArray[np.uint8]

SAVED = 3
"""zstd takes ten times as long to decode as the other encodings, so it must save so many bytes in a row..."""
SAVED_IF_TIGHT = 0.125
"""...or this many, where size matters most."""
_SAMPLED = 16
_ZSTD = pa.Codec("zstd", compression_level=1)


class Packer:
    """Packs the chunks of a buffer, as they come."""

    def __init__(self, *, tight: bool) -> None:
        self._saved = SAVED_IF_TIGHT if tight else SAVED
        self._chunks = 0
        self._is_worth_it = False

    def packed(self, content: Content, before: int, base: int) -> tuple[Raw, Indices]:
        """Chunks one after the other, and where each ends."""
        encoded, ends = content.encoded(before, base)
        if not isinstance(content, (Fixed, Bytes)):
            return encoded, ends
        starts, sizes = content.spans(0)
        raw = content.plain(base)
        compressed: dict[int, bytes] = {}
        lengths = np.diff(ends, prepend=0)
        spared = (self._saved * np.diff(content.cuts)).tolist()
        for block, (start, size, length) in enumerate(
            zip(starts.tolist(), sizes.tolist(), lengths.tolist(), strict=True)
        ):
            is_sample = (self._chunks + block) % _SAMPLED == 0
            if length > HEADER + spared[block] and (is_sample or self._is_worth_it):
                frame = _ZSTD.compress(pa.py_buffer(raw[start : start + size]), asbytes=True)
                smaller = HEADER + len(frame) + spared[block] < length
                if is_sample:
                    self._is_worth_it = smaller
                if smaller:
                    compressed[block] = _header(size) + frame
        self._chunks += len(ends)
        if not compressed:
            return encoded, ends
        begins = ends - lengths
        parts = [
            np.frombuffer(compressed[block], np.uint8) if block in compressed else encoded[begin:end]
            for block, (begin, end) in enumerate(zip(begins.tolist(), ends.tolist(), strict=True))
        ]
        return np.concatenate(parts), np.cumsum([len(part) for part in parts])


def _header(size: int) -> bytes:
    return bytes([Encoding.ZSTD, 0, 0, 0]) + size.to_bytes(4, "little") + bytes(16)


def unpack_zstd(chunk: Raw, size: int) -> Raw:
    """The content of a chunk in that encoding. Raises OSError if it cannot be unpacked."""
    frame = _ZSTD.decompress(pa.py_buffer(chunk[HEADER:]), size)
    return np.frombuffer(frame, np.uint8)
