"""Evaluates expressions on batches of Arrow columns.

The result is what Spark computes row by row, bit for bit, computed column by column. Constants stay
constants until the end, so that a literal costs nothing per row. Cost: one pass per call in the tree, and
one for calls that are equal; a lazy branch that may raise costs a ``take`` of the columns it reads, for the
rows that reach it.

Kernels know 32-bit offsets only; a column that has outgrown them (:mod:`penstock.zset.width`) is evaluated
piece by piece.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.errors import PenstockError
from penstock.expr.depth import room_for
from penstock.expr.functions import lookup
from penstock.expr.functions.lists import renamed
from penstock.expr.functions.registry import Rows, Value, may_raise
from penstock.expr.functions.vectors import as_array, null_of
from penstock.expr.nodes import Call, Column, Expr, Literal, columns_read
from penstock.expr.types import to_arrow
from penstock.zset.width import concat, exceeds, is_wide, narrow_pieces

__all__ = ["Evaluator", "evaluate", "may_raise"]

_UNREAD = pa.nulls(0)


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
        if ordinal in self._taken:
            return self._taken[ordinal]
        column = self._columns[ordinal]
        if exceeds(column) and is_wide(column):
            raise _TooWideError
        if self._indices is None:
            return column
        self._taken[ordinal] = taken = column.take(pa.array(self._indices))
        return taken

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
        self._depth = max((expr.depth for expr in exprs), default=0)

    def __reduce__(self) -> tuple[type[Evaluator], tuple[Expr, ...]]:
        """Calls are known by identity here, and a copy in another process has others."""
        return Evaluator, self._exprs

    def __call__(self, columns: Sequence[pa.Array], length: int) -> tuple[pa.Array, ...]:
        """The values for each of ``length`` rows, in the Arrow types of the expressions.

        Raises EvaluationError with Spark's condition where Spark's ANSI mode fails.
        """
        with room_for(self._depth):
            return _values(self._exprs, self._types, columns, length, self._repeated)


def evaluate(expr: Expr, columns: Sequence[pa.Array], length: int) -> pa.Array:
    """The value of one expression, as :class:`Evaluator` has it, without looking for what is equal in it."""
    with room_for(expr.depth):
        return _values([expr], [to_arrow(expr.data_type)], columns, length)[0]


class _TooWideError(Exception):
    """A kernel was about to see a wide column."""


def _values(
    exprs: Sequence[Expr],
    types: Sequence[pa.DataType],
    columns: Sequence[pa.Array],
    length: int,
    repeated: Mapping[int, int] | None = None,
) -> tuple[pa.Array, ...]:
    try:
        batch = Batch(columns, length, repeated=repeated)
        return tuple(_column(batch, expr, kind) for expr, kind in zip(exprs, types, strict=True))
    except _TooWideError:
        return _values_in_pieces(exprs, types, columns, length)


def _values_in_pieces(
    exprs: Sequence[Expr], types: Sequence[pa.DataType], columns: Sequence[pa.Array], length: int
) -> tuple[pa.Array, ...]:
    """The same where columns are wide: kernels are given so many rows at a time that none is, and columns
    that are only passed on are not touched."""
    calls = [expr for expr in exprs if not isinstance(expr, Column)]
    evaluator, read = Evaluator(*calls), sorted(columns_read(*calls))
    parts = []
    for start, stop, some in narrow_pieces([columns[i] for i in read], length):
        place = dict(zip(read, some, strict=True))
        parts.append(evaluator([place.get(i, _UNREAD) for i in range(len(columns))], stop - start))
    found = map(concat, zip(*parts, strict=True))
    return tuple(columns[expr.ordinal] if isinstance(expr, Column) else next(found) for expr in exprs)


def _column(batch: Batch, expr: Expr, kind: pa.DataType) -> pa.Array:
    # Only names of nested fields can differ: every kernel gives the type its call carries.
    return renamed(as_array(batch.value(expr), batch.length), kind)


def _repeated(exprs: Sequence[Expr]) -> dict[int, int]:
    """The numbers of calls, by identity, that have an equal elsewhere in the expressions. What is inside of
    the second and later of equal calls is not computed, and so has no say."""
    places: dict[Call, list[int]] = {}

    rest = list(reversed(exprs))
    while rest:
        part = rest.pop()
        if isinstance(part, Call):
            found = places.setdefault(part, [])
            found.append(id(part))
            if len(found) == 1:
                rest += reversed(part.args)
    return {
        place: number for number, found in enumerate(places.values()) if len(found) > 1 for place in found
    }
