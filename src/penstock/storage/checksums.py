"""CRC32C of many pieces of one buffer in one call.

Blocks are small, so a lookup of a thousand keys checks thousands of chunks: a call of the library for each
takes longer than the checksums themselves. On x86-64 the processor's own instruction is used, three chunks
side by side because each instruction waits for the one before it in its chunk; elsewhere tables are, eight
bytes at a time.
"""

from __future__ import annotations

import platform
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from penstock.zset.kernel import BYTES, INT64S, LITTLE_ENDIAN, inlined, kernel, load_word

__all__ = ["checksums", "first_damaged"]

Bytes = NDArray[np.uint8]
Indices = NDArray[np.int64]
Checksums = NDArray[np.uint32]

_NEW_CHECKSUMS = types.Array(types.uint32, 1, "C")
_ALL = np.uint64(0xFFFFFFFF)


def _tables() -> NDArray[np.uint32]:
    """``tables[k][b]``: what the byte ``b``, followed by ``k`` zero bytes, adds to the checksum."""
    found = np.zeros((8, 256), np.uint32)
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
        found[0, byte] = crc
    for k in range(1, 8):
        found[k] = found[0, found[k - 1] & 0xFF] ^ (found[k - 1] >> 8)
    return found


_TABLES = _tables()


def _has_instruction() -> bool:
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return False
    return bool(binding.get_host_cpu_features().get("sse4.2", False))


def _crc32_of_word(context: Any, crc: Any, word: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.IntType(64)
        function = builder.module.declare_intrinsic(
            "llvm.x86.sse42.crc32.64.64", (), ir.FunctionType(kind, [kind, kind])
        )
        return builder.call(function, arguments)

    return types.uint64(types.uint64, types.uint64), build


_crc32_of_word_instruction: Any = intrinsic(_crc32_of_word)


@inlined
def _word_by_tables(crc: Any, word: Any) -> Any:
    word ^= crc
    found = np.uint32(0)
    for k in range(8):
        found ^= _TABLES[7 - k, np.int64((word >> np.uint64(8 * k)) & np.uint64(255))]
    return np.uint64(found)


if _has_instruction() and LITTLE_ENDIAN:
    _add_word: Any = _crc32_of_word_instruction
else:
    _add_word = _word_by_tables


@inlined
def _word(data: Any, at: Any) -> Any:
    if LITTLE_ENDIAN:
        return load_word(data, at)
    word = np.uint64(0)
    for i in range(8):
        word |= np.uint64(data[at + i]) << np.uint64(8 * i)
    return word


@inlined
def _rest(data: Any, crc: Any, at: Any, stop: Any) -> Any:
    """Continues a checksum up to ``stop``."""
    while at + 8 <= stop:
        crc = _add_word(crc, _word(data, at))
        at += 8
    while at < stop:
        low = np.int64((crc ^ np.uint64(data[at])) & np.uint64(255))
        crc = np.uint64(_TABLES[0, low]) ^ (crc >> np.uint64(8))
        at += 1
    return crc


@kernel(types.void(BYTES, INT64S, INT64S, _NEW_CHECKSUMS))
def _fill(data: Bytes, starts: Indices, lengths: Indices, found: Checksums) -> None:
    size = len(starts)
    i = 0
    while i < size:
        if i + 3 <= size:
            a, b, c = starts[i], starts[i + 1], starts[i + 2]
            shared = min(lengths[i], lengths[i + 1], lengths[i + 2]) // 8
            x, y, z = _ALL, _ALL, _ALL
            for _ in range(shared):
                x = _add_word(x, _word(data, a))
                y = _add_word(y, _word(data, b))
                z = _add_word(z, _word(data, c))
                a += 8
                b += 8
                c += 8
            found[i] = np.uint32(_rest(data, x, a, starts[i] + lengths[i]) ^ _ALL)
            found[i + 1] = np.uint32(_rest(data, y, b, starts[i + 1] + lengths[i + 1]) ^ _ALL)
            found[i + 2] = np.uint32(_rest(data, z, c, starts[i + 2] + lengths[i + 2]) ^ _ALL)
            i += 3
        else:
            found[i] = np.uint32(_rest(data, _ALL, starts[i], starts[i] + lengths[i]) ^ _ALL)
            i += 1


def checksums(data: Bytes, starts: Indices, lengths: Indices) -> Checksums:
    """The checksum of each piece, which must be within ``data``."""
    assert not len(starts) or (int(starts.min()) >= 0 and int((starts + lengths).max()) <= len(data))
    found = np.empty(len(starts), np.uint32)
    _fill(data, starts, lengths, found)
    return found


def first_damaged(data: Bytes, starts: Indices, lengths: Indices, expected: Checksums) -> tuple[int, int]:
    """The first piece that does not have the checksum that is expected, and the one it has; -1 if all
    do."""
    found = checksums(data, starts, lengths)
    wrong = np.flatnonzero(found != expected)
    return (int(wrong[0]), int(found[wrong[0]])) if len(wrong) else (-1, 0)
