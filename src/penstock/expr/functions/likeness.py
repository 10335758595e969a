"""How alike strings are: SOUNDEX and the Levenshtein distance, once per distinct value or pair."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import types as t

from penstock.expr.functions.registry import Value, function
from penstock.expr.functions.rules import always
from penstock.expr.functions.vectors import map_distinct
from penstock.expr.nodes import Call

__all__: list[str] = []

_STRING = always(t.StringType())
_INTEGER = always(t.IntegerType())


@function("SoundEx", result=_STRING)
def soundex(call: Call, args: list[Value], length: int) -> Value:
    return map_distinct(_soundex, args, length, pa.string())


def _soundex(text: str) -> str:
    """Vowels separate equal sounds, H and W do not; what does not start with a letter stays as it is."""
    codes = dict(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "01230127022455012623017202", strict=True))
    letters = [letter.upper() if letter.isascii() else letter for letter in text]
    if not letters or letters[0] not in codes:
        return text
    result, last = letters[0], codes[letters[0]]
    for letter in letters[1:]:
        code = codes.get(letter, "0")
        if code == "7" and letter in codes:
            continue
        if code not in ("0", last):
            result += code
        last = code
        if len(result) == 4:
            break
    return result.ljust(4, "0")


@function("Levenshtein", result=_INTEGER)
def levenshtein(call: Call, args: list[Value], length: int) -> Value:
    return map_distinct(_distance, args, length, pa.int32())


def _distance(left: str, right: str, threshold: int | None = None) -> int:
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        previous, row[0] = row[0], i
        for j, b in enumerate(right, 1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (a != b))
    return row[-1] if threshold is None or row[-1] <= threshold else -1
