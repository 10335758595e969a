"""Importing generators: functions that make several rows of one.

``explode`` and its kin become a :class:`~penstock.sql.plan.Generate`, and so does ``unnest``, of several
arrays zipped into one. ``stack`` is a union of projections, ``json_tuple`` a projection, and the rows that
Catalyst repeats for INTERSECT ALL and EXCEPT ALL are a :class:`~penstock.sql.plan.Repeat`.
"""

from __future__ import annotations

from pyspark.sql.types import ArrayType, IntegerType, LongType, StringType

from penstock.errors import UnsupportedQuery
from penstock.expr.functions import lookup
from penstock.expr.nodes import Call, Column, Expr, Literal
from penstock.expr.types import type_from_json
from penstock.sql.imported import Imported, ImportScope, column
from penstock.sql.plan import Field, Generate, Repeat
from penstock.sql.refusals import place_of
from penstock.sql.relational import projected, union_of
from penstock.sql.tree import Node

__all__ = ["import_generate"]

_EXPLODING = {"Explode": False, "PosExplode": True, "Inline": False}


def import_generate(scope: ImportScope, node: Node) -> Imported:
    """``Generate``."""
    child = scope.plan(node.children[0])
    generator = node.expression("generator")
    assert generator is not None
    dropped = node.twin().unrequiredChildIndex()
    skipped = {int(dropped.apply(i)) for i in range(dropped.size())}
    keep = tuple(i for i in range(len(child.ids)) if i not in skipped)
    outputs = [item[0] for item in node.fields["generatorOutput"]]
    fields = tuple(
        Field(str(item["name"]), type_from_json(item["dataType"]), bool(item["nullable"])) for item in outputs
    )
    ids = (*(child.ids[i] for i in keep), *(int(item["exprId"]["id"]) for item in outputs))
    kept = tuple(child.plan.schema[i] for i in keep)
    args = tuple(scope.expr(arg, child.columns) for arg in generator.children)
    outer = bool(node.fields["outer"])
    if generator.kind in _EXPLODING:
        nullable = tuple(Field(f.name, f.data_type, f.nullable or outer) for f in fields)
        plan = Generate(
            (*kept, *nullable),
            child.plan,
            args[0],
            keep,
            _EXPLODING[generator.kind],
            generator.kind == "Inline" or not isinstance(args[0].data_type, ArrayType),
            outer,
        )
        return Imported(plan, ids)
    if generator.kind == "Unnest":
        ordinality = bool(generator.fields["withOrdinality"])
        return _unnested(scope, child, keep, args, fields, ids, ordinality=ordinality, outer=outer)
    if generator.kind == "Stack":
        return _stacked(child, keep, args, fields, ids)
    if generator.kind == "JsonTuple":
        return _json_fields(scope, generator, child, keep, fields, ids)
    if generator.kind == "ReplicateRows" and all(isinstance(arg, Column) for arg in args[1:]):
        ordinals = (*keep, *(arg.ordinal for arg in args[1:] if isinstance(arg, Column)))
        return Imported(Repeat((*kept, *fields), child.plan, args[0], ordinals), ids)
    raise UnsupportedQuery(
        f"the generator {generator.twin().prettyName()}",
        place=place_of(generator, scope.view),
        reason="not supported yet",
        advice="explode, posexplode, inline, unnest, stack and json_tuple are",
    )


def _unnested(
    scope: ImportScope,
    child: Imported,
    keep: tuple[int, ...],
    arrays: tuple[Expr, ...],
    fields: tuple[Field, ...],
    ids: tuple[int, ...],
    *,
    ordinality: bool,
    outer: bool,
) -> Imported:
    """``unnest(a, b, …) [WITH ORDINALITY]``: as many rows as the longest array has elements, NULL where a
    shorter one has none; an array that is NULL is an empty one. The ordinality counts from 1."""
    kept = tuple(child.plan.schema[i] for i in keep)
    elements = fields[: len(arrays)]
    array = arrays[0]
    if len(arrays) > 1:
        array = _zipped(tuple(map(_or_empty, arrays)))
    position = (Field("pos", IntegerType(), outer),) if ordinality else ()
    nullable = tuple(Field(f.name, f.data_type, f.nullable or outer) for f in elements)
    schema = (*kept, *position, *nullable)
    plan = Generate(schema, child.plan, array, keep, position=ordinality, inline=len(arrays) > 1, outer=outer)
    if not ordinality:
        return Imported(plan, ids)
    number = _counted_from_one(scope, column(len(kept), plan.schema[len(kept)]))
    through = [column(i, plan.schema[i]) for i in range(len(plan.schema)) if i != len(kept)]
    names = tuple(field.name for field in (*kept, *fields))
    return projected(Imported(plan, ()), (*through, number), names, ids)


def _or_empty(array: Expr) -> Expr:
    if not array.nullable:
        return array
    empty = Literal(array.data_type, False, ())
    return Call(array.data_type, False, "Coalesce", (array, empty))


def _zipped(arrays: tuple[Expr, ...]) -> Expr:
    function = lookup("ArraysZip")
    assert function is not None
    options = {"names": tuple(map(str, range(len(arrays))))}
    return Call(function.result(list(arrays), options), False, "ArraysZip", arrays, tuple(options.items()))


def _counted_from_one(scope: ImportScope, position: Column) -> Expr:
    cast = (("mode", "ANSI"), ("timezone", scope.timezone))
    long = Call(LongType(), position.nullable, "Cast", (position,), cast)
    return Call(LongType(), position.nullable, "Add", (long, Literal(LongType(), False, 1)), cast[:1])


def _json_fields(
    scope: ImportScope,
    generator: Node,
    child: Imported,
    keep: tuple[int, ...],
    fields: tuple[Field, ...],
    ids: tuple[int, ...],
) -> Imported:
    """``json_tuple``: always one row, so it is a projection of one function per field."""
    text, *names = (scope.expr(arg, child.columns) for arg in generator.children)
    through = tuple(column(i, child.plan.schema[i]) for i in keep)
    options = (("shortest", True),) if scope.shortest else ()
    calls = tuple(Call(StringType(), True, "JsonTuple", (text, name), options) for name in names)
    outputs = (*(child.plan.schema[i].name for i in keep), *(field.name for field in fields))
    return projected(child, (*through, *calls), outputs, ids)


def _stacked(
    child: Imported,
    keep: tuple[int, ...],
    args: tuple[Expr, ...],
    fields: tuple[Field, ...],
    ids: tuple[int, ...],
) -> Imported:
    """``stack(n, …)``: n rows of each, that is n projections; places that are left over are NULL."""
    count, *values = args
    assert isinstance(count, Literal)
    through = tuple(column(i, child.plan.schema[i]) for i in keep)
    names = (*(child.plan.schema[i].name for i in keep), *(field.name for field in fields))
    values += [
        Literal(field.data_type, True, None) for field in fields[len(values) % len(fields) or len(fields) :]
    ]
    rows = [tuple(values[i * len(fields) : (i + 1) * len(fields)]) for i in range(int(count.value))]
    nothing = tuple(Literal(field.data_type, True, None) for field in fields)
    parts = [projected(child, (*through, *(row or nothing)), names, ids) for row in rows]
    return parts[0] if len(parts) == 1 else union_of(parts, ids, names)
