"""Catalyst's expressions, from the JSON of ``TreeNode.toJSON`` to bound expression trees.

``toJSON`` writes a tree as a list of nodes in preorder, each with its number of children. It leaves out
the types of all nodes that are not leaves, so they are derived by each function's own rule, and the
evaluation mode, which is the session's unless ``live.complete`` has filled in the node's own. A class that
is not in the registry is refused here, when the view is created.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyspark.sql.types import ArrayType, LongType

from penstock.errors import UnsupportedQuery
from penstock.expr.functions import Function, lookup
from penstock.expr.functions.registry import ANSI, LEGACY
from penstock.expr.literals import calendar_interval, literal_value
from penstock.expr.nodes import Call, Column, Expr, Literal
from penstock.expr.types import type_from_json

__all__ = ["Resolve", "Special", "class_name", "expression_from_json"]

Node = Mapping[str, Any]
Resolve = Callable[[int], Column]
"""Gives the column of an attribute's expression id."""

Special = Callable[[Node, Sequence[Expr]], Expr | None]
"""A caller's own reading of a node (a scalar subquery, say), or None to leave it to this module."""

_TRANSPARENT = frozenset(
    {
        "Alias",
        "KnownFloatingPointNormalized",
        "KnownNotContainsNull",
        "KnownNotNull",
        "KnownNullable",
        "PromotePrecision",
        "TempResolvedColumn",
    }
)
_ADDS_INTERVAL = frozenset({"TimestampAddInterval", "TimeAdd"})
_CHOICES = frozenset({"If", "CaseWhen"})  # a condition before each value but the last
_UNITS = ("MONTH", "DAY", "MICROSECOND")
_IN_THE_TYPE = frozenset({"dataType", "schema"})
_NOT_A_VALUE = {
    "ScalarSubquery": "a scalar subquery",
    "Exists": "EXISTS",
    "InSubquery": "IN with a subquery",
    "ListQuery": "IN with a subquery",
    "AggregateExpression": "an aggregate function in this place",
    "WindowExpression": "a window function in this place",
    "PythonUDF": "a Python function",
    "ScalaUDF": "a user-defined function",
}


def class_name(node: Node) -> str:
    """The name under which a node's function is registered: its class, or the method it invokes."""
    name = str(node["class"]).rpartition(".")[2]
    if name == "StaticInvoke":
        owner = str(node["staticObject"]).rpartition(".")[2].rstrip("$")
        return f"{owner}.{node['functionName']}"
    if name == "Invoke":
        return f"Invoke.{node['functionName']}"
    return name


def expression_from_json(
    nodes: Sequence[Node],
    resolve: Resolve,
    ansi: bool,
    timezone: str,
    special: Special | None = None,
    *,
    last_key_wins: bool = False,
    shortest: bool = False,
) -> Expr:
    """The expression written as ``nodes``, its attributes bound by ``resolve``.

    The other arguments are the session's: ``last_key_wins`` for a key that stands twice in a map, and
    ``shortest`` where Java prints large whole doubles with as few digits as others (from version 19 on).

    Raises UnsupportedQuery for what has no implementation here.
    """
    reader = _Reader(nodes, resolve, ansi, timezone, special, last_key_wins, shortest)
    result = reader.read()
    if reader.position != len(nodes):
        raise ValueError(f"{len(nodes) - reader.position} nodes are left over after the expression")
    return result


