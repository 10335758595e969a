"""Expressions as people write them: SQL with infix operators, for explain, pictures and error messages.

Only for reading: names may be ambiguous and types are left out. Identity and storage use ``repr``.
"""

from __future__ import annotations

import re

from pyspark.sql.types import ArrayType, StructType

from penstock.expr.depth import room_for
from penstock.expr.nodes import Call, Column, Expr, Literal
from penstock.expr.python_function import call_text

__all__ = ["members_text", "sql_text", "variable_name"]

# Symbol and how strongly it binds; what binds more weakly than its parent is put in parentheses.
_INFIX: dict[str, tuple[str, int]] = {
    "Or": ("OR", 1),
    "And": ("AND", 2),
    "EqualTo": ("=", 4),
    "EqualNullSafe": ("<=>", 4),
    "LessThan": ("<", 4),
    "LessThanOrEqual": ("<=", 4),
    "GreaterThan": (">", 4),
    "GreaterThanOrEqual": (">=", 4),
    "Like": ("LIKE", 4),
    "RLike": ("RLIKE", 4),
    "Add": ("+", 5),
    "Subtract": ("-", 5),
    "Multiply": ("*", 6),
    "Divide": ("/", 6),
    "IntegralDivide": ("DIV", 6),
    "Remainder": ("%", 6),
}
_SHOWN = 3
_LAMBDA, _NOT, _TEST, _SIGN, _ATOM = 0, 3, 4, 7, 8


def sql_text(expr: Expr) -> str:
    """``expr`` as SQL.

    >>> from pyspark.sql.types import BooleanType, LongType
    >>> price = Column(LongType(), True, 0, "price")
    >>> sql_text(Call(BooleanType(), True, "GreaterThan", (price, Literal(LongType(), False, 5))))
    'price > 5'
    """
    with room_for(expr.depth):
        return _text(expr)[0]


def _text(expr: Expr) -> tuple[str, int]:
    if isinstance(expr, Column):
        return expr.name or f"#{expr.ordinal}", _ATOM
    if isinstance(expr, Literal):
        return _literal(expr), _ATOM
    assert isinstance(expr, Call)
    if expr.function in _INFIX and len(expr.args) == 2:
        symbol, strength = _INFIX[expr.function]
        left, right = (_inside(arg, strength + side) for side, arg in enumerate(expr.args))
        if symbol in ("AND", "OR"):
            right = _inside(expr.args[1], strength)  # chains of AND need no parentheses on either side
        return f"{left} {symbol} {right}", strength
    return _special(expr)


def _special(call: Call) -> tuple[str, int]:
    args = call.args
    match call.function:
        case "Not" if isinstance(args[0], Call) and args[0].function == "EqualTo":
            left, right = (_inside(arg, _TEST + 1) for arg in args[0].args)
            return f"{left} <> {right}", _TEST
        case "Not":
            return f"NOT {_inside(args[0], _NOT + 1)}", _NOT
        case "IsNull":
            return f"{_inside(args[0], _TEST + 1)} IS NULL", _TEST
        case "IsNotNull":
            return f"{_inside(args[0], _TEST + 1)} IS NOT NULL", _TEST
        case "UnaryMinus":
            return f"-{_inside(args[0], _SIGN)}", _SIGN
        case "In":
            return f"{_inside(args[0], _TEST + 1)} IN ({_list(args[1:])})", _TEST
        case "InSet":
            return f"{_inside(args[0], _TEST + 1)} IN ({members_text(call)})", _TEST
        case "Cast":
            return f"CAST({sql_text(args[0])} AS {call.data_type.simpleString().upper()})", _ATOM
        case "GetStructField" | "GetArrayStructFields":
            return f"{_inside(args[0], _ATOM)}.{_field(call)}", _ATOM
        case "GetArrayItem" | "GetMapValue":
            return f"{_inside(args[0], _ATOM)}[{sql_text(args[1])}]", _ATOM
        case "LikeAll" | "LikeAny" | "NotLikeAll" | "NotLikeAny":
            words = " ".join(re.findall("[A-Z][a-z]+", call.function)).upper()
            patterns = ", ".join(f"'{pattern}'" for pattern in call.option("patterns"))
            return f"{_inside(args[0], _TEST + 1)} {words} ({patterns})", _TEST
        case "TimestampAdd" | "TimestampDiff":
            return f"{call.function.lower()}({call.option('unit')}, {_list(args)})", _ATOM
        case "If":
            return f"IF({_list(args)})", _ATOM
        case "CaseWhen":
            return _case(args), _ATOM
        case "NamedLambdaVariable":
            return variable_name(call.option("number")), _ATOM
        case "LambdaFunction":
            return _lambda(call), _LAMBDA
        case "PythonUDF":
            return call_text(call, [sql_text(arg) for arg in args]), _ATOM
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", call.function).lower()
    return f"{name}({_list(args)})", _ATOM


def _field(call: Call) -> str:
    """The name of the field that is taken out of a struct, or out of the structs of an array."""
    struct = call.args[0].data_type
    if isinstance(struct, ArrayType):
        struct = struct.elementType
    assert isinstance(struct, StructType)
    return str(struct.names[call.option("ordinal")])


def members_text(call: Call) -> str:
    """The first items of a long IN list, and how many more there are."""
    items = call.args[1]
    assert isinstance(items, Literal) and isinstance(items.data_type, ArrayType)
    shown = [_literal(Literal(items.data_type.elementType, True, value)) for value in items.value[:_SHOWN]]
    return f"{', '.join(shown)}, … {len(items.value) - len(shown)} more"


def _case(args: tuple[Expr, ...]) -> str:
    pairs = [f"WHEN {sql_text(args[i])} THEN {sql_text(args[i + 1])}" for i in range(0, len(args) - 1, 2)]
    otherwise = [f"ELSE {sql_text(args[-1])}"] if len(args) % 2 else []
    return " ".join(["CASE", *pairs, *otherwise, "END"])


def variable_name(number: int) -> str:
    """What a variable of a lambda function is called; the names in the query are not kept."""
    return "xyz"[number] if number < 3 else f"x{number}"


def _lambda(call: Call) -> str:
    first = call.option("first")
    names = [variable_name(number) for number in range(first, first + call.option("count"))]
    arguments = names[0] if len(names) == 1 else f"({', '.join(names)})"
    return f"{arguments} -> {sql_text(call.args[0])}"


def _literal(literal: Literal) -> str:
    if literal.value is None:
        return "NULL"
    if isinstance(literal.value, bool):
        return str(literal.value).upper()
    if isinstance(literal.value, str):
        return "'" + literal.value.replace("'", "\\'") + "'"
    return str(literal.value)


def _inside(expr: Expr, strength: int) -> str:
    text, own = _text(expr)
    return text if own >= strength else f"({text})"


def _list(args: tuple[Expr, ...]) -> str:
    return ", ".join(map(sql_text, args))
