"""Murmur3 (32 bits) and xxHash (64 bits) over columns, as Spark's ``hash`` and ``xxhash64`` use them.

Each row has a seed of its own, the hash of what came before in the row. Bytes are mixed word by word: the
first words of all rows, then the second ones of the rows that have one, with rows ordered by falling length
so that these are always the first ones. Cost: a few passes over the bytes, and a constant per word of the
longest row.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

__all__ = ["Hashes", "Integers", "Murmur3", "Rounds", "XxHash"]

Hashes = npt.NDArray[np.unsignedinteger]
Bytes = npt.NDArray[np.uint8]
Integers = npt.NDArray[np.int64]


class Rounds(Protocol):
    """One of the two functions: hashes values into seeds, all of one width."""

    dtype: type[np.unsignedinteger]

    def ints(self, values: npt.NDArray[np.int32], seeds: Hashes) -> Hashes:
        """Values of 32 bits."""
        ...

    def longs(self, values: Integers, seeds: Hashes) -> Hashes:
        """Values of 64 bits."""
        ...

    def bytes(self, data: Bytes, starts: Integers, lengths: Integers, seeds: Hashes) -> Hashes:
        """Stretches of ``data``."""
        ...


def _rotated(words: Hashes, distance: int) -> Hashes:
    width = words.dtype.itemsize * 8
    kind = words.dtype.type
    return (words << kind(distance)) | (words >> kind(width - distance))


def _words(data: Bytes, starts: Integers, width: int, kind: type[np.unsignedinteger]) -> Hashes:
    """Little-endian words that begin at any byte."""
    result = np.zeros(len(starts), kind)
    for place in range(width):
        result |= data[starts + place].astype(kind) << kind(8 * place)
    return result


class _Longest:
    """Rows in the order of falling length, so that those with a word at some place are the first ones."""

    def __init__(self, lengths: Integers) -> None:
        self.order = np.argsort(-lengths, kind="stable")
        self._falling = -lengths[self.order]

    def with_at_least(self, length: int) -> Integers:
        """The rows of at least this length."""
        return self.order[: int(np.searchsorted(self._falling, -length, side="right"))]


class Murmur3:
    """MurmurHash3, x86, 32 bits."""

    dtype = np.uint32

    def ints(self, values: npt.NDArray[np.int32], seeds: Hashes) -> Hashes:
        """Values of 32 bits."""
        return self._finished(self._mixed(seeds, values.view(np.uint32)), np.uint32(4))

    def longs(self, values: Integers, seeds: Hashes) -> Hashes:
        """Values of 64 bits: the low half, then the high one."""
        words = np.ascontiguousarray(values).view(np.uint64)
        low, high = words.astype(np.uint32), (words >> np.uint64(32)).astype(np.uint32)
        return self._finished(self._mixed(self._mixed(seeds, low), high), np.uint32(8))

    def bytes(self, data: Bytes, starts: Integers, lengths: Integers, seeds: Hashes) -> Hashes:
        """Whole words, then the bytes that are left over, each as a word with its sign."""
        hashes, longest = seeds.copy(), _Longest(lengths // 4 * 4)
        for place in range(0, int(lengths.max(initial=0)) // 4 * 4, 4):
            rows = longest.with_at_least(place + 4)
            hashes[rows] = self._mixed(hashes[rows], _words(data, starts[rows] + place, 4, np.uint32))
        for rest in range(3):
            rows = np.flatnonzero(lengths % 4 > rest)
            tail = data[starts[rows] + lengths[rows] // 4 * 4 + rest].view(np.int8)
            hashes[rows] = self._mixed(hashes[rows], tail.astype(np.int32).view(np.uint32))
        return self._finished(hashes, lengths.astype(np.uint32))

    def _mixed(self, hashes: Hashes, words: Hashes) -> Hashes:
        words = _rotated(words * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
        return _rotated(hashes ^ words, 13) * np.uint32(5) + np.uint32(0xE6546B64)

    def _finished(self, hashes: Hashes, lengths: Hashes | np.uint32) -> Hashes:
        hashes = hashes ^ lengths
        hashes = (hashes ^ (hashes >> np.uint32(16))) * np.uint32(0x85EBCA6B)
        hashes = (hashes ^ (hashes >> np.uint32(13))) * np.uint32(0xC2B2AE35)
        return hashes ^ (hashes >> np.uint32(16))


_P1, _P2, _P3, _P4, _P5 = (
    np.uint64(prime)
    for prime in (
        0x9E3779B185EBCA87,
        0xC2B2AE3D27D4EB4F,
        0x165667B19E3779F9,
        0x85EBCA77C2B2AE63,
        0x27D4EB2F165667C5,
    )
)


class XxHash:
    """xxHash, 64 bits."""

    dtype = np.uint64

    def ints(self, values: npt.NDArray[np.int32], seeds: Hashes) -> Hashes:
        """Values of 32 bits."""
        words = values.view(np.uint32).astype(np.uint64)
        return self._finished(self._half(seeds + _P5 + np.uint64(4), words))

    def longs(self, values: Integers, seeds: Hashes) -> Hashes:
        """Values of 64 bits."""
        words = np.ascontiguousarray(values).view(np.uint64)
        return self._finished(self._word(seeds + _P5 + np.uint64(8), words))

    def bytes(self, data: Bytes, starts: Integers, lengths: Integers, seeds: Hashes) -> Hashes:
        """Blocks of 32 bytes in four lanes, then words, half a word, and single bytes."""
        hashes = self._blocks(data, starts, lengths, seeds) + lengths.astype(np.uint64)
        words = lengths % 32 // 8
        for place in range(3):
            rows = np.flatnonzero(words > place)
            word = _words(data, starts[rows] + lengths[rows] // 32 * 32 + 8 * place, 8, np.uint64)
            hashes[rows] = self._word(hashes[rows], word)
        rows = np.flatnonzero(lengths % 8 >= 4)
        half = _words(data, starts[rows] + lengths[rows] // 8 * 8, 4, np.uint64)
        hashes[rows] = self._half(hashes[rows], half)
        for rest in range(3):
            rows = np.flatnonzero(lengths % 4 > rest)
            byte = data[starts[rows] + lengths[rows] // 4 * 4 + rest].astype(np.uint64)
            hashes[rows] = _rotated(hashes[rows] ^ (byte * _P5), 11) * _P1
        return self._finished(hashes)

    def _blocks(self, data: Bytes, starts: Integers, lengths: Integers, seeds: Hashes) -> Hashes:
        hashes, longest = seeds + _P5, _Longest(lengths // 32 * 32)
        long = longest.with_at_least(32)
        if not len(long):
            return hashes
        lanes = [seeds + _P1 + _P2, seeds + _P2, seeds.copy(), seeds - _P1]
        for place in range(0, int(lengths.max()) // 32 * 32, 32):
            rows = longest.with_at_least(place + 32)
            for number, lane in enumerate(lanes):
                word = _words(data, starts[rows] + place + 8 * number, 8, np.uint64)
                lane[rows] = _rotated(lane[rows] + word * _P2, 31) * _P1
        turns = zip(lanes, (1, 7, 12, 18), strict=True)
        total = sum((_rotated(lane[long], turn) for lane, turn in turns), np.zeros(len(long), np.uint64))
        for lane in lanes:
            total = (total ^ (_rotated(lane[long] * _P2, 31) * _P1)) * _P1 + _P4
        hashes[long] = total
        return hashes

    def _word(self, hashes: Hashes, words: Hashes) -> Hashes:
        return _rotated(hashes ^ (_rotated(words * _P2, 31) * _P1), 27) * _P1 + _P4

    def _half(self, hashes: Hashes, words: Hashes) -> Hashes:
        return _rotated(hashes ^ (words * _P1), 23) * _P2 + _P3

    def _finished(self, hashes: Hashes) -> Hashes:
        hashes = (hashes ^ (hashes >> np.uint64(33))) * _P2
        hashes = (hashes ^ (hashes >> np.uint64(29))) * _P3
        return hashes ^ (hashes >> np.uint64(32))
