"""Rollback for collections that only grow: a failed addition is undone by truncating them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["shortened_on_error"]


@contextmanager
def shortened_on_error(*collections: list[Any] | dict[Any, Any]) -> Iterator[None]:
    """Truncates lists and dicts to their former length if the block, which may only add to them, fails. Free
    otherwise, and on failure it costs what was added: dicts keep insertion order.

    >>> names = {"a": 1}
    >>> with suppress(ValueError), shortened_on_error(names):
    ...     names["b"] = 2
    ...     raise ValueError
    >>> names
    {'a': 1}
    """
    lengths = [len(collection) for collection in collections]
    try:
        yield
    except BaseException:
        for collection, length in zip(collections, lengths, strict=True):
            if isinstance(collection, list):
                del collection[length:]
            else:
                while len(collection) > length:
                    collection.popitem()
        raise
