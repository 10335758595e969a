"""One part of a string that is split at a separator: ``split(url, '/')[3]``, ``split_part(url, '/', 4)``.

The list of all parts is not built, and the bytes after the requested part are not read.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.expr.functions.regex import is_plain
from penstock.expr.functions.registry import Rows, Value, shortcut
from penstock.expr.functions.text_search import ABSENT, part_places
from penstock.expr.functions.text_slices import concatenate_slices
from penstock.expr.functions.vectors import valid_mask
from penstock.expr.nodes import Call, Expr, Literal

__all__: list[str] = []


@shortcut("GetArrayItem", "ElementAt")
def part_of_split(call: Call, rows: Rows) -> Value | None:
    """Applies where every row has the part: a part that is missing is an error, NULL or a default."""
    found = _split(call)
    if found is None:
        return None
    text = rows.value(found[0])
    if isinstance(text, pa.Scalar):
        return None
    _, separator, number = found
    known = (part_of_split, id(text), separator)
    place, ends, _ = rows.memo.get(known, (number, None, text))
    begin, end = part_places(text, separator, number, (place, ends) if place < number else None)
    valid = valid_mask(text)
    missing = end == ABSENT if valid is None else (end == ABSENT) & valid
    if missing.any():
        return None
    rows.memo[known] = number, end, text  # which stays, so that no other text gets its id
    data = text.buffers()[2]
    letters = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return concatenate_slices(letters, begin, end, valid, text.type)


def _split(call: Call) -> tuple[Expr, str, int] | None:
    """The text, the separator and which part, from 0, if a call is about a part that is known."""
    match call.args:
        case (Call(function="StringSplit", args=(text, Literal(value=str(by)), Literal(value=limit))), place):
            plain = is_plain(by) and isinstance(limit, int) and limit <= 0
        case (Call(function="StringSplitSQL", args=(text, Literal(value=str(by)))), place):
            plain = bool(by)
        case _:
            return None
    if not plain or not isinstance(place, Literal) or place.value is None:
        return None
    number = place.value - (call.function == "ElementAt")
    return (text, by, number) if number >= 0 else None
