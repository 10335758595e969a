"""How the chunks of a packed buffer are encoded, and the parts that encoders and decoders share.

A packed chunk begins with a header of 24 bytes that says which encoding it has, so every chunk has the one
that suits its values, and a reader needs no more than the chunk. All of them but ``ZSTD`` are decoded by
compiled loops, hundreds of chunks in one call, and so fast that unpacking a block costs about as much as
checking it; a general compressor takes more than ten microseconds to begin with.

| offset | size | what |
|---|---|---|
| 0 | 1 | the encoding |
| 1 | 1 | bits per field |
| 2 | 1 | of a dictionary: bits per length |
| 3 | 1 | of a dictionary: the shortest length |
| 4 | 4 | number of values |
| 8 | 8 | base |
| 16 | 8 | first |

Fields are packed from the lowest bit of each byte upwards, and eight zero bytes follow the last one, so that
a reader may load whole words.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from penstock.zset.kernel import LITTLE_ENDIAN, inlined, load_word

__all__ = ["HEADER", "MOST_BITS", "NEW_BYTES", "Encoding", "field_at", "get_word", "put_header", "put_word"]

HEADER = 24
MOST_BITS = 56
"""A field of so many bits is in eight bytes, wherever it begins."""
NEW_BYTES = types.Array(types.uint8, 1, "C")


class Encoding(IntEnum):
    """What follows a chunk's header."""

    RAW = 0
    """The bytes as they are used."""
    STEPS = 1
    """Fields: the first value is ``first``, each other one that before it plus ``base`` plus its field. With
    no bits there are no fields: constants, and the words of sequences."""
    FIELDS = 2
    """Fields: a value is ``base`` plus its field."""
    ALPHABET = 3
    """The ``base`` different bytes that occur, and for each byte a field with its number."""
    DICTIONARY = 4
    """The ``base`` different values that occur: a field with the length of each, over the shortest; their
    bytes (``first`` of them); and for each row a field with the number of its value."""
    BITS = 5
    """Bits, of which the first belongs at the position ``first`` of the buffer. If ``bits`` is 0 they are not
    there, and all are ``base``."""
    ZSTD = 6
    """A zstd frame of the bytes as they are used."""


@inlined
def get_word(data: Any, at: Any) -> Any:
    """Eight bytes as a little-endian word, inside kernels."""
    if LITTLE_ENDIAN:
        return load_word(data, at)
    word = np.uint64(0)
    for i in range(8):
        word |= np.uint64(data[at + i]) << np.uint64(8 * i)
    return word


def _store_word(context: Any, data: Any, place: Any, word: Any) -> Any:
    """How Numba translates :data:`_store`."""

    def store(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        address = builder.gep(array.data, [arguments[1]])
        builder.store(arguments[2], builder.bitcast(address, ir.IntType(64).as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(data, types.int64, types.uint64), store


_store: Any = intrinsic(_store_word)


@inlined
def put_word(out: Any, at: Any, word: Any) -> None:
    """The inverse of :func:`get_word`. Without a bounds check."""
    if LITTLE_ENDIAN:
        _store(out, at, word)
    else:
        for i in range(8):
            out[at + i] = np.uint8((word >> np.uint64(8 * i)) & np.uint64(255))


@inlined
def field_at(data: Any, start: Any, number: Any, bits: Any, mask: Any) -> Any:
    """A field of at most ``MOST_BITS`` bits, of those that begin at byte ``start``."""
    place = number * bits
    return (get_word(data, start + (place >> 3)) >> np.uint64(place & 7)) & mask


@inlined
def put_header(out: Any, at: Any, encoding: Any, bits: Any, count: Any, base: Any, first: Any) -> None:
    """Writes the header of a chunk."""
    put_word(
        out, at, np.uint64(encoding) | np.uint64(bits) << np.uint64(8) | np.uint64(count) << np.uint64(32)
    )
    put_word(out, at + 8, base)
    put_word(out, at + 16, first)
