"""Which buffers the columns of a schema have, for the writer and the reader of blocks.

Types are walked depth first. Each is a *node*, with its validity and its own buffers, followed by those of
its children: the elements of a list, the fields of a struct, the entries of a map.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from penstock.storage.block_index import Role

__all__ = ["Place", "buffer_layout", "can_be_blocked", "children_of", "has_offsets"]


@dataclass(frozen=True, slots=True)
class Place:
    """A buffer's place in the columns of a batch; ``width`` in bytes of fixed values and offsets."""

    column: int
    node: int
    role: Role
    width: int
    is_nested: bool


def buffer_layout(schema: pa.Schema, nulls: Sequence[int]) -> list[Place]:
    """The buffers of all columns, in order. A column without NULLs needs no validity."""
    found: list[Place] = []
    node = 0
    for column, field in enumerate(schema):
        for kind, is_nested, is_nullable in _nodes(field.type):
            if is_nullable and (is_nested or nulls[column]):
                found.append(Place(column, node, Role.VALIDITY, 0, is_nested))
            found += [Place(column, node, role, width, is_nested) for role, width in _roles(kind)]
            node += 1
    return found


def can_be_blocked(schema: pa.Schema) -> bool:
    """Whether all columns have types that can be stored as blocks."""
    return all(_is_known(kind) for kind in schema.types)


def children_of(kind: pa.DataType) -> list[pa.Field]:
    """The fields that the children of a type have."""
    if pa.types.is_struct(kind):
        return list(kind)
    if pa.types.is_map(kind):
        entries = pa.struct([kind.key_field, kind.item_field])
        return [pa.field("entries", entries, nullable=False)]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [kind.value_field]
    return []


def has_offsets(kind: pa.DataType) -> bool:
    """Whether the children of a nested type are found by offsets, and not row by row."""
    return not pa.types.is_struct(kind)


def _nodes(kind: pa.DataType, is_nullable: bool = True) -> Iterator[tuple[pa.DataType, bool, bool]]:
    """A type and those within it, depth first: type, whether it is or belongs to a nested one, and whether
    it may be NULL."""
    children = children_of(kind)
    yield kind, bool(children) or pa.types.is_struct(kind), is_nullable and not pa.types.is_null(kind)
    for child in children:
        for inner, _, inner_is_nullable in _nodes(child.type, child.nullable):
            yield inner, True, inner_is_nullable


def _roles(kind: pa.DataType) -> list[tuple[Role, int]]:
    if pa.types.is_null(kind) or pa.types.is_struct(kind):
        return []
    if pa.types.is_boolean(kind):
        return [(Role.BITS, 0)]
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return [(Role.OFFSETS, 4), (Role.DATA, 1)]
    if pa.types.is_large_string(kind) or pa.types.is_large_binary(kind):
        return [(Role.OFFSETS, 8), (Role.DATA, 1)]
    if children_of(kind):
        return [(Role.OFFSETS, 8 if pa.types.is_large_list(kind) else 4)]
    return [(Role.FIXED, kind.bit_width // 8)]


def _is_known(kind: pa.DataType) -> bool:
    if children := children_of(kind):
        return all(_is_known(child.type) for child in children)
    if pa.types.is_nested(kind):
        return bool(pa.types.is_struct(kind))  # without fields
    if pa.types.is_dictionary(kind):
        return False
    try:
        _roles(kind)
    except ValueError:  # a type of another layout
        return False
    return True
