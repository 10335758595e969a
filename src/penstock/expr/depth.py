"""Room for deeply nested expressions on Python's stack.

A query may add two thousand columns, which Catalyst makes a tree two thousand levels deep. Walks over all
parts of an expression use an explicit stack (:mod:`penstock.expr.nodes`). Functions that follow its structure
(evaluation, text) are recursive: a few Python frames for each level, more than the interpreter allows by
default. Such functions declare here how deep they may get. A Python frame is not a C frame, so the limit only
keeps endless recursion from taking all memory, and can be raised if the depth is known.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from penstock.errors import UnsupportedQuery

__all__ = ["DEEPEST", "room_for"]

DEEPEST = 3000
"""Levels of nesting. Some recursion goes through C all the same; this many fit into a stack of 8 MB."""

_ORDINARY = 40  # levels for which the default limit is enough, wherever the caller stands
_FRAMES_PER_LEVEL = 14

_lock = threading.Lock()
_raised: list[int] = []
_usual: list[int] = []


@contextmanager
def room_for(depth: int) -> Iterator[None]:
    """Inside, functions may follow expressions or plans of this depth. Raises UnsupportedQuery for more than
    there can be room for."""
    if depth <= _ORDINARY:
        yield
        return
    if depth > DEEPEST:
        raise UnsupportedQuery(
            f"a query nested {depth} levels deep",
            reason=f"there is room for {DEEPEST}",
            advice="Split it into several views",
        )
    limit = depth * _FRAMES_PER_LEVEL + 1000
    with _lock:
        if not _raised:
            _usual[:] = [sys.getrecursionlimit()]
        _raised.append(limit)
        sys.setrecursionlimit(max(_usual[0] + limit, *_raised))
    try:
        yield
    finally:
        with _lock:
            _raised.remove(limit)
            if not _raised:
                sys.setrecursionlimit(_usual[0])