class _Reader:
    """Walks the list of nodes once."""

    def __init__(
        self,
        nodes: Sequence[Node],
        resolve: Resolve,
        ansi: bool,
        timezone: str,
        special: Special | None,
        last_key_wins: bool,
        shortest: bool,
    ) -> None:
        self.position = 0
        self._nodes = nodes
        self._resolve = resolve
        self._ansi = ansi
        self._timezone = timezone
        self._special = special
        self._last_key_wins = last_key_wins
        self._shortest = shortest
        self._variables: dict[int, int] = {}

    def read(self) -> Expr:
        """The expression at the current position, which moves behind it."""
        node = self._nodes[self.position]
        self.position += 1
        name = class_name(node)
        if name.startswith("Invoke."):
            name, node = self._invoked(name, node)
        if name == "AttributeReference":
            return self._resolve(int(node["exprId"]["id"]))
        if name == "Literal" and node["dataType"] != "object":
            data_type = type_from_json(node["dataType"])
            value = literal_value(node["value"], data_type, self._timezone)
            return Literal(data_type, value is None, value)
        if name == "InSet":
            return self._in_set(node, self.read())
        if name == "NamedLambdaVariable":
            return self._variable(node)
        if name == "LambdaFunction":
            return self._lambda(node)
        if self._special is None and name not in _TRANSPARENT and lookup(name) is None:
            # Before the arguments are read: the outermost unknown function is the one to name.
            raise _unknown(name)
        if name in _ADDS_INTERVAL and self._is_calendar_interval(self._end(self.position)):
            return self._later(node, self.read())
        args = [self.read() for _ in range(node["num-children"])]
        if self._special is not None and (own := self._special(node, args)) is not None:
            return own
        if name in _TRANSPARENT:
            return args[0]
        return self._call(name, node, args)

    def _invoked(self, name: str, node: Node) -> tuple[str, Node]:
        """A method of an object that Catalyst made for the purpose: the object is no argument but gives the
        function its name, and its fields, which it prints, are what the function keeps beside arguments."""
        target = self._nodes[self.position]
        if class_name(target) != "Literal" or target["dataType"] != "object":
            return name, node
        self.position += 1
        owner = str(target["value"]).partition("(")[0]
        fields = {**target, **node, "num-children": node["num-children"] - 1, "target": target["value"]}
        return f"{owner}.{node['functionName']}", fields

    def _lambda(self, node: Node) -> Expr:
        """A lambda function: its body, and how many arguments there are. They stand behind the body.

        Variables are numbered from the outermost function inwards: Catalyst's ids are others in each session.
        """
        count, first = node["num-children"] - 1, len(self._variables)
        behind = self._end(self.position)
        outer = dict(self._variables)
        for number, argument in enumerate(self._nodes[behind : behind + count], first):
            self._variables[int(argument["exprId"]["id"])] = number
        body = self.read()
        self.position += count
        self._variables = outer
        kept = (("count", count), ("first", first))
        return Call(body.data_type, body.nullable, "LambdaFunction", (body,), kept)

    def _variable(self, node: Node) -> Expr:
        # A body that is read by itself, to find what is refused in it, may have any numbers.
        number = self._variables.get(int(node["exprId"]["id"]), 0)
        kept = (("number", number),)
        data_type = type_from_json(node["dataType"])
        return Call(data_type, bool(node["nullable"]), "NamedLambdaVariable", (), kept)

    def _in_set(self, node: Node, value: Expr) -> Expr:
        """A long IN list of constants: they are one constant, a list."""
        items = literal_value(node["hset"], ArrayType(value.data_type), self._timezone)
        return self._call("InSet", node, [value, Literal(ArrayType(value.data_type), False, items)])

    def _is_calendar_interval(self, position: int) -> bool:
        """Whether the expression at ``position`` is an interval of months, days and microseconds, or a choice
        between several. That is no value with a column, so it can only be added as a constant."""
        node = self._nodes[position]
        if class_name(node) in _CHOICES:
            return self._is_calendar_interval(self._end(position + 1))
        return class_name(node) == "MakeInterval" or node.get("dataType") == "interval"

    def _later(self, node: Node, moment: Expr) -> Expr:
        """``moment`` and the interval at the current position, which moves behind it: months, days and
        microseconds are added one after the other. A choice of intervals is one of later moments."""
        amount = self._nodes[self.position]
        self.position += 1
        size = amount["num-children"]
        if class_name(amount) in _CHOICES:
            args = [
                self.read() if part % 2 == 0 and part < size - 1 else self._later(node, moment)
                for part in range(size)
            ]
            return self._call(class_name(amount), amount, args)
        if class_name(amount) != "Literal":
            raise UnsupportedQuery(
                "an interval computed from columns",
                reason="its months and days are no value that a column could hold",
                advice="Write intervals as constants; CASE may choose between several",
            )
        if amount["value"] is None:
            return Literal(moment.data_type, True, None)
        for unit, number in zip(_UNITS, calendar_interval(amount["value"]), strict=True):
            if number:
                quantity = Literal(LongType(), False, number)
                moment = self._call("TimestampAdd", {**node, "unit": unit}, [quantity, moment])
        return moment

    def _end(self, position: int) -> int:
        """The position behind the expression at ``position``."""
        left = 1
        while left:
            left += self._nodes[position]["num-children"] - 1
            position += 1
        return position

    def _call(self, name: str, node: Node, args: list[Expr]) -> Expr:
        function = lookup(name)
        if function is None:
            raise _unknown(name)
        options = self._options(function, node)
        data_type = function.result(args, options)
        kept = tuple(sorted((key, value) for key, value in options.items() if key not in _IN_THE_TYPE))
        return Call(data_type, function.can_be_null(args, options), name, tuple(args), kept)

    def _options(self, function: Function, node: Node) -> dict[str, Any]:
        options = {key: _option(key, node.get(key)) for key in function.options}
        if function.moded:
            options["mode"] = self._mode(node)
        if function.zoned:
            options["timezone"] = node.get("timeZoneId") or self._timezone
        if function.keyed and self._last_key_wins:
            options["last_key_wins"] = True
        if function.printed and self._shortest:
            options["shortest"] = True
        return options

    def _mode(self, node: Node) -> str:
        named = node.get("evalMode") or node.get("evalContext")
        if isinstance(named, str):
            return named
        for flag in ("failOnError", "ansiEnabled"):
            if isinstance(node.get(flag), bool):
                return ANSI if node[flag] else LEGACY
        if isinstance(node.get("nullOnOverflow"), bool):
            return LEGACY if node["nullOnOverflow"] else ANSI
        return ANSI if self._ansi else LEGACY


def _unknown(name: str) -> UnsupportedQuery:
    owner, _, method = name.rpartition(".")
    shown = owner.removesuffix("Evaluator") if method == "evaluate" else method
    construct = _NOT_A_VALUE.get(name, f"the function {shown}")
    return UnsupportedQuery(construct, reason="it is not implemented")


def _option(key: str, value: Any) -> Any:
    if key in ("dataType", "toType", "fromType", "schema"):
        return type_from_json(value)
    if key == "defaultValueOutOfBound":
        # An expression of its own that is not among the children: split_part's empty string.
        return value[0]["value"] if value else None
    if key == "names":
        # The fields of arrays_zip, each a literal of its own.
        return tuple(name[0]["value"] for name in value)
    return tuple(value) if isinstance(value, list) else value
