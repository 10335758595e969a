"""The input of a step: what is logged is what runs, also from logs of earlier versions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from penstock.circuit.delta import Delta
from penstock.circuit.operation import Operation
from penstock.pipeline.step_input import StepInput, pushed
from penstock.zset import ZSet
from tests.schedule.inline import SEED
from tests.schedule.shop import Shop, T, U, program

PROGRAM = program()


def _logged(given: StepInput) -> StepInput:
    content = b"".join(bytes(part) for part in given.to_parts(PROGRAM))
    return StepInput.from_buffer(pa.py_buffer(content), PROGRAM)


def _operations(delta: Delta) -> Sequence[Operation]:
    assert delta.operations is not None
    return [Operation(code) for code in delta.operations.tolist()]


def test_a_logged_step_has_the_same_rows_weights_and_operations() -> None:
    given = Shop().input(
        (T, [(1, "a", 1.0)], Operation.INSERT),
        (T, [(1, "b", 2.0), (2, "c", None)], Operation.UPSERT),
        (T, [(2, None, None)], Operation.DELETE),
        (U, [("k", 1), ("k", 1)], Operation.INSERT),
        (U, [("k", 1)], Operation.DELETE),
    )
    again = _logged(given)
    wanted = [Operation.INSERT, Operation.UPSERT, Operation.UPSERT, Operation.DELETE]
    for step_input in (given, again):
        assert _operations(step_input.tables["t"]) == wanted
        assert step_input.tables["t"].zset.weights.tolist() == [1, 1, 1, 1]
        assert step_input.tables["u"].operations is None
        assert step_input.tables["u"].zset.weights.tolist() == [1, 1, -1]
    for name, delta in given.tables.items():
        assert again.tables[name].encode().equals(delta.encode())


def test_logs_of_earlier_versions_have_the_operation_in_the_weight() -> None:
    schema = T.arrow_schema
    columns = [
        pa.array(values, f.type)
        for values, f in zip([[1, 2, 3], ["a", "b", None], [1.0, 2.0, None]], schema, strict=True)
    ]
    new = pushed(T, pa.RecordBatch.from_arrays(columns, schema=schema), Operation.UPSERT, SEED)
    old = Delta(ZSet(schema, tuple(columns), np.array([2, 1, -1])), new.keys)
    read = _logged(StepInput(0, {"t": old})).tables["t"]
    assert _operations(read) == [Operation.INSERT, Operation.UPSERT, Operation.DELETE]
    assert read.zset.weights.tolist() == [1, 1, 1]


@pytest.mark.parametrize("operation", list(Operation))
def test_a_table_without_a_key_gets_weights(operation: Operation) -> None:
    columns = [pa.array(["k"]), pa.array([1], pa.int64())]
    delta = pushed(U, pa.RecordBatch.from_arrays(columns, schema=U.arrow_schema), operation, SEED)
    assert delta.operations is None
    assert delta.zset.weights.tolist() == [-1 if operation is Operation.DELETE else 1]
