"""Compiled kernels: loops over rows that would take NumPy ten passes or more, in one.

A kernel is a plain Python function over NumPy arrays and numbers that Numba translates to machine code. It is
compiled for its declared types when its module is imported, and kept in Numba's cache next to the module, so
only the first start on a machine pays for it. Kernels never allocate per row, never call back into Python,
and release the GIL.

A call costs about two microseconds whatever it does, so small steps gain most: there every NumPy call costs
one, and hashing three columns took sixty of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

__all__ = [
    "BOOLS",
    "BYTES",
    "DOUBLES",
    "INT8S",
    "INT32S",
    "INT64S",
    "LITTLE_ENDIAN",
    "NEW_BOOLS",
    "NEW_DOUBLES",
    "NEW_INT32S",
    "NEW_INT64S",
    "NEW_WORDS",
    "WORDS",
    "Number",
    "inlined",
    "kernel",
    "load_word",
    "part",
    "word_at",
]

_FIRST_BYTES = np.array([(1 << 8 * size) - 1 for size in range(9)], np.uint64)
_BYTE = np.uint64(8)
LITTLE_ENDIAN = sys.byteorder == "little"

_F = TypeVar("_F", bound=Callable[..., Any])

Number = Any
"""A number inside a kernel: it has the type it was compiled for, which no type checker follows."""


def _read_only(item: Any) -> Any:
    """An argument that is only read: Arrow's memory can be passed as well as NumPy's."""
    return types.Array(item, 1, "C", readonly=True)


WORDS = _read_only(types.uint64)
INT64S = _read_only(types.int64)
INT32S = _read_only(types.int32)
INT8S = _read_only(types.int8)
BOOLS = _read_only(types.boolean)
BYTES = _read_only(types.uint8)
DOUBLES = _read_only(types.float64)
NEW_WORDS = types.Array(types.uint64, 1, "C")
NEW_INT32S = types.Array(types.int32, 1, "C")
NEW_INT64S = types.Array(types.int64, 1, "C")
NEW_DOUBLES = types.Array(types.float64, 1, "C")
NEW_BOOLS = types.Array(types.boolean, 1, "C")


def kernel(*signatures: Any) -> Callable[[_F], _F]:
    """Compiles a function for the given signatures, each ``result(argument, …)`` of Numba types."""

    def compiled(function: _F) -> _F:
        try:
            return _compile(function, signatures, cache=True)
        except RuntimeError:  # code imported from an archive has no folder for a cache
            return _compile(function, signatures, cache=False)

    return compiled


def _compile(function: _F, signatures: tuple[Any, ...], *, cache: bool) -> _F:
    make: Any = numba.njit(list(signatures), cache=cache, nogil=True, error_model="numpy")
    compiled: _F = make(function)
    return compiled


def _load_word(context: Any, data: Any, place: Any) -> Any:
    """How Numba translates :data:`load_word`."""

    def load(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        address = builder.gep(array.data, [arguments[1]])
        return builder.load(builder.bitcast(address, ir.IntType(64).as_pointer()), align=1)

    return types.uint64(data, types.int64), load


load_word: Any = intrinsic(_load_word)
"""``load_word(data, place)``, inside kernels: eight bytes of a byte array as one word, in native byte order.
They need not be aligned, and there is no bounds check."""


def inlined(function: _F) -> _F:
    """A part of kernels, compiled into each that uses it.

    Numba only notices changes of the file that contains the kernel itself: after changing a part, touch the
    files of the kernels that use it, or run ``make clean``."""
    make: Any = numba.njit(inline="always", nogil=True, error_model="numpy")
    part: _F = make(function)
    return part


def part(function: _F) -> _F:
    """A function of scalars that kernels call. Long ones compile faster this way than as :func:`inlined`, and
    the compiler still inlines what is worth it. The note there about changes applies here too."""
    make: Any = numba.njit(nogil=True, error_model="numpy")
    called: _F = make(function)
    return called


@inlined
def word_at(data: Number, start: Number, stop: Number) -> Number:
    """The bytes from ``start`` as one little-endian word: eight of them, or those before ``stop``, padded
    with zeros. For use inside kernels."""
    size = stop - start
    if LITTLE_ENDIAN and start + 8 <= len(data):
        return load_word(data, start) & _FIRST_BYTES[min(size, 8)]
    word = np.uint64(0)
    for byte in range(min(size, 8)):
        word |= np.uint64(data[start + byte]) << (np.uint64(byte) * _BYTE)
    return word
