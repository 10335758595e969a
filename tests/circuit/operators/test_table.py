"""Tables against a dictionary (keyed) and a multiset (keyless), with every operation in every order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.circuit.delta import Delta
from penstock.circuit.operation import Operation
from penstock.circuit.operators import Table
from penstock.errors import DuplicateKey, MissingRow
from penstock.zset import Hashes, ReferenceZSet, hash_columns
from tests.circuit.alone import SEED, Alone, contents, delta, meaning

SCHEMA = pa.schema([("v", pa.string()), ("id", pa.int64())])
UPSERT, DELETE, INSERT = Operation.UPSERT, Operation.DELETE, Operation.INSERT
KEYED = Table(SCHEMA, "t", (1,))
KEYLESS = Table(SCHEMA, "t", ())

operation = st.tuples(
    st.sampled_from([UPSERT, UPSERT, DELETE, INSERT]), st.integers(0, 3), st.sampled_from("ab")
)


def _push(operations: list[tuple[int, int, str]], *, collide: bool = False) -> Delta:
    part = delta(SCHEMA, [((v if op != DELETE else None, k), op) for op, k, v in operations], (1,))
    assert part.keys is not None
    keys = Hashes(part.keys.hi & np.uint64(1), part.keys.lo) if collide else part.keys
    zset = part.zset.with_weights(np.ones(len(part), np.int64))
    return Delta(zset, keys, operations=part.zset.weights.astype(np.int8))


def _apply(held: dict[int, str], operations: list[tuple[int, int, str]]) -> tuple[dict[int, str], int] | None:
    """The dictionary after the operations and the number of absent deletes; None if an insert clashes."""
    held, absent = dict(held), 0
    for op, key, value in operations:
        if op == DELETE:
            absent += held.pop(key, None) is None
        elif op == INSERT and key in held:
            return None
        else:
            held[key] = value
    return held, absent


@pytest.mark.parametrize("collide", [False, True], ids=["", "colliding"])
@given(steps=st.lists(st.lists(operation, min_size=1, max_size=8), max_size=6))
@settings(deadline=None, max_examples=48)
def test_a_keyed_table_is_a_dictionary(steps: list[list[tuple[int, int, str]]], collide: bool) -> None:
    alone = Alone(KEYED)
    held: dict[int, str] = {}
    absent = 0
    for operations in steps:
        wanted = _apply(held, operations)
        if wanted is None:
            with pytest.raises(DuplicateKey) as clash:
                alone.step(_push(operations, collide=collide))
            hashes = {int(h) for h in _push(operations, collide=collide).keys.lo}  # type: ignore[union-attr]
            assert clash.value.lo in hashes
            alone = _again(alone)
            continue
        before, (held, more) = held, wanted
        absent += more
        out = alone.step(_push(operations, collide=collide))
        rows = ReferenceZSet.of_rows(((value, key), 1) for key, value in held.items())
        assert contents(out) == rows
        assert meaning(out) == rows.subtract(
            ReferenceZSet.of_rows(((value, key), 1) for key, value in before.items())
        )
        assert len(out) == len(meaning(out))  # consolidated: a row that was replaced by itself is not there
        assert alone.counters["absent_keys:t"] == absent


def _again(alone: Alone) -> Alone:
    """What a worker does after an aborted step: the same state, nothing staged."""
    fresh = Alone(alone.operator)
    fresh.spines, fresh.counters = alone.spines, alone.counters
    return fresh


def test_upsert_delete_and_insert_of_one_key_in_one_step_keeps_the_last() -> None:
    alone = Alone(KEYED)
    out = alone.step(_push([(UPSERT, 1, "a"), (DELETE, 1, ""), (INSERT, 1, "b"), (DELETE, 2, "")]))
    assert contents(out) == ReferenceZSet({("b", 1): 1})
    assert alone.counters["absent_keys:t"] == 1
    assert len(alone.step(_push([(DELETE, 1, ""), (INSERT, 1, "b")]))) == 0  # as it was: nothing to say


def test_a_duplicate_insert_names_the_key() -> None:
    alone = Alone(KEYED)
    alone.step(_push([(INSERT, 1, "a"), (INSERT, 2, "a")]))
    with pytest.raises(DuplicateKey) as clash:
        alone.step(_push([(INSERT, 3, "x"), (INSERT, 2, "y")]))
    key = hash_columns([pa.array([2])], 1, SEED)
    assert (clash.value.table, clash.value.hi, clash.value.lo) == ("t", int(key.hi[0]), int(key.lo[0]))


row = st.tuples(st.sampled_from(["a", None]), st.one_of(st.none(), st.integers(0, 2)))


@given(
    steps=st.lists(st.lists(st.tuples(row, st.sampled_from([1, 1, -1])), min_size=1, max_size=6), max_size=6)
)
@settings(deadline=None, max_examples=48)
def test_a_keyless_table_is_a_multiset_that_refuses_to_owe_rows(steps: list[list[Any]]) -> None:
    alone = Alone(KEYLESS)
    held = ReferenceZSet({})
    for change in steps:
        wanted = held.add(ReferenceZSet.of_rows(change))
        part = delta(SCHEMA, change, (0, 1))
        if any(weight < 0 for weight in wanted.weights.values()):
            with pytest.raises(MissingRow):
                alone.step(part)
            alone = _again(alone)
            continue
        out = alone.step(part)
        assert contents(out) == wanted
        assert meaning(out) == wanted.subtract(held)
        held = wanted


def test_an_opening_step_emits_the_contents_and_changes_nothing() -> None:
    keyed = _push([(UPSERT, 1, "a"), (UPSERT, 2, "b")]), _push([(DELETE, 2, ""), (UPSERT, 3, "c")])
    keyless = (
        delta(SCHEMA, [(("a", 1), 1), (("b", 2), 1)], (0, 1)),
        delta(SCHEMA, [(("b", 2), -1), (("c", 3), 1)], (0, 1)),
    )
    for table, steps in ((KEYED, keyed), (KEYLESS, keyless)):
        alone = Alone(table)
        for step in steps:
            alone.step(step)
        alone.opening = True
        opened = alone.step(delta(SCHEMA, [], (1,)))
        assert meaning(opened) == ReferenceZSet({("a", 1): 1, ("c", 3): 1})
        assert contents(opened) == meaning(opened)
        alone.opening = False
        assert contents(alone.operator.idle(alone)) == meaning(opened)


def test_an_empty_table_opens_empty() -> None:
    for table in (KEYED, KEYLESS):
        alone = Alone(table)
        alone.opening = True
        assert len(alone.step(delta(SCHEMA, [], (1,)))) == 0
