"""An error that crossed processes is the same error, and never anything but one of ours."""

from __future__ import annotations

import json

import pytest

from penstock.errors import (
    CorruptionError,
    EvaluationError,
    InputError,
    PenstockError,
    PipelineError,
    UnsupportedQuery,
)
from penstock.spark.faults import describe_fault, rebuild_fault, spark_reason


@pytest.mark.parametrize(
    "error",
    [
        EvaluationError("DIVIDE_BY_ZERO", "Division by zero", view="v", expression="a / b"),
        InputError("orders", "NULL in a key", row=3, column="id"),
        UnsupportedQuery("rand()", place="view v", reason="not deterministic", advice="Store it"),
        CorruptionError("segment x, block 3"),
        PipelineError("no"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_class_message_and_attributes_survive(error: PenstockError) -> None:
    rebuilt = rebuild_fault(json.loads(json.dumps(describe_fault(error))), worker=1)
    assert type(rebuilt) is type(error)
    assert str(rebuilt) == str(error)
    assert vars(rebuilt) == vars(error)


def test_a_stranger_becomes_a_pipeline_error_that_quotes_the_traceback() -> None:
    try:
        {}["missing"]
    except KeyError as stranger:
        fault = describe_fault(stranger)
    rebuilt = rebuild_fault(fault, worker=4)
    assert type(rebuilt) is PipelineError
    assert "worker 4" in str(rebuilt) and "test_faults.py" in str(rebuilt) and "missing" in str(rebuilt)


@pytest.mark.parametrize("name", ["SystemExit", "__all__", "annotations", None])
def test_only_classes_of_ours_are_ever_built(name: str | None) -> None:
    fault = {"type": name, "attributes": {}, "message": "m", "traceback": "t"}
    assert type(rebuild_fault(fault, worker=0)) is PipelineError


def test_the_stack_of_the_jvm_is_left_out() -> None:
    said = "Job aborted: no memory\n\tat org.apache.A.b(A.scala:1)\n\t... 3 more\nDriver stacktrace:"
    assert spark_reason(RuntimeError(said)) == "Job aborted: no memory\nDriver stacktrace:"
