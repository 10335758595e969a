"""JSON that decodes to exactly what was encoded, or is rejected when written.

Python's encoder turns a dict's integer keys into strings and writes NaN, which is not JSON. Both would be
noticed only at recovery, when it is too late. Cost: one walk over metadata, never over rows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from penstock.errors import StorageError

__all__ = ["decode", "encode"]


def encode(value: object, where: str) -> bytes:
    """Compact UTF-8 JSON, insertion order kept. ``where`` names the file in the error."""
    _check(value, where)
    try:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise StorageError(f"{where}: metadata that JSON cannot hold: {error}") from error


def decode(text: bytes) -> object:
    """The value; raises ValueError for anything that is not JSON."""
    return json.loads(text)


def _check(value: object, where: str) -> None:
    if isinstance(value, str | int | float):  # the most frequent types, checked quickly
        return
    if isinstance(value, Mapping):
        for key, item in value.items():
            if not isinstance(key, str):
                raise StorageError(f"{where}: JSON would turn the key {key!r} into a string; use strings")
            _check(item, where)
    elif isinstance(value, list | tuple):
        for item in value:
            _check(item, where)
