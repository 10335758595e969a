"""The table of functions: what the importer, the evaluator and the documentation read.

A function is declared once, beside its kernel, with everything the rest needs to know: how its result is
typed, when the result can be NULL, whether it can raise, and which fields of Catalyst's JSON it keeps as
options. ``may_raise`` decides about laziness: a branch that cannot raise is computed for all rows at once,
which is faster than splitting the batch; a branch that can is computed only for the rows that reach it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Protocol, TypeAlias

import pyarrow as pa
from pyspark.sql.types import DataType

from penstock.expr.nodes import Call, Expr, postorder

__all__ = [
    "ANSI",
    "LEGACY",
    "TRY",
    "Function",
    "Kernel",
    "LazyKernel",
    "Rows",
    "TypeRule",
    "Value",
    "function",
    "lazy_function",
    "lookup",
    "may_raise",
    "names",
    "shortcut",
    "when_ansi",
]

ANSI, LEGACY, TRY = "ANSI", "LEGACY", "TRY"

Value: TypeAlias = "pa.Array | pa.Scalar"
"""An argument or result: one value per row, or one for all rows (a constant)."""


class Rows(Protocol):
    """The rows an expression is evaluated on, as a lazy function sees them."""

    length: int
    memo: dict[Hashable, Any]
    """What functions found out about these rows and may want again."""

    def value(self, expr: Expr) -> Value:
        """``expr`` on these rows."""
        ...

    def at(self, indices: Any) -> Rows:
        """Only the rows at ``indices``."""
        ...

    def bind(self, parents: Any, variables: Mapping[int, pa.Array]) -> Rows:
        """One row per parent, a row of these, with values for the variables of a lambda function."""
        ...

    def variable(self, number: int) -> pa.Array:
        """The values of a variable that was bound."""
        ...


Kernel = Callable[[Call, list[Value], int], Value]
"""Gets the call, its evaluated arguments (at least one is an array) and the number of rows."""

LazyKernel = Callable[[Call, Rows], Value]
"""Gets the call and the rows, and evaluates the arguments itself."""

Shortcut = Callable[[Call, Rows], "Value | None"]
"""Gets the call and the rows; None where the shorter way does not apply."""

TypeRule = Callable[[Sequence[Expr], Mapping[str, Any]], DataType]
"""The result type from the typed arguments and the options. May refuse with UnsupportedQuery."""

NullRule = Callable[[Sequence[Expr], Mapping[str, Any]], bool]
"""Whether the result can be NULL, from the same."""


@dataclass(frozen=True, slots=True)
class Function:
    """One function of Catalyst.

    ``strict`` functions are NULL whenever an argument is; ``nullable`` says more where that is not all:
    ``None`` (as the arguments are), ``True`` (it makes NULLs of its own), ``False`` (never NULL), or a rule.
    ``moded`` functions depend on the evaluation mode, ``zoned`` ones on the session's time zone, ``keyed``
    ones on what becomes of a key that stands twice in a map, ``printed`` ones on how Java prints numbers.
    A ``shortcut`` knows a call inside of the call, and that not all of what it makes is needed.
    """

    name: str
    result: TypeRule
    kernel: Kernel | None = None
    lazy: LazyKernel | None = None
    shortcut: Shortcut | None = None
    strict: bool = True
    nullable: bool | NullRule | None = None
    raises: Callable[[Call], bool] | bool = False
    options: tuple[str, ...] = ()
    moded: bool = False
    zoned: bool = False
    keyed: bool = False
    printed: bool = False

    def can_be_null(self, args: Sequence[Expr], options: Mapping[str, Any]) -> bool:
        """Whether a call with these arguments can be NULL; True when in doubt."""
        if self.nullable is None:
            return any(arg.nullable for arg in args)
        return self.nullable if isinstance(self.nullable, bool) else self.nullable(args, options)

    def may_raise(self, call: Call) -> bool:
        """Whether the function itself, not its arguments, can fail on some row."""
        return self.raises if isinstance(self.raises, bool) else self.raises(call)


_FUNCTIONS: dict[str, Function] = {}


def function(*names: str, result: TypeRule, **facts: Any) -> Callable[[Kernel], Kernel]:
    """Declares a kernel as the implementation of Catalyst's classes ``names``."""

    def declare(kernel: Kernel) -> Kernel:
        for name in names:
            _add(Function(name, result, kernel=kernel, **facts))
        return kernel

    return declare


def lazy_function(*names: str, result: TypeRule, **facts: Any) -> Callable[[LazyKernel], LazyKernel]:
    """The same for functions that decide which rows of an argument are evaluated."""

    def declare(kernel: LazyKernel) -> LazyKernel:
        for name in names:
            _add(Function(name, result, lazy=kernel, strict=False, **facts))
        return kernel

    return declare


def shortcut(*names: str) -> Callable[[Shortcut], Shortcut]:
    """Declares a shorter way for calls of functions that are declared already."""

    def declare(way: Shortcut) -> Shortcut:
        for name in names:
            _FUNCTIONS[name] = replace(_FUNCTIONS[name], shortcut=way)
        return way

    return declare


def _add(declared: Function) -> None:
    if declared.name in _FUNCTIONS:
        raise ValueError(f"{declared.name} is declared twice")
    _FUNCTIONS[declared.name] = declared


def lookup(name: str) -> Function | None:
    """The function of that name, or None if there is none."""
    return _FUNCTIONS.get(name)


def names() -> list[str]:
    """The names of all functions, sorted."""
    return sorted(_FUNCTIONS)


def when_ansi(call: Call) -> bool:
    """A ``raises`` rule: the function fails in ANSI mode only."""
    return bool(call.option("mode") == ANSI)


def may_raise(expr: Expr) -> bool:
    """Whether evaluating ``expr`` can fail on some row."""
    return isinstance(expr, Call) and _may_raise(expr)


@lru_cache(maxsize=1 << 16)
def _may_raise(call: Call) -> bool:
    """Is asked for many times, of the same calls, in every step."""
    for part in postorder(call):
        if isinstance(part, Call):
            declared = lookup(part.function)
            if declared is None or declared.may_raise(part):
                return True
    return False
