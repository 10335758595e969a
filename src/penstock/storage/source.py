"""The bytes of one published file, as a reader of segments sees them: in place, or read piece by piece."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from penstock.storage.interface import Backend, Pointer, joined

__all__ = ["END_BYTES", "Range", "Source"]

Range = tuple[int, int]
"""Offset and length."""

END_BYTES = 64 << 10
"""What is read first of a file that is not used in place. It holds the footer of a segment, the index of a
batch of up to 60 MB, and all of a small segment."""


class Source:
    """A file of a backend. ``in_place`` is its default where the backend can: then ``content`` is the whole
    file, and the same bytes are never copied."""

    def __init__(self, backend: Backend, name: str, *, in_place: bool | None = None) -> None:
        self.name, self._backend, self.is_remote = name, backend, backend.is_remote
        self.content: pa.Buffer | None = None
        self.is_mapped = False
        self._end, self._end_offset = pa.py_buffer(b""), 0
        if backend.reads_in_place if in_place is None else in_place:
            self.content, self.is_mapped = backend.open(name), backend.maps_files

    def open(self) -> int:
        """The length of the file. Where it is not in place, its end is read, and kept for the next reads."""
        if self.content is not None:
            return int(self.content.size)
        self._end, size = self._backend.read_end(self.name, END_BYTES)
        self._end_offset = size - self._end.size
        return size

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
