"""Segments as earlier releases wrote them. Format 1 differs from 2 by its number, and has no blocks."""

from __future__ import annotations

from penstock.storage.checksum import HEADER_SIZE, seal, unseal


def as_format(content: bytes, number: int) -> bytes:
    """A segment whose entries are all whole, with the number of another format."""
    header, trailer = (_numbered(part, number) for part in (content[:HEADER_SIZE], content[-HEADER_SIZE:]))
    return header + content[HEADER_SIZE:-HEADER_SIZE] + trailer


def _numbered(header: bytes, number: int) -> bytes:
    fields = unseal(header)
    assert fields is not None
    return seal(fields[:8] + number.to_bytes(4, "little") + fields[12:])
