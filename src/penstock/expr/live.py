"""What ``TreeNode.toJSON`` leaves out, fetched from the live Catalyst tree.

The JSON of an expression prints null for the evaluation mode (so ``try_cast`` looks like ``cast``), for
the escape character of LIKE, for the patterns of LIKE ALL, for the items of a long IN list and for options,
and prints binary and nested literals in a form that cannot be read back. ``completed`` fills these in for one
node. A live node is a py4j object, and a call costs a fraction of a millisecond, so it is asked for
only where something is missing. Needed once per view, when it is created.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["completed"]

Node = Mapping[str, Any]

_LIKE = frozenset({"Like", "ILike"})
_LIKE_LISTS = frozenset({"LikeAll", "LikeAny", "NotLikeAll", "NotLikeAny"})
_UNREADABLE_LITERALS = frozenset({"binary", "timestamp"})


def _name(node: Node) -> str:
    return str(node["class"]).rpartition(".")[2]


def _is_incomplete(node: Node) -> bool:
    name = _name(node)
    if name == "Literal":
        kind = node["dataType"]
        nested = isinstance(kind, dict)
        return isinstance(node["value"], str) and (nested or kind in _UNREADABLE_LITERALS)
    if name in _LIKE:
        return node.get("escapeChar") is None
    if name in _LIKE_LISTS:
        return node.get("patterns") is None
    if name == "InSet":
        return True
    if name == "JsonToStructs":
        return node.get("options") is None
    moded = "evalMode" in node or "evalContext" in node
    return moded and not isinstance(node.get("evalMode"), str)


def completed(node: Node, twin: Callable[[], Any]) -> dict[str, Any]:
    """The node's fields with what they lack, asked of its live twin."""
    fields = dict(node)
    if not _is_incomplete(node):
        return fields
    live, name = twin(), _name(node)
    if name == "Literal":
        fields["value"] = _plain(live.value(), live.dataType(), node["dataType"])
    elif name in _LIKE:
        fields["escapeChar"] = str(live.escapeChar())
    elif name in _LIKE_LISTS:
        patterns = live.patterns()
        fields["patterns"] = [_text(patterns.apply(number)) for number in range(patterns.size())]
    elif name == "InSet":
        fields["hset"], fields["dataType"] = _members(live)
    elif name == "JsonToStructs":
        fields["options"] = str(live.options().toString())
    else:
        holder = live.evalContext() if "evalContext" in node else live
        fields["evalMode"] = str(holder.evalMode().toString())
    return fields


def _members(live: Any) -> tuple[list[Any], Any]:
    """The items of an ``InSet`` as texts, in an order that only depends on them, with None at the end if NULL
    is among them; and their type."""
    live_type, found = live.child().dataType(), live.hset()
    kind = json.loads(live_type.json())
    some = found.excl(None)
    if isinstance(kind, str) and kind != "binary":
        between = f"\0{uuid.uuid4()}\0"  # in one call over py4j, however many there are
        texts = str(some.mkString(between)).split(between) if some.nonEmpty() else []
    else:
        values = some.toSeq()
        texts = [_plain(values.apply(number), live_type, kind) for number in range(values.size())]
    return [*sorted(texts, key=repr), *([None] if found.contains(None) else [])], kind


def _text(value: Any) -> str | None:
    return None if value is None else str(value.toString())


def _plain(value: Any, live_type: Any, kind: Any) -> Any:
    """A Catalyst value as text, or as lists of texts where it is nested.

    A constant that Spark computed itself may lie in its packed form, which only takes itself apart if it is
    told the type: ``live_type`` is Catalyst's object for ``kind``."""
    if value is None:
        return None
    if kind == "binary":
        return "0x" + bytes(value).hex()
    if isinstance(kind, str):
        return _atom(value)
    if kind["type"] == "array":
        return _items(value, live_type.elementType(), kind["elementType"])
    if kind["type"] == "struct":
        values, types = value.toSeq(live_type), live_type.fields()
        return [
            _plain(values.apply(number), types[number].dataType(), field["type"])
            for number, field in enumerate(kind["fields"])
        ]
    keys = _items(value.keyArray(), live_type.keyType(), kind["keyType"])
    return list(zip(keys, _items(value.valueArray(), live_type.valueType(), kind["valueType"]), strict=True))


def _items(array: Any, live_type: Any, kind: Any) -> list[Any]:
    values = array.toObjectArray(live_type)
    return [_plain(values[number], live_type, kind) for number in range(len(values))]


def _atom(value: Any) -> str:
    """py4j turns numbers and truth values into Python's own; the others print themselves."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return "NaN" if value != value else repr(value)
    return str(value) if isinstance(value, (int, str)) else str(value.toString())
