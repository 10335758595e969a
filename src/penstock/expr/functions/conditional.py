"""CASE, IF, COALESCE and IN: the functions that choose between their arguments.

Spark evaluates a branch only for the rows that reach it. If no branch can raise, that makes no difference,
and all branches are computed for all rows before one is chosen for each. Otherwise rows are passed from
condition to condition, each evaluated on those that are left. In ``CASE x WHEN 'a' … WHEN 'b' …`` one pass
finds which constant each string equals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as t

from penstock.expr.functions.comparison import equal
from penstock.expr.functions.lists import renamed
from penstock.expr.functions.registry import Rows, Value, lazy_function, may_raise
from penstock.expr.functions.rules import widest_nullability
from penstock.expr.functions.text_choice import FEW, choose_texts, which_text
from penstock.expr.functions.vectors import as_array
from penstock.expr.nodes import Call, Expr, Literal
from penstock.expr.types import to_arrow

__all__: list[str] = []

Branches = list[tuple[Expr, Expr]]
Indices = npt.NDArray[np.int64]


def _common(exprs: Sequence[Expr]) -> t.DataType:
    result = exprs[0].data_type
    for expr in exprs[1:]:
        result = widest_nullability(result, expr.data_type)
    return result


def _case_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    return _common([*args[1::2], *args[len(args) - len(args) % 2 :]])


def _if_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    return _common(args[1:])


def _coalesce_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    return _common(args)


@lazy_function("CaseWhen", result=_case_type, nullable=True)
def case_when(call: Call, rows: Rows) -> Value:
    """Arguments: condition, value, condition, value, …, and the value otherwise if there is one."""
    pairs = len(call.args) // 2
    branches = [(call.args[2 * i], call.args[2 * i + 1]) for i in range(pairs)]
    otherwise = call.args[-1] if len(call.args) % 2 else Literal(call.data_type, True, None)
    return _choose(call, rows, branches, otherwise)


@lazy_function("If", result=_if_type, nullable=True)
def if_else(call: Call, rows: Rows) -> Value:
    return _choose(call, rows, [(call.args[0], call.args[1])], call.args[2])


def _choose(call: Call, rows: Rows, branches: Branches, otherwise: Expr) -> Value:
    target = to_arrow(call.data_type)
    # The first condition is evaluated for all rows in any case.
    reached_by_some = [*[expr for branch in branches for expr in branch][1:], otherwise]
    if any(may_raise(expr) for expr in reached_by_some):
        return _choose_lazily(rows, branches, otherwise, target)
    values = [_typed(rows.value(value), target) for value in (*(value for _, value in branches), otherwise)]
    if _is_text(target) and (chosen := choose_texts(_choice(rows, branches), values, target)) is not None:
        return chosen
    conditions = [as_array(rows.value(condition), rows.length) for condition, _ in branches]
    return as_array(pc.case_when(pc.make_struct(*conditions), *values), rows.length)


def _choice(rows: Rows, branches: Branches) -> Indices:
    """For each row the number of the first branch whose condition holds, or of what comes after the last."""
    compared = _compared([condition for condition, _ in branches])
    if compared is not None:
        subject, constants = compared
        return which_text(as_array(rows.value(subject), rows.length), constants, len(branches))
    choice = np.full(rows.length, len(branches), np.int64)
    for number in reversed(range(len(branches))):
        holds = as_array(rows.value(branches[number][0]), rows.length).fill_null(False)
        choice[holds.to_numpy(zero_copy_only=False)] = number
    return choice


def _compared(conditions: Sequence[Expr]) -> tuple[Expr, list[str]] | None:
    """One expression and the few texts with which each condition compares it, if they do nothing else."""
    constants: list[str] = []
    subject: Expr | None = None
    for condition in conditions:
        match condition:
            case Call(function="EqualTo", args=(Expr() as left, Literal(value=str(text)))):
                if len(constants) == FEW or (subject is not None and left != subject):
                    return None
                subject = left
                constants.append(text)
            case _:
                return None
    return None if subject is None else (subject, constants)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind))


def _typed(value: Value, target: pa.DataType) -> Value:
    if value.type == target:
        return value
    return value.cast(target) if isinstance(value, pa.Scalar) else renamed(value, target)


def _choose_lazily(rows: Rows, branches: Branches, otherwise: Expr, target: pa.DataType) -> pa.Array:
    left: Indices = np.arange(rows.length)
    taken: list[tuple[Indices, pa.Array]] = []
    for condition, value in branches:
        if len(left) == 0:
            break
        holds = as_array(rows.at(left).value(condition), len(left)).fill_null(False)
        mask = np.asarray(holds.to_numpy(zero_copy_only=False), np.bool_)
        _take(rows, left[mask], value, target, taken)
        left = left[~mask]
    _take(rows, left, otherwise, target, taken)
    return _gather(taken, rows.length, target)


def _take(
    rows: Rows, indices: Indices, value: Expr, target: pa.DataType, taken: list[tuple[Indices, pa.Array]]
) -> None:
    if len(indices):
        part = as_array(rows.at(indices).value(value), len(indices))
        taken.append((indices, _typed(part, target)))


def _gather(taken: list[tuple[Indices, pa.Array]], length: int, target: pa.DataType) -> pa.Array:
    """Puts values computed for disjoint sets of rows back into the order of the rows."""
    if not taken:
        return pa.nulls(length, target)
    position = np.empty(length, np.int64)
    position[np.concatenate([indices for indices, _ in taken])] = np.arange(length)
    return pa.concat_arrays([part for _, part in taken]).take(pa.array(position))


@lazy_function("Coalesce", result=_coalesce_type, nullable=None)
def coalesce(call: Call, rows: Rows) -> Value:
    target = to_arrow(call.data_type)
    if not any(may_raise(arg) for arg in call.args[1:]):
        return pc.coalesce(*[_typed(rows.value(arg), target) for arg in call.args])
    left: Indices = np.arange(rows.length)
    taken: list[tuple[Indices, pa.Array]] = []
    for number, arg in enumerate(call.args):
        if len(left) == 0:
            break
        part = _typed(as_array(rows.at(left).value(arg), len(left)), target)
        found = np.asarray(pc.is_valid(part).to_numpy(zero_copy_only=False), np.bool_)
        if number == len(call.args) - 1:
            found = np.ones(len(left), np.bool_)
        taken.append((left[found], part.filter(pa.array(found))))
        left = left[~found]
    return _gather(taken, rows.length, target)


def _in_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    return t.BooleanType()


@lazy_function("In", result=_in_type)
def contained(call: Call, rows: Rows) -> Value:
    """NULL where the value is, and where it is not found but NULL is among the candidates."""
    value, candidates = call.args[0], call.args[1:]
    if all(isinstance(candidate, Literal) for candidate in candidates) and not _is_nested(value):
        return _in_constants(rows.value(value), [c for c in candidates if isinstance(c, Literal)])
    if any(may_raise(candidate) for candidate in candidates[1:]):
        return rows.value(_as_disjunction(value, candidates))
    subject = rows.value(value)
    result: Value = pa.scalar(False)
    for candidate in candidates:
        result = pc.or_kleene(result, equal(subject, rows.value(candidate)))
    return result


def _is_nested(expr: Expr) -> bool:
    return isinstance(expr.data_type, (t.StructType, t.ArrayType, t.MapType))


def _as_disjunction(value: Expr, candidates: Sequence[Expr]) -> Expr:
    boolean = t.BooleanType()
    tests: list[Expr] = [Call(boolean, True, "EqualTo", (value, candidate)) for candidate in candidates]
    result = tests.pop()
    while tests:
        result = Call(boolean, True, "Or", (tests.pop(), result))
    return result


def _in_constants(subject: Value, candidates: list[Literal]) -> Value:
    known = [candidate.value for candidate in candidates if candidate.value is not None]
    wanted = pa.array(known, subject.type)
    if pa.types.is_floating(subject.type):
        # Arrow's hash keeps -0.0 and 0.0 apart; adding zero makes them one.
        zero = pa.scalar(0.0, subject.type)
        subject, wanted = pc.add(subject, zero), pc.add(wanted, zero)
    if isinstance(subject, pa.Array) and _is_text(subject.type) and len(known) <= FEW:
        found = pa.array(which_text(subject, known, -1) >= 0)
    else:
        found = pc.is_in(subject, value_set=wanted)
    unknown = pc.is_null(subject)
    if len(known) < len(candidates):
        unknown = pc.or_(unknown, pc.invert(found))
    return pc.if_else(unknown, pa.scalar(None, pa.bool_()), found)
