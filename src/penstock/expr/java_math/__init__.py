"""Elementary functions to the bits that Spark's have: those of Java's library, not of the C library.

Spark calls ``java.lang.StrictMath`` for exponentials, logarithms and powers, and ``java.lang.Math`` for the
rest. StrictMath is fdlibm, the same on every machine. Math may have a method of its own with an error below
one unit in the last place; of the functions that Spark takes from it, Java 17 on x86-64 has one for ``sin``,
``cos`` and ``tan`` and passes the others on to StrictMath. The functions here do the same operations in the
same order. ``docs/math.md`` says which function calls what, and where Java machines may differ.

Each family has a file of its own, loaded when a function of it is first called: reading one compiled kernel
back takes five milliseconds, and most pipelines call none.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["java"]

_FAMILIES = {
    "arc": ("acos", "asin", "atan", "atan2"),
    "circular": ("cos", "sin"),
    "exponential": ("exp", "expm1"),
    "hyperbolic": ("acosh", "asinh", "cosh", "sinh", "tanh"),
    "logarithm": ("log", "log10", "log1p"),
    "power": ("power",),
    "root": ("cbrt", "hypot"),
    "tangent": ("tan",),
}


def java(name: str, *arguments: NDArray[Any]) -> NDArray[np.float64]:
    """The function of doubles called ``name``, applied to each row; arguments are broadcast."""
    vectors = np.broadcast_arrays(*arguments) if len(arguments) > 1 else arguments
    result = np.empty(len(vectors[0]), np.float64)
    _kernel(name)(*(np.ascontiguousarray(vector, np.float64) for vector in vectors), result)
    return result


@cache
def _kernel(name: str) -> Callable[..., None]:
    family = next(family for family, names in _FAMILIES.items() if name in names)
    kernel: Callable[..., None] = getattr(import_module(f"{__name__}.{family}"), name)
    return kernel
