"""get_json_object, json_array_length and json_object_keys: looking into texts of JSON.

Each distinct text is parsed once. Paths are Hive's, with Hive's ways: a wildcard that matches one element
gives that element and not an array of it, two wildcards in a row flatten, and a match that is NULL is none.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import types as t

from penstock.expr.functions.json_text import Object, parse, written
from penstock.expr.functions.registry import Value, function
from penstock.expr.functions.rules import always
from penstock.expr.functions.vectors import map_distinct
from penstock.expr.nodes import Call

__all__: list[str] = []

_RAW, _QUOTED, _FLAT = "raw", "quoted", "flat"
_STEP = re.compile(
    r"\s*(?:(?P<any>\.\*|\['\*'\])|\.\s*(?P<name>[^.\[]+)|\['(?P<quoted>[^']+)'\]|\[\s*(?:(?P<all>\*)|(?P<index>\d+))\s*\])"
)


@dataclass(frozen=True, slots=True)
class _Key:
    name: str


@dataclass(frozen=True, slots=True)
class _Index:
    """A subscript; None is the wildcard."""

    place: int | None


Step = _Key | _Index


@functools.lru_cache(maxsize=4096)
def _path(text: str) -> tuple[Step, ...] | None:
    """The steps of a path; None if it is not one, or one that matches nothing."""
    if not text.lstrip().startswith("$"):
        return None
    place, steps = text.index("$") + 1, []
    while place < len(text):
        found = _STEP.match(text, place)
        if found is None or found["any"]:
            # Spark reads a wildcard for the fields of an object and then never follows it.
            return None
        name = found["name"] or found["quoted"]
        step = _Key(name) if name else _Index(None if found["all"] else int(found["index"]))
        steps.append(step)
        place = found.end()
    return tuple(steps)


class _Search:
    """Follows a path through a tree. Each step says whether anything matched, and the texts it wrote."""

    def __init__(self, shortest: bool) -> None:
        self._shortest = shortest

    def run(self, node: Any, path: Sequence[Step], style: str) -> tuple[bool, list[str]]:
        """What the rest of a path finds at a node."""
        if not path:
            return self._end(node, style)
        step = path[0]
        if isinstance(step, _Key):
            if isinstance(node, Object):
                for key, item in node:
                    if key == step.name and item is not None:
                        found, out = self.run(item, path[1:], style)
                        if found:
                            return found, out
            return False, []
        if not isinstance(node, list) or isinstance(node, Object):
            return False, []
        if step.place is None:
            return self._each(node, path, style)
        if step.place >= len(node):
            return False, []
        wild = len(path) > 1 and path[1] == _Index(None)
        return self.run(node[step.place], path[1:], _QUOTED if wild else style)

    def _end(self, node: Any, style: str) -> tuple[bool, list[str]]:
        if style == _RAW and isinstance(node, str) and type(node) is str:
            return True, [node]
        if style == _FLAT and isinstance(node, list) and not isinstance(node, Object):
            return self._all(node, (), style)
        return True, [written(node, shortest=self._shortest)]

    def _all(self, node: list[Any], path: Sequence[Step], style: str) -> tuple[bool, list[str]]:
        results = [self.run(item, path, style) for item in node]
        return any(found for found, _ in results), [text for _, out in results for text in out]

    def _each(self, node: list[Any], path: Sequence[Step], style: str) -> tuple[bool, list[str]]:
        if len(path) > 1 and path[1] == _Index(None):
            found, out = self._all(node, path[2:], _FLAT)
            return found, [f"[{','.join(out)}]"]
        if style == _QUOTED:
            found, out = self._all(node, path[1:], _QUOTED)
            return found, [f"[{','.join(out)}]"]
        results = [self.run(item, path[1:], _QUOTED if style == _RAW else _FLAT) for item in node]
        matches = sum(found for found, _ in results)
        joined = ",".join(text for _, out in results for text in out)
        if matches == 0:
            return False, []
        return True, [f"[{joined}]" if matches > 1 else joined]


def _tree(text: str) -> tuple[bool, Any]:
    try:
        return True, parse(text, strict=False, words=False)
    except ValueError:
        return False, None


def _encodable(text: str) -> str | None:
    """The text, unless half a character is in it, which Spark cannot write."""
    return text if re.search("[\ud800-\udfff]", text) is None else None


@function("GetJsonObject", result=always(t.StringType()), nullable=True, printed=True)
def get_json_object(call: Call, args: list[Value], length: int) -> Value:
    search = _Search(bool(call.option("shortest")))

    def one(text: str, path: str) -> str | None:
        steps = _path(path)
        valid, tree = _tree(text)
        if steps is None or not valid:
            return None
        found, out = search.run(tree, steps, _RAW)
        return _encodable("".join(out)) if found else None

    return map_distinct(one, args, length, pa.string())


@function("JsonTuple", result=always(t.StringType()), nullable=True, printed=True)
def json_field(call: Call, args: list[Value], length: int) -> Value:
    """One column of ``json_tuple``: the first field of that name."""
    shortest = bool(call.option("shortest"))

    def one(text: str, name: str) -> str | None:
        valid, tree = _tree(text)
        if not valid or not isinstance(tree, Object):
            return None
        for key, item in tree:
            if key == name and item is not None:
                return _encodable(item if type(item) is str else written(item, shortest=shortest))
        return None

    return map_distinct(one, args, length, pa.string())


@function("JsonExpressionUtils.lengthOfJsonArray", result=always(t.IntegerType()), nullable=True)
def json_array_length(call: Call, args: list[Value], length: int) -> Value:
    def one(text: str) -> int | None:
        _, tree = _tree(text)
        return len(tree) if isinstance(tree, list) and not isinstance(tree, Object) else None

    return map_distinct(one, args, length, pa.int32())


@function(
    "JsonExpressionUtils.jsonObjectKeys", result=always(t.ArrayType(t.StringType(), True)), nullable=True
)
def json_object_keys(call: Call, args: list[Value], length: int) -> Value:
    def one(text: str) -> list[str] | None:
        _, tree = _tree(text)
        return [key for key, _ in tree] if isinstance(tree, Object) else None

    return map_distinct(one, args, length, pa.list_(pa.field("element", pa.string())))
