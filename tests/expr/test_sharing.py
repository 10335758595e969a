"""What stands in several places is computed once, and only if it is really the same."""

from __future__ import annotations

import copy
import sys
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import types as t

from penstock.errors import EvaluationError
from penstock.expr import Call, Column, Evaluator, Literal
from penstock.expr.functions import Function, lookup
from penstock.expr.nodes import Expr

TEXT = Column(t.StringType(), True, 0, "s")
NUMBER = Column(t.DoubleType(), True, 0, "x")
WHOLE = Column(t.IntegerType(), True, 0, "n")


def upper(text: Expr) -> Call:
    return Call(t.StringType(), True, "Upper", (text,))


def length(text: Expr) -> Call:
    return Call(t.IntegerType(), True, "Length", (text,))


def times(left: Expr, right: Expr) -> Call:
    return Call(t.DoubleType(), True, "Multiply", (left, right), (("mode", "ANSI"),))


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often the functions were looked up, which is done for every evaluation."""
    counter: Counter[str] = Counter()

    def counted(name: str) -> Function | None:
        counter[name] += 1
        return lookup(name)

    monkeypatch.setattr(sys.modules["penstock.expr.evaluate"], "lookup", counted)
    return counter


def test_a_call_in_several_places_is_computed_once(called: Counter[str]) -> None:
    evaluator = Evaluator(upper(TEXT), length(upper(TEXT)), upper(upper(TEXT)), length(upper(TEXT)), TEXT)
    values = evaluator([pa.array(["ab", None])], 2)
    assert [value.to_pylist() for value in values] == [
        ["AB", None],
        [2, None],
        ["AB", None],
        [2, None],
        ["ab", None],
    ]
    assert called == {"Upper": 2, "Length": 1}


def test_each_batch_has_values_of_its_own() -> None:
    evaluator = Evaluator(upper(TEXT), upper(TEXT))
    assert [v.to_pylist() for v in evaluator([pa.array(["a"])], 1)] == [["A"]] * 2
    assert [v.to_pylist() for v in evaluator([pa.array(["b", "c"])], 2)] == [["B", "C"]] * 2


def test_a_copy_in_another_place_shares_what_the_original_does(called: Counter[str]) -> None:
    evaluator = copy.deepcopy(Evaluator(upper(TEXT), upper(TEXT)))
    assert [v.to_pylist() for v in evaluator([pa.array(["a"])], 1)] == [["A"]] * 2
    assert called == {"Upper": 1}


def test_zeros_of_both_signs_are_two_constants_and_nan_is_one() -> None:
    zero, minus, nan = (Literal(t.DoubleType(), False, value) for value in (0.0, -0.0, float("nan")))
    assert zero != minus and hash(zero) != hash(minus)
    assert nan == Literal(t.DoubleType(), False, float("nan"))
    values = Evaluator(times(NUMBER, zero), times(NUMBER, minus))([pa.array([1.0])], 1)
    assert [str(value[0]) for value in values] == ["0.0", "-0.0"]


def test_what_a_branch_keeps_from_a_row_is_kept_from_it_everywhere() -> None:
    zero = Literal(t.IntegerType(), False, 0)
    quotient = Call(t.LongType(), True, "IntegralDivide", (WHOLE, WHOLE), (("mode", "ANSI"),))
    nonzero = Call(t.BooleanType(), True, "Not", (Call(t.BooleanType(), True, "EqualTo", (WHOLE, zero)),))
    guarded: Any = Call(t.LongType(), True, "If", (nonzero, quotient, Literal(t.LongType(), False, 7)), ())
    values = Evaluator(guarded, guarded)([pa.array([3, 0, None], pa.int32())], 3)
    assert [value.to_pylist() for value in values] == [[1, 7, 7]] * 2
    with pytest.raises(EvaluationError):
        Evaluator(guarded, quotient)([pa.array([3, 0], pa.int32())], 2)
