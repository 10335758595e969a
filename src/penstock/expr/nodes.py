"""Scalar expressions as frozen trees, bound to column positions.

An expression is one of three nodes. ``Column`` reads a column of the input by position, ``Literal`` is a
constant, and ``Call`` applies a named function to arguments. Names of functions are Catalyst's class
names (``Add``, ``EqualTo``, ``Substring``), because Catalyst has already resolved, typed and coerced the
query: a ``Call`` carries its result type and needs no further analysis.

Two structurally equal expressions are equal as Python objects, which is what lets the planner share
identical subplans between views.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql.types import DataType

__all__ = ["Call", "Column", "Expr", "Literal", "columns_read", "postorder", "rewritten"]


@dataclass(frozen=True, slots=True)
class Expr:
    """Base of all expressions: knows its Spark type and whether it can be NULL."""

    data_type: DataType
    nullable: bool

    @property
    def depth(self) -> int:
        """How many calls are nested in each other, at most."""
        return 0

    def __str__(self) -> str:
        """The expression as SQL, for people. (Imported late: the text is written in terms of nodes.)"""
        from penstock.expr.text import sql_text

        return sql_text(self)


@dataclass(frozen=True, slots=True)
class Column(Expr):
    """The value of the input's column at ``ordinal``. ``name`` is for people only."""

    ordinal: int
    name: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Literal(Expr):
    """A constant. ``value`` is the plain Python value that Arrow would take for this type, or None.

    Constants are equal if they are written alike. Python's own equality takes -0.0 for 0.0, which a sum or a
    product tells apart, and NaN for a stranger to itself.
    """

    value: Any

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Literal)
            and self.data_type == other.data_type
            and repr(self.value) == repr(other.value)
        )

    def __hash__(self) -> int:
        return hash((self.data_type, repr(self.value)))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Call(Expr):
    """``function`` applied to ``args``. ``options`` holds what Catalyst keeps beside the arguments
    (time zone, escape character, evaluation mode), as sorted ``(name, value)`` pairs.

    Hash and depth are found out once, when the call is made of its arguments, so that neither costs a walk
    over the tree; text and pickled form are made without recursion, however deep the tree is.
    """

    function: str
    args: tuple[Expr, ...]
    options: tuple[tuple[str, Any], ...] = ()
    _hash: int = field(init=False)
    _depth: int = field(init=False)

    def __post_init__(self) -> None:
        parts = (self.function, self.data_type, self.nullable, self.args, self.options)
        object.__setattr__(self, "_hash", hash(parts))
        object.__setattr__(self, "_depth", 1 + max((arg.depth for arg in self.args), default=0))

    @property
    def depth(self) -> int:
        return self._depth

    def option(self, name: str, default: Any = None) -> Any:
        """The value of one option, or ``default``."""
        for key, value in self.options:
            if key == name:
                return value
        return default

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Call) or self._hash != other._hash:
            return False
        return (self.function, self.data_type, self.nullable, self.options, self.args) == (
            *(other.function, other.data_type, other.nullable, other.options),
            other.args,
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        """As dataclasses print themselves: the text is part of what names an operator's state on disk."""
        texts: list[str] = []
        rest: list[Expr | str] = [self]
        while rest:
            part = rest.pop()
            if isinstance(part, Call):
                rest += reversed(_spelled(part))
            else:
                texts.append(part if isinstance(part, str) else repr(part))
        return "".join(texts)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (_pickled(self),)


def _spelled(call: Call) -> list[Expr | str]:
    """A call's text, with its arguments in their places."""
    head = (
        f"Call(data_type={call.data_type!r}, nullable={call.nullable!r}, function={call.function!r}, args=("
    )
    parts: list[Expr | str] = [head]
    for number, arg in enumerate(call.args):
        parts += [", ", arg] if number else [arg]
    parts.append(f"{',' * (len(call.args) == 1)}), options={call.options!r})")
    return parts


_Flat = tuple[DataType, bool, str, tuple[int, ...], tuple[tuple[str, Any], ...]]


def _pickled(call: Call) -> list[Expr | _Flat]:
    """The parts of a tree, arguments first; a call names its arguments by their places in the list."""
    parts = list(postorder(call))
    places = {id(part): place for place, part in enumerate(parts)}
    return [
        (part.data_type, part.nullable, part.function, tuple(places[id(a)] for a in part.args), part.options)
        if isinstance(part, Call)
        else part
        for part in parts
    ]


def _unpickled(flat: list[Expr | _Flat]) -> Expr:
    parts: list[Expr] = []
    for item in flat:
        if isinstance(item, Expr):
            parts.append(item)
        else:
            data_type, nullable, function, args, options = item
            parts.append(Call(data_type, nullable, function, tuple(parts[place] for place in args), options))
    return parts[-1]


# ---- walking over trees, without recursion -------------------------------------------------------------


def postorder(*exprs: Expr) -> Iterator[Expr]:
    """The expressions and all their parts, each behind its arguments, and each object once."""
    seen: set[int] = set()
    rest = [(expr, False) for expr in reversed(exprs)]
    while rest:
        part, entered = rest.pop()
        if entered:
            yield part
        elif id(part) not in seen:
            seen.add(id(part))
            rest.append((part, True))
            if isinstance(part, Call):
                rest += [(arg, False) for arg in reversed(part.args)]


def rewritten(expr: Expr, rule: Callable[[Expr], Expr | None]) -> Expr:
    """The expression with each part for which ``rule`` gives another one replaced by that, from the top down:
    inside of what is replaced nothing is looked for."""
    done: dict[int, Expr] = {}
    rest = [(expr, False)]
    while rest:
        part, entered = rest.pop()
        if entered:
            assert isinstance(part, Call)
            done[id(part)] = replace(part, args=tuple(done[id(arg)] for arg in part.args))
        elif id(part) not in done:
            other = rule(part)
            if other is None and isinstance(part, Call) and part.args:
                rest.append((part, True))
                rest += [(arg, False) for arg in part.args]
            else:
                done[id(part)] = part if other is None else other
    return done[id(expr)]


def columns_read(*exprs: Expr) -> set[int]:
    """The columns that expressions read."""
    return {part.ordinal for part in postorder(*exprs) if isinstance(part, Column)}
