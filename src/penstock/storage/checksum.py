"""CRC32C over any buffer without a copy, and the 64-byte sealed headers shared by all binary formats.

A sealed header is 60 bytes of fields (zero-padded) and the CRC32C of those 60 bytes, little-endian. With one
layout for all of them, one function decides whether a header can be trusted. Cost: several GiB/s, holding the
GIL for one bounded chunk at a time.
"""

from __future__ import annotations

from collections.abc import Iterable

import google_crc32c
import pyarrow as pa

from penstock.storage.interface import Part, to_buffer

__all__ = ["ALIGNMENT", "HEADER_SIZE", "crc32c", "padding", "seal", "unseal"]

# Arrow's recommended alignment, and a cache line. All file structures start at multiples of it.
ALIGNMENT = 64
HEADER_SIZE = 64
_PIECE = 1 << 20  # bytes per call, after which other threads may run
_ZEROS = pa.py_buffer(bytes(ALIGNMENT))


def crc32c(parts: Iterable[Part], crc: int = 0) -> int:
    """The CRC32C of the concatenated parts, continuing from ``crc``."""
    for part in parts:
        # The C extension refuses memoryviews ("y#" wants no release hook) but takes Arrow's view of them.
        buffer = to_buffer(part)
        for start in range(0, buffer.size, _PIECE):
            crc = google_crc32c.extend(crc, buffer.slice(start, min(_PIECE, buffer.size - start)))
    return crc


def padding(size: int) -> pa.Buffer:
    """The zero bytes that bring ``size`` to the next multiple of the alignment."""
    return _ZEROS.slice(0, -size % ALIGNMENT)


def seal(fields: bytes) -> bytes:
    """A header of 64 bytes that :func:`unseal` accepts."""
    if len(fields) > HEADER_SIZE - 4:
        raise ValueError(f"{len(fields)} bytes of fields do not fit a sealed header")
    body = fields.ljust(HEADER_SIZE - 4, b"\0")
    return body + crc32c([body]).to_bytes(4, "little")


def unseal(header: Part) -> bytes | None:
    """The 60 bytes of fields, or None if the header is short or not what was sealed."""
    raw = bytes(header)
    if len(raw) != HEADER_SIZE or crc32c([raw[:-4]]) != int.from_bytes(raw[-4:], "little"):
        return None
    return raw[:-4]
