"""Generators: rows stay on the worker where they are."""

from __future__ import annotations

from penstock.circuit import operators as op
from penstock.sql import plan as p
from penstock.sql.planning.stream import PlannerScope, Stream, moved, schema_of

__all__ = ["generate", "repeat"]


def generate(scope: PlannerScope, plan: p.Generate) -> Stream:
    """One row for each element of an array or a map."""
    child = scope.compile(plan.child)
    operator = op.FlatMap(schema_of(plan), plan.array, plan.keep, plan.position, plan.inline, plan.outer)
    return Stream(scope.builder.add(operator, (child.node,)), _spread(child, plan.keep))


def repeat(scope: PlannerScope, plan: p.Repeat) -> Stream:
    """Each row several times."""
    child = scope.compile(plan.child)
    operator = op.Replicate(schema_of(plan), plan.times, plan.keep)
    return Stream(scope.builder.add(operator, (child.node,)), _spread(child, plan.keep))


def _spread(child: Stream, keep: tuple[int, ...]) -> tuple[int, ...] | None:
    return moved(child.partitioned_by, {ordinal: i for i, ordinal in reversed(list(enumerate(keep)))})
