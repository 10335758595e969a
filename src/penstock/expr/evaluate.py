"""Evaluates expressions on batches of Arrow columns.

The result is what Spark computes row by row, bit for bit, computed column by column. Constants stay
constants until the end, so that a literal costs nothing per row. Cost: one pass per call in the tree, and
one for calls that are equal; a lazy branch that may raise costs a ``take`` of the columns it reads, for the
rows that reach it.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.errors import PenstockError
from penstock.expr.functions import lookup
from penstock.expr.functions.lists import renamed
from penstock.expr.functions.registry import Rows, Value, may_raise
from penstock.expr.functions.vectors import as_array, null_of
from penstock.expr.nodes import Call, Column, Expr, Literal
from penstock.expr.types import to_arrow

__all__ = ["Evaluator", "evaluate", "may_raise"]


class Batch:
    """Columns and a number of rows, on which expressions are evaluated. Implements ``Rows``.

    Inside of a lambda function a row is an element of a list: the columns are those of the element's row,
    and what the function calls its arguments are further columns, the *variables*. ``repeated`` gives calls
    that stand in several places, by identity, the number that equal ones share.
    """

    __slots__ = ("_columns", "_indices", "_known", "_repeated", "_taken", "_variables", "length", "memo")

    def __init__(
        self,
        columns: Sequence[pa.Array],
        length: int,
        indices: npt.NDArray[np.int64] | None = None,
        variables: Mapping[int, pa.Array] | None = None,
        repeated: Mapping[int, int] | None = None,
    ) -> None:
        self.length = length
        self._columns = columns
        self._indices = indices
        self._variables = variables or {}
        self._taken: dict[int, pa.Array] = {}
        self._repeated = repeated or {}
        self._known: dict[int, Value] = {}
        self.memo: dict[Hashable, Any] = {}

    def column(self, ordinal: int) -> pa.Array:
        """The column at ``ordinal``, taken on first use when these are selected rows of a batch."""
        if self._indices is None:
            return self._columns[ordinal]
        if ordinal not in self._taken:
            self._taken[ordinal] = self._columns[ordinal].take(pa.array(self._indices))
        return self._taken[ordinal]

    def variable(self, number: int) -> pa.Array:
        """The values of a variable that was bound."""
        return self._variables[number]

    def at(self, indices: Any) -> Rows:
        """The rows at ``indices`` of these rows."""
        return self.bind(indices, {})

    def bind(self, parents: Any, variables: Mapping[int, pa.Array]) -> Rows:
        """One row per parent, a row of these, with values for further variables."""
        chosen = np.asarray(parents, np.int64)
        kept = {
            number: values.take(pa.array(chosen))
            for number, values in self._variables.items()
            if number not in variables
        }
        indices = chosen if self._indices is None else self._indices[chosen]
        return Batch(self._columns, len(chosen), indices, {**kept, **variables}, self._repeated)

    def value(self, expr: Expr) -> Value:
        """``expr`` on these rows, as an array or, where it is the same for all rows, a scalar."""
        if isinstance(expr, Column):
            return self.column(expr.ordinal)
        if isinstance(expr, Literal):
            return pa.scalar(expr.value, to_arrow(expr.data_type))
        if not isinstance(expr, Call):
            raise PenstockError(f"{type(expr).__name__} is not an expression that can be evaluated")
        number = self._repeated.get(id(expr))
        if number is None:
            return self._called(expr)
        if number not in self._known:
            self._known[number] = self._called(expr)
        return self._known[number]

    def _called(self, expr: Call) -> Value:
        function = lookup(expr.function)
        if function is None:
            raise PenstockError(f"there is no function {expr.function}")
        if function.lazy is not None:
            return function.lazy(expr, self)
        if function.shortcut is not None and (value := function.shortcut(expr, self)) is not None:
            return value
        assert function.kernel is not None
        args = [self.value(arg) for arg in expr.args]
        if function.strict and any(isinstance(arg, pa.Scalar) and not arg.is_valid for arg in args):
            return null_of(expr)
        if args and all(isinstance(arg, pa.Scalar) for arg in args):
            # Kernels may rely on one argument being an array; constants take the same way, one row long.
            result = function.kernel(expr, [as_array(arg, 1) for arg in args], 1)
            return result if isinstance(result, pa.Scalar) else result[0]
        return function.kernel(expr, args, self.length)


class Evaluator:
    """Expressions that are evaluated on the same rows: a call that stands in several places of them is
    computed once.

    Which calls are equal is found out when the evaluator is made. Comparing expressions in every step would
    cost more than evaluating some of them.
    """

    def __init__(self, *exprs: Expr) -> None:
        self._exprs = exprs
        self._types = [to_arrow(expr.data_type) for expr in exprs]
        self._repeated = _repeated(exprs)

    def __reduce__(self) -> tuple[type[Evaluator], tuple[Expr, ...]]:
        """Calls are known by identity here, and a copy in another process has others."""
        return Evaluator, self._exprs

    def __call__(self, columns: Sequence[pa.Array], length: int) -> tuple[pa.Array, ...]:
        """The values for each of ``length`` rows, in the Arrow types of the expressions.

        Raises EvaluationError with Spark's condition where Spark's ANSI mode fails.
        """
        batch = Batch(columns, length, repeated=self._repeated)
        return tuple(_column(batch, expr, kind) for expr, kind in zip(self._exprs, self._types, strict=True))


def evaluate(expr: Expr, columns: Sequence[pa.Array], length: int) -> pa.Array:
    """The value of one expression, as :class:`Evaluator` has it, without looking for what is equal in it."""
    return _column(Batch(columns, length), expr, to_arrow(expr.data_type))


def _column(batch: Batch, expr: Expr, kind: pa.DataType) -> pa.Array:
    # Only names of nested fields can differ: every kernel gives the type its call carries.
    return renamed(as_array(batch.value(expr), batch.length), kind)


def _repeated(exprs: Sequence[Expr]) -> dict[int, int]:
    """The numbers of calls, by identity, that have an equal elsewhere in the expressions. What is inside of
    the second and later of equal calls is not computed, and so has no say."""
    places: dict[Call, list[int]] = {}

    def visit(expr: Expr) -> None:
        if not isinstance(expr, Call):
            return
        found = places.setdefault(expr, [])
        found.append(id(expr))
        if len(found) == 1:
            for arg in expr.args:
                visit(arg)

    for expr in exprs:
        visit(expr)
    return {
        place: number for number, found in enumerate(places.values()) if len(found) > 1 for place in found
    }
