"""What Spark has, and what becomes of it here: each function is put through the planner.

A function is *supported* if a test's expression or query that uses it is planned. Otherwise Spark's own
examples of it are planned, with constant folding off so that nothing is computed while planning, and the
refusal tells: for the reasons of :mod:`penstock.sql.refusals` and of the aggregates that cannot be kept, or
if Spark itself refuses, it is *refused* by nature; for any other reason it is *not yet* there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from penstock.errors import PenstockError, SqlError, UnsupportedQuery
from penstock.oracle import read_tables
from penstock.sql import PlanningSession, import_view
from penstock.sql.aggregate_functions import REFUSED
from penstock.sql.refusals import NOT_REPEATABLE
from scripts.sql_coverage.evidence import ROOT, Fixture, mentions
from tests.expr.samples import DDL

__all__ = ["NOT_YET", "REFUSED_BY_NATURE", "SUPPORTED", "Entry", "entries", "function_info"]

SUPPORTED, REFUSED_BY_NATURE, NOT_YET = "supported", "refused", "not yet"

_BY_NATURE = {
    *(reason for _, reason, _ in NOT_REPEATABLE.values()),
    *(reason for reason, _ in REFUSED.values()),
    "Spark does not promise the same value for the same rows",
}
_FOLDING = ("ConstantFolding", "NullPropagation", "ConvertToLocalRelation", "FoldablePropagation")
_RULES = "org.apache.spark.sql.catalyst.optimizer."


@dataclass(frozen=True)
class Entry:
    """One function: its group in Spark's documentation, what becomes of it, and the test or the reason."""

    name: str
    group: str
    status: str
    why: str


class _Planner:
    """Plans texts over the tables of the tests; every text once. Constants are folded or are not."""

    def __init__(self, spark: SparkSession, folding: bool) -> None:
        self._planning = PlanningSession(spark)
        if not folding:
            key = "spark.sql.optimizer.excludedRules"
            rules = [str(self._planning.spark.conf.get(key)), *(_RULES + rule for rule in _FOLDING)]
            self._planning.spark.conf.set(key, ",".join(rules))
        samples = StructType.fromDDL(DDL)
        assert isinstance(samples, StructType)
        self._planning.add_relation("t", samples)
        text = (ROOT / "tests" / "oracle" / "tables.sql").read_text(encoding="utf-8")
        for table in read_tables(text):
            self._planning.add_relation(table.name, table.schema, table.primary_key)
        self._known: dict[str, PenstockError | None] = {}

    def problem(self, sql: str) -> PenstockError | None:
        """Why a query cannot be a view, or None."""
        if sql not in self._known:
            try:
                import_view(self._planning, "v", sql)
                self._known[sql] = None
            except PenstockError as error:
                self._known[sql] = error
            except Py4JError as error:  # Spark stumbles over some texts that are no expressions
                self._known[sql] = SqlError(str(error).splitlines()[0])
        return self._known[sql]


def entries(spark: SparkSession, fixtures: Sequence[Fixture]) -> Iterator[Entry]:
    """Every function of ``SHOW FUNCTIONS``, in the order of their names."""
    tests, examples = _Planner(spark, folding=True), _Planner(spark, folding=False)
    for row in spark.sql("SHOW FUNCTIONS").collect():
        name = str(row[0])
        info = function_info(spark, name)
        group = str(info.getGroup()) if info is not None else ""
        test = _proof(tests, name, fixtures)
        status, why = (SUPPORTED, test) if test else _refusal(examples, _examples(info))
        yield Entry(name, group or "operators", status, why)


def function_info(spark: SparkSession, name: str) -> Any:
    """Spark's entry for a function; a few operators have none."""
    jvm: Any = spark._jvm
    identifier = jvm.org.apache.spark.sql.catalyst.FunctionIdentifier(name)
    try:
        return spark._jsparkSession.sessionState().catalog().lookupFunctionInfo(identifier)
    except PySparkException:
        return None


def _proof(planner: _Planner, name: str, fixtures: Sequence[Fixture]) -> str:
    """The first test that uses a function in something the planner takes."""
    for fixture in fixtures:
        if mentions(name, fixture.sql):
            sql = fixture.sql if fixture.is_query else f"SELECT {fixture.sql} AS c FROM t"
            if planner.problem(sql) is None:
                return fixture.test
    return ""


def _refusal(planner: _Planner, examples: Sequence[str]) -> tuple[str, str]:
    """What becomes of Spark's examples of a function that no test uses."""
    problems = [planner.problem(example) for example in examples]
    if any(problem is None for problem in problems):
        return NOT_YET, "it is planned, but no test names it"
    for problem in problems:
        if isinstance(problem, UnsupportedQuery) and problem.reason in _BY_NATURE:
            return REFUSED_BY_NATURE, problem.reason
    for problem in problems:
        if isinstance(problem, UnsupportedQuery):
            return NOT_YET, ": ".join(part for part in (problem.construct, problem.reason) if part)
    for problem in problems:
        condition = re.search(r"\[([A-Z_.]+)\]", str(problem))
        if condition is not None:
            return REFUSED_BY_NATURE, f"Spark itself refuses it as it comes: {condition[1]}"
        return NOT_YET, str(problem).rpartition("view v: ")[2]
    return NOT_YET, "Spark gives no example"


def _examples(info: Any) -> list[str]:
    text = str(info.getExamples()) if info is not None else ""
    lines = [line.strip() for line in text.splitlines()]
    return [line.removeprefix("> ").rstrip(";") for line in lines if line.startswith("> SELECT")]
