"""Bad data: the error says where, the step did not happen on any worker, and the next one goes on."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql.types import DoubleType, LongType

from penstock.circuit.operation import Operation
from penstock.circuit.program import Program, cut
from penstock.errors import DuplicateKey, EvaluationError, MissingRow
from penstock.expr.nodes import Call, Literal
from penstock.sql import plan as p
from penstock.sql.planner import Planner
from penstock.zset import hash_columns
from tests.schedule.driving import PROGRAM, check, opened, run
from tests.schedule.inline import SEED, Resident, filling, opening_of, zset_of
from tests.schedule.shop import SCAN_T, SCAN_U, Shop, T, U, col, fields, program

ANSI = (("mode", "ANSI"),)


def copy_of(shop: Shop) -> Shop:
    return Shop(t=dict(shop.t), u=list(shop.u))


@pytest.mark.parametrize("workers", [1, 3])
def test_deleting_a_row_that_is_not_there_names_it_and_changes_nothing(workers: int) -> None:
    shop = Shop()
    crew = opened(Resident, workers)
    run(crew, 1, shop.input((U, [("a", 1), ("b", 2)], 1), (T, [(1, "a", 1.0)], Operation.UPSERT)))
    wrong = copy_of(shop)
    wrong.u.append(("b", 2))  # the model believes it is there twice
    inputs = wrong.input((T, [(2, "a", 5.0)], Operation.UPSERT), (U, [("b", 2), ("b", 2)], -1))
    with pytest.raises(MissingRow) as missing:
        crew.step(2, inputs.messages(PROGRAM, crew.layout))
    row = hash_columns([pa.array(["b"]), pa.array([2])], 1, SEED)
    assert (missing.value.table, missing.value.hi, missing.value.lo) == ("u", int(row.hi[0]), int(row.lo[0]))
    check(crew, shop)
    run(crew, 2, shop.input((U, [("b", 2)], -1)))
    check(crew, shop)


@pytest.mark.parametrize("workers", [1, 3])
def test_inserting_a_key_twice_names_it_and_changes_nothing(workers: int) -> None:
    shop = Shop()
    crew = opened(Resident, workers)
    run(crew, 1, shop.input((T, [(key, "a", 1.0) for key in range(10)], Operation.INSERT)))
    for rows in ([(11, "b", 1.0), (7, "b", 1.0)], [(12, "x", 0.0), (12, "x", 0.0)]):
        with pytest.raises(DuplicateKey) as duplicate:
            crew.step(2, copy_of(shop).input((T, rows, Operation.INSERT)).messages(PROGRAM, crew.layout))
        key = hash_columns([pa.array([rows[1][0]])], 1, SEED)
        assert (duplicate.value.table, duplicate.value.hi) == ("t", int(key.hi[0]))
        check(crew, shop)


def test_upsert_delete_and_insert_of_one_key_in_one_step() -> None:
    shop = Shop()
    crew = opened(Resident, 2)
    run(crew, 1, shop.input((T, [(1, "a", 1.0)], Operation.INSERT), (T, [(2, "b", 2.0)], Operation.UPSERT)))
    reports = run(
        crew,
        2,
        shop.input(
            (T, [(1, "z", 9.0)], Operation.UPSERT),
            (T, [(1, None, None), (3, None, None)], Operation.DELETE),
            (T, [(1, "a", 1.0)], Operation.INSERT),
            (T, [(2, "b", 2.0)], Operation.UPSERT),
        ),
    )
    check(crew, shop)
    assert not any(report["views"] for report in reports)  # everything is as it was: nothing to say
    assert sum(report["counters"].get("absent_keys:t", 0) for report in reports) == 1


def failing_views() -> Program:
    """Views that cannot be computed for some rows: in a projection, in a sum, in a join's condition."""
    planner = Planner()
    planner.add_table("t", T.arrow_schema, (0,))
    planner.add_table("u", U.arrow_schema, ())
    ratio = Call(DoubleType(), True, "Divide", (Literal(DoubleType(), False, 1.0), col(SCAN_T, 2)), ANSI)
    planner.add_view("ratios", p.Project(fields(r=DoubleType()), SCAN_T, (ratio,)))
    total = p.AggregateCall("Sum", (col(SCAN_U, 1),), LongType(), True)
    planner.add_view("total", p.Aggregate(fields(s=LongType()), SCAN_U, (), (total,)))
    planner.add_view("again", p.Project(fields(r=DoubleType()), SCAN_T, (ratio,)))
    return cut(planner.build())


def test_an_error_in_an_expression_names_views_and_expression() -> None:
    crew = opened(Resident, 2, failing_views())
    shop = Shop()
    run(crew, 1, shop.input((T, [(1, "a", 2.0)], Operation.UPSERT), (U, [("a", 2**62)], 1)))
    with pytest.raises(EvaluationError, match="DIVIDE_BY_ZERO") as zero:
        crew.step(2, Shop().input((T, [(5, "a", 0.0)], Operation.UPSERT)).messages(crew.program, crew.layout))
    assert zero.value.view == "ratios, again"
    assert "1.0 / " in zero.value.expression
    with pytest.raises(EvaluationError, match="ARITHMETIC_OVERFLOW") as overflow:
        crew.step(2, Shop().input((U, [("a", 2**62)], 1)).messages(crew.program, crew.layout))
    assert overflow.value.view == "total"
    run(crew, 2, shop.input((T, [(2, "a", 4.0)], Operation.UPSERT), (U, [("a", -1)], 1)))
    assert zset_of(crew.read("ratios")).weights == {(0.5,): 1, (0.25,): 1}
    assert zset_of(crew.read("total")).weights == {(2**62 - 1,): 1}


def test_a_view_that_cannot_be_filled_is_not_opened() -> None:
    few, more = program("kinds"), failing_views()
    crew = opened(Resident, 1, few)
    run(crew, 1, Shop().input((T, [(1, "a", 0.0)], Operation.UPSERT)))
    crew.commit(1)
    stored = opening_of(few, crew.commit(2))
    wider = Resident(more, 1, crew.backend)
    wider.open(filling(stored, more))
    with pytest.raises(EvaluationError, match="ratios"):
        wider.step(1, [])
    assert zset_of(crew.read("t")).weights == {(1, "a", 0.0): 1}


def test_random_failures_between_good_steps_leave_everything_right() -> None:
    shop, rng = Shop(), np.random.default_rng(21)
    crew = opened(Resident, 3)
    for step in range(1, 7):
        wrong = copy_of(shop)
        wrong.u.append(("nowhere", 1))
        bad = wrong.input((T, [(1, "z", 1.0)], Operation.UPSERT), (U, [("nowhere", 1)], -1))
        with pytest.raises(MissingRow):
            crew.step(step, bad.messages(PROGRAM, crew.layout))
        run(crew, step, shop.random(rng))
    check(crew, shop)
