"""The bytes of one published file, as a reader of segments sees them: in place, or read piece by piece."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.storage.interface import Backend, Pointer, joined
from penstock.storage.mapped_pages import is_in_memory

__all__ = ["END_BYTES", "Range", "Source"]

Range = tuple[int, int]
"""Offset and length."""

END_BYTES = 64 << 10
"""What is read first of a file that is not used in place. It holds the footer of a segment, the index of a
batch of up to 60 MB, and all of a small segment."""
_SAMPLE = 16
"""How many pieces are looked at to find out whether all are in the system's cache."""


class Source:
    """A file of a backend. ``in_place`` is its default where the backend can: then ``content`` is the whole
    file, and the same bytes are never copied."""

    def __init__(self, backend: Backend, name: str, *, in_place: bool | None = None) -> None:
        self.name, self._backend, self.is_remote = name, backend, backend.is_remote
        self.content: pa.Buffer | None = None
        self.is_mapped = False
        self._end, self._end_offset, self._size = pa.py_buffer(b""), 0, -1
        if backend.reads_in_place if in_place is None else in_place:
            self.content, self.is_mapped = backend.open(name), backend.maps_files
            self._size = int(self.content.size)

    @property
    def size(self) -> int:
        """The length of the file. Where it is not in place, its end is read the first time, and kept for the
        next reads."""
        if self._size < 0:
            self._end, self._size = self._backend.read_end(self.name, END_BYTES)
            self._end_offset = self._size - self._end.size
        return self._size

    def read(self, offset: int, length: int) -> pa.Buffer:
        """One piece (shorter at the end of the file)."""
        return next(self.read_all([(offset, length)]))

    def read_all(self, ranges: Sequence[Range]) -> Iterator[pa.Buffer]:
        """Pieces in order, all of which are requested before the first one is used."""
        if self.content is not None:
            self.prefetch(ranges)
            yield from (self._slice(self.content, 0, each) for each in ranges)
            return
        missing = self._backend.read(
            [Pointer(self.name, *each) for each in ranges if not self._is_kept(each)]
        )
        for each in ranges:
            yield self._slice(self._end, self._end_offset, each) if self._is_kept(each) else next(missing)

    def prefetch(self, ranges: Sequence[Range]) -> None:
        """Starts to read pieces that will be asked for soon."""
        wanted = [Pointer(self.name, *each) for each in ranges if not self._is_kept(each)]
        if wanted and (self.content is None or self.is_mapped):
            self._backend.prefetch(wanted)

    def is_cold(self, offsets: NDArray[np.uint64]) -> bool:
        """Whether pieces at these offsets have to be waited for, judged by a few of them: then they should be
        requested together. What is in place and in the system's cache is there already, and requesting
        thousands of pieces would take longer than using them."""
        if self.content is None:
            return True
        if not self.is_mapped or not offsets.size:
            return False
        some = offsets.ravel()[:: max(1, offsets.size // _SAMPLE)]
        address = self.content.address
        return not all(is_in_memory(address + int(offset)) for offset in some)

    def keep_from(self, offset: int) -> None:
        """Forgets what was read of the end of the file before ``offset``."""
        if self._end.size and offset > self._end_offset:
            kept = self._end.slice(min(offset - self._end_offset, self._end.size))
            self._end, self._end_offset = joined([kept]), offset

    def _is_kept(self, each: Range) -> bool:
        return self._end.size > 0 and each[0] >= self._end_offset

    @staticmethod
    def _slice(content: pa.Buffer, start: int, each: Range) -> pa.Buffer:
        offset = min(each[0] - start, content.size)
        return content.slice(offset, min(each[1], content.size - offset))
