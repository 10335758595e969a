"""A plan as an indented text tree, for people and for fingerprints.

The text names every expression and, with ``types=True``, every type, so equal texts mean equal plans.
Columns are written by position with the name they have in the query (``#2 amount``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.expr.depth import room_for
from penstock.expr.nodes import Call, Column, Expr, Literal
from penstock.expr.python_function import CALL, call_text
from penstock.expr.text import members_text, variable_name
from penstock.sql.plan import (
    Aggregate,
    AggregateCall,
    Distinct,
    Field,
    Filter,
    Generate,
    Join,
    Plan,
    Project,
    Repeat,
    Scan,
    SessionParts,
    Sessions,
    SingleRow,
    SortKey,
    TopK,
    Union,
    Values,
    Window,
    WindowCall,
    depth_of,
)

__all__ = ["children_of", "expression_text", "order_text", "plan_tree"]


def plan_tree(plan: Plan, *, types: bool = False) -> str:
    """The tree of ``plan``, one node a line, children indented below their parent."""
    lines: list[str] = []
    with room_for(depth_of(plan)):
        _write(plan, 0, types, lines)
    return "\n".join(lines)


def children_of(plan: Plan) -> tuple[Plan, ...]:
    """The nodes right below ``plan``."""
    return _DESCRIPTIONS[type(plan)][1](plan)


def expression_text(expr: Expr, types: bool = False) -> str:
    """``expr`` in function notation: ``GreaterThan(#1 amount, 10)``."""
    if isinstance(expr, Column):
        text = f"#{expr.ordinal}" if types else f"#{expr.ordinal} {expr.name}".rstrip()
    elif isinstance(expr, Literal):
        text = "NULL" if expr.value is None else repr(expr.value)
    elif isinstance(expr, Call) and expr.function == "NamedLambdaVariable":
        text = variable_name(expr.option("number"))
    else:
        assert isinstance(expr, Call)
        if expr.function == CALL and not types:
            return call_text(expr, [expression_text(arg) for arg in expr.args])
        if expr.function == "InSet" and not types:
            return f"InSet({expression_text(expr.args[0])}, {members_text(expr)})"
        options = "".join(f", {name}={value!r}" for name, value in expr.options if types)
        text = f"{expr.function}({', '.join(expression_text(arg, types) for arg in expr.args)}{options})"
    return f"{text}:{expr.data_type.simpleString()}" if types else text


def order_text(order_by: tuple[SortKey, ...], types: bool = False) -> str:
    """The ORDER BY list of a view."""
    return ", ".join(
        f"{expression_text(key.expr, types)} {'ASC' if key.ascending else 'DESC'} "
        f"NULLS {'FIRST' if key.nulls_first else 'LAST'}"
        for key in order_by
    )


def _write(plan: Plan, depth: int, types: bool, lines: list[str]) -> None:
    describe, children = _DESCRIPTIONS[type(plan)]
    text = describe(plan, types)
    if types:
        text += f" -> {_fields(plan.schema)}"
    lines.append("  " * depth + text)
    for child in children(plan):
        _write(child, depth + 1, types, lines)


def _fields(schema: tuple[Field, ...]) -> str:
    return ", ".join(f"{f.data_type.simpleString()}{'' if f.nullable else ' not null'}" for f in schema)


def _named(exprs: tuple[Expr, ...], schema: tuple[Field, ...], types: bool) -> str:
    parts = []
    for expr, field in zip(exprs, schema, strict=True):
        text = expression_text(expr, types)
        renamed = not types and not (isinstance(expr, Column) and expr.name == field.name)
        parts.append(f"{text} AS {field.name}" if renamed else text)
    return ", ".join(parts)


def _call(call: AggregateCall, types: bool) -> str:
    args = ", ".join(expression_text(arg, types) for arg in call.args)
    text = f"{call.function}({'DISTINCT ' if call.distinct else ''}{args})"
    if call.filter is not None:
        text += f" FILTER {expression_text(call.filter, types)}"
    if types:
        text += "".join(f" {name}={value!r}" for name, value in call.options)
        text += f":{call.data_type.simpleString()}"
    return text


def _aggregate(plan: Aggregate, types: bool) -> str:
    keys = ", ".join(expression_text(key, types) for key in plan.keys)
    return f"Aggregate [{keys}] [{', '.join(_call(call, types) for call in plan.calls)}]"


def _join(plan: Join, types: bool) -> str:
    pairs = zip(plan.left_keys, plan.null_safe, plan.right_keys, strict=True)
    parts = [
        f"{expression_text(left, types)} {'<=>' if safe else '='} {expression_text(right, types)}"
        for left, safe, right in pairs
    ]
    text = f"Join {plan.kind} [{', '.join(parts)}]"
    return text if plan.condition is None else f"{text} if {expression_text(plan.condition, types)}"


def _top_k(plan: TopK, types: bool) -> str:
    keys = ", ".join(expression_text(key, types) for key in plan.keys)
    per = f" per [{keys}]" if keys else ""
    limit = "all" if plan.limit is None else plan.limit
    numbered = " numbered" if plan.numbers else ""
    return f"TopK {limit} from {plan.offset}{per} by [{order_text(plan.order, types)}]{numbered}"


def _window_call(call: WindowCall, types: bool) -> str:
    text = f"{call.function}({', '.join(expression_text(arg, types) for arg in call.args)})"
    if call.filter is not None:
        text += f" FILTER {expression_text(call.filter, types)}"
    if call.function in ("NthValue", "Shift", "NTile") or types:
        text += "".join(f" {name}={value!r}" for name, value in call.options)
    bounds = [
        "unbounded"
        if bound is None
        else str(bound)
        if isinstance(bound, int)
        else expression_text(bound, types)
        for bound in (call.frame.lower, call.frame.upper)
    ]
    text += f" {'rows' if call.frame.rows else 'range'} {bounds[0]}..{bounds[1]}"
    return f"{text}:{call.data_type.simpleString()}" if types else text


def _window(plan: Window, types: bool) -> str:
    keys = ", ".join(expression_text(key, types) for key in plan.keys)
    calls = ", ".join(_window_call(call, types) for call in plan.calls)
    return f"Window [{keys}] by [{order_text(plan.order, types)}] [{calls}]"


def _sessions(plan: Sessions | SessionParts, types: bool) -> str:
    keys = ", ".join(expression_text(key, types) for key in plan.keys)
    start, end = expression_text(plan.start, types), expression_text(plan.end, types)
    return f"{type(plan).__name__} [{keys}] from {start} to {end}"


def _generate(plan: Generate, types: bool) -> str:
    words = ["outer"] * plan.outer + ["position"] * plan.position + ["inline"] * plan.inline
    kept = ", ".join(f"#{ordinal}" for ordinal in plan.keep)
    return " ".join(["Generate", *words, expression_text(plan.array, types), f"beside [{kept}]"])


def _repeat(plan: Repeat, types: bool) -> str:
    kept = ", ".join(f"#{ordinal}" for ordinal in plan.keep)
    return f"Repeat {expression_text(plan.times, types)} [{kept}]"


def _values(plan: Values, types: bool) -> str:
    return f"Values {list(plan.rows)!r}"


_Describe = Callable[[Any, bool], str]
_Children = Callable[[Any], tuple[Plan, ...]]

_DESCRIPTIONS: dict[type[Plan], tuple[_Describe, _Children]] = {
    Scan: (lambda p, t: f"Scan {p.table}", lambda p: ()),
    Values: (_values, lambda p: ()),
    Project: (lambda p, t: f"Project [{_named(p.exprs, p.schema, t)}]", lambda p: (p.child,)),
    Filter: (lambda p, t: f"Filter {expression_text(p.predicate, t)}", lambda p: (p.child,)),
    Join: (_join, lambda p: (p.left, p.right)),
    Aggregate: (_aggregate, lambda p: (p.child,)),
    Union: (lambda p, t: "Union", lambda p: p.children),
    Distinct: (lambda p, t: "Distinct", lambda p: (p.child,)),
    SingleRow: (lambda p, t: "SingleRow", lambda p: (p.child,)),
    TopK: (_top_k, lambda p: (p.child,)),
    Generate: (_generate, lambda p: (p.child,)),
    Repeat: (_repeat, lambda p: (p.child,)),
    Window: (_window, lambda p: (p.child,)),
    Sessions: (_sessions, lambda p: (p.child,)),
    SessionParts: (_sessions, lambda p: (p.child,)),
}
