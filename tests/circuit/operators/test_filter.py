"""Selection: rows whose predicate is true, and neither false nor NULL."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.types import BooleanType

from penstock.circuit.operators import Filter
from penstock.expr.nodes import Call
from tests.circuit.alone import Rows, check_follows, delta, histories
from tests.circuit.operators.plain import PLUS_TWO, ROW, SCHEMA, TWO, K, N


@given(history=histories(ROW))
@settings(deadline=None, max_examples=25)
def test_filter_keeps_rows_whose_predicate_is_true_and_not_null(history: list[Rows]) -> None:
    positive = Call(BooleanType(), True, "GreaterThan", (PLUS_TWO, TWO))
    check_follows(
        Filter(SCHEMA, positive),
        history,
        lambda rows: rows.filter(lambda r: r[1] is not None and r[1] > 0),
        lambda change: [delta(SCHEMA, change)],
    )


@given(history=histories(ROW), both=st.booleans())
@settings(deadline=None, max_examples=25)
def test_filter_for_presence_drops_rows_with_null_and_no_others(history: list[Rows], both: bool) -> None:
    there = [Call(BooleanType(), False, "IsNotNull", (column,)) for column in (N, K)]
    predicate = Call(BooleanType(), False, "And", tuple(there)) if both else there[0]
    filtering = Filter(SCHEMA, predicate)
    assert filtering._present == ((1, 0) if both else (1,))
    check_follows(
        filtering,
        history,
        lambda rows: rows.filter(lambda r: r[1] is not None and (not both or r[0] is not None)),
        lambda change: [delta(SCHEMA, change)],
    )
