"""The levels of one worker: what is received, what is sent to whom, and what a step leaves behind."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import BooleanType, LongType, StringType

from penstock.circuit.circuit import CircuitBuilder
from penstock.circuit.delta import Delta
from penstock.circuit.layout import Layout
from penstock.circuit.operators import Distinct, Filter, Index, Table, View
from penstock.circuit.program import Program, cut
from penstock.errors import EvaluationError, PipelineError
from penstock.expr.nodes import Call, Column, Literal
from penstock.schedule.levels import Levels
from penstock.schedule.memory import MemoryBudget
from penstock.schedule.message import AlongEdge, Answer, Message, PushedRows
from penstock.schedule.node_state import StepScope
from penstock.schedule.state import Arrangements
from penstock.storage import MemoryBackend
from penstock.zset import ReferenceZSet, hash_columns
from tests.circuit.alone import SEED, Change, delta, meaning

SCHEMA = pa.schema([("k", pa.string()), ("n", pa.int64())])
K, N = Column(StringType(), True, 0, "k"), Column(LongType(), True, 1, "n")
TEN_OVER_N = Call(
    LongType(), True, "IntegralDivide", (Literal(LongType(), False, 10), N), (("mode", "ANSI"),)
)
MORE_THAN_ONE = Call(BooleanType(), True, "GreaterThan", (TEN_OVER_N, Literal(LongType(), False, 1)))
CHANGE: Change = [((f"k{i % 40}", 1 + i % 5), 1) for i in range(100)]


def program() -> Program:
    """``SELECT DISTINCT * FROM t WHERE 10 / n > 1``, on two levels."""
    builder = CircuitBuilder()
    node = builder.add_table("t", Table(SCHEMA, "t", ()))
    node = builder.add(Filter(SCHEMA, MORE_THAN_ONE), (node,))
    node = builder.add(Index(SCHEMA, (K, N), (False, False)), (node,))
    node = builder.add(Distinct(SCHEMA), (node,), (True,))
    builder.add_view("v", View(SCHEMA, "v"), node)
    return cut(builder.build())


PROGRAM = program()


def scope(workers: int = 1, worker: int = 0) -> StepScope:
    layout = Layout.even(workers)
    owners = {slot: node.operator for slot, node in PROGRAM.slots.items()}
    arrangements = Arrangements(
        MemoryBackend(), layout, worker, {}, owners, SEED, memory=MemoryBudget(1 << 30)
    )
    return StepScope(SEED, layout, worker, arrangements)


def pushed(change: Change) -> Message:
    return Message(PushedRows(PROGRAM.circuit.tables["t"]), 0, delta(SCHEMA, change, (0, 1)))


def exchanged_edge() -> int:
    return next(edge.id for edge in PROGRAM.edges if edge.exchange)


def test_rows_go_from_level_to_level_and_the_view_tells_what_changed() -> None:
    levels = Levels(PROGRAM, scope())
    assert PROGRAM.levels == 2
    sent = levels.run(0, [pushed(CHANGE)])
    assert levels.changes == {}
    assert levels.run(1, sent) == []
    assert set(levels.changes) == {"v"}
    assert meaning(levels.changes["v"]) == ReferenceZSet.of_rows(CHANGE).distinct()


def test_each_row_is_sent_to_the_owner_of_its_key_and_nobody_else() -> None:
    workers = 3
    levels = Levels(PROGRAM, scope(workers))
    sent = levels.run(0, [pushed(CHANGE)])
    assert {message.target for message in sent} == set(range(workers))
    total = ReferenceZSet({})
    for message in sent:
        assert message.route == AlongEdge(exchanged_edge()) and isinstance(message.content, Delta)
        part = message.content.zset
        owners = Layout.even(workers).workers_of(hash_columns(part.columns, len(part), SEED))
        assert set(owners.tolist()) == {message.target}
        total = total.add(meaning(message.content))
    assert total == ReferenceZSet.of_rows(CHANGE)


def test_it_makes_no_difference_whether_a_message_came_from_this_worker_or_another() -> None:
    here, there = Levels(PROGRAM, scope()), Levels(PROGRAM, scope())
    sent = here.run(0, [pushed(CHANGE)])
    encoded = [Message(message.route, message.target, message.batch) for message in sent]
    here.run(1, sent)
    there.run(1, encoded)
    assert meaning(there.changes["v"]) == meaning(here.changes["v"])
    assert [slot for slot, _ in there.scope.staged] == [slot for slot, _ in here.scope.staged[-2:]]


def test_a_message_for_a_later_level_is_handed_on() -> None:
    levels = Levels(PROGRAM, scope())
    early = Message(AlongEdge(exchanged_edge()), 0, delta(SCHEMA, [(("a", 1), 1)], (0, 1)))
    assert levels.run(0, [early]) == [early]
    levels.run(1, [early])
    assert meaning(levels.changes["v"]) == ReferenceZSet({("a", 1): 1})


def test_what_no_level_takes_is_a_defect() -> None:
    stray = Message(Answer(), 0, delta(SCHEMA, [], (0, 1)))
    with pytest.raises(PipelineError, match="no level takes answer"):
        Levels(PROGRAM, scope()).run(0, [stray])


def test_an_error_names_the_view_and_the_expression() -> None:
    with pytest.raises(EvaluationError) as raised:
        Levels(PROGRAM, scope()).run(0, [pushed([(("a", 0), 1)])])
    assert raised.value.condition == "DIVIDE_BY_ZERO"
    assert raised.value.view == "v" and "n" in str(raised.value.expression)


def test_nothing_of_a_step_that_was_broken_off_is_in_the_next_one() -> None:
    levels = Levels(PROGRAM, scope())
    with pytest.raises(PipelineError):  # when some rows wait already
        levels.run(0, [pushed([(("a", 1), 1)]), Message(Answer(), 0, delta(SCHEMA, [], (0, 1)))])
    fresh = scope()
    levels.begin(fresh)
    sent = levels.run(0, [])
    assert sent == [] and levels.run(1, []) == []
    assert levels.changes == {} and fresh.staged == []
    assert levels.done()["node_ms"] == {}


def test_a_level_without_input_says_nothing_and_keeps_nothing() -> None:
    levels = Levels(PROGRAM, scope())
    assert levels.run(0, []) == levels.run(1, []) == []
    assert levels.done() == {"views": {}, "counters": {}, "node_ms": {}, "rows_in": {}, "rows_out": {}}


def test_the_report_counts_rows_in_and_out_of_every_node_that_ran() -> None:
    levels = Levels(PROGRAM, scope())
    change: Change = [(("a", 1), 1), (("a", 1), 1), (("b", 10), 1)]  # 10 / 10 is not more than one
    levels.run(1, levels.run(0, [pushed(change)]))
    done: dict[str, Any] = levels.done()
    names = {str(node.id): node.operator.info.name for node in PROGRAM.circuit.nodes}
    assert {names[node]: rows for node, rows in done["rows_out"].items()} == {
        "table": 2,
        "filter": 1,
        "index": 1,
        "distinct": 1,
        "view": 1,
    }
    assert {names[node]: rows for node, rows in done["rows_in"].items()}["table"] == 3
    assert done["views"] == {"v": 1} and set(done["node_ms"]) == set(done["rows_in"])
