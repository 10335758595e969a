"""The column chunks of a Parquet file: read once, with their checksums.

A step's input must be the same when the step is replayed. A file is identified by the checksums of what was
read of it, not by its modification time: a file that was copied, touched or written again with the same bytes
is the same. There is one checksum per chunk (one column of one row group), so it does not depend on which
worker reads the chunk or on what else is read.

Cost: each chunk is read with one call, as Arrow itself would, and checksummed at memory speed.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable

import pyarrow.parquet as pq

from penstock.storage.checksum import crc32c

__all__ = ["ChunkFile", "chunk_key"]


def chunk_key(row_group: int, column: str) -> str:
    """The name of a chunk: its row group, and the path of its column in the file's schema."""
    return f"{row_group}:{column}"


class ChunkFile(io.RawIOBase):
    """A file for Arrow to read: served from the chunks that were already read, otherwise from disk."""

    def __init__(self, path: str) -> None:
        self._file = io.FileIO(path)
        self._size = os.fstat(self._file.fileno()).st_size
        self._position = 0
        self._chunks: dict[int, bytes] = {}

    def take(self, metadata: pq.FileMetaData, row_group: int, columns: Iterable[str]) -> dict[str, int]:
        """Reads the chunks of some columns of a row group; returns their checksums by name. ``columns`` are
        top-level: a struct has several chunks."""
        wanted, found = frozenset(columns), {}
        group = metadata.row_group(row_group)
        self._chunks.clear()
        for number in range(group.num_columns):
            chunk = group.column(number)
            path = str(chunk.path_in_schema)
            if path.split(".")[0] not in wanted:
                continue
            start = chunk.data_page_offset
            if chunk.has_dictionary_page and chunk.dictionary_page_offset is not None:
                start = min(start, chunk.dictionary_page_offset)
            content = os.pread(self._file.fileno(), chunk.total_compressed_size, start)
            self._chunks[start] = content
            found[chunk_key(row_group, path)] = crc32c([content])
        return found

    def read(self, size: int = -1) -> bytes:
        size = self._size - self._position if size < 0 else min(size, self._size - self._position)
        start, self._position = self._position, self._position + size
        for offset, content in self._chunks.items():
            if offset <= start and start + size <= offset + len(content):
                whole = (start, size) == (offset, len(content))
                return content if whole else content[start - offset : start - offset + size]
        return os.pread(self._file.fileno(), size, start)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = base + offset
        return self._position

    def tell(self) -> int:
        return self._position

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def close(self) -> None:
        self._file.close()
        super().close()
