"""Rejected constructs: what a view may not contain, its position in the query, and what to write instead.

There are two kinds. What is not repeatable (the clock, random numbers, the session's user) is searched for in
the *analysed* plan, because the optimiser folds ``current_timestamp()`` into a literal as if it were a
constant. What is merely not supported is found while the optimised plan is imported. Both name the construct
and its position: the line and text of the query if Catalyst kept them, otherwise the SQL of the expression.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from penstock.errors import UnsupportedQuery
from penstock.sql.jvm import QUERY_PLAN, spark_jvm
from penstock.sql.tree import Node

__all__ = [
    "Found",
    "check_repeatable",
    "place_of",
    "refuse_expression",
    "refuse_plan",
    "text_of",
    "text_of_order",
]

_CLOCK_ADVICE = "Keep the time in a column of an input table and compare with that"
_DATE_ADVICE = "Give the date, as in make_timestamp(day, time) or make_timestamp_ntz(day, time)"
_RANDOM_ADVICE = "Draw the value outside and store it in a column of an input table"
_SESSION_ADVICE = "Write the value into the query"

NOT_REPEATABLE: dict[str, tuple[str, str, str]] = {
    kind: (construct, reason, advice)
    for reason, advice, kinds in (
        (
            "its value changes although no input does",
            _CLOCK_ADVICE,
            {
                "CurrentTimestamp": "current_timestamp()",
                "Now": "now()",
                "LocalTimestamp": "localtimestamp()",
                "CurrentDate": "current_date()",
                "CurrentTime": "current_time()",
            },
        ),
        (
            "its value is another one each time it is computed",
            _RANDOM_ADVICE,
            {
                "Rand": "rand()",
                "Randn": "randn()",
                "RandStr": "randstr()",
                "Uniform": "uniform()",
                "Uuid": "uuid()",
                "Shuffle": "shuffle()",
            },
        ),
        (
            "other rows are drawn each time it is computed",
            "Filter by a hash of a column instead, such as hash(id) % 10 = 0",
            {"Sample": "TABLESAMPLE"},
        ),
        (
            "its value depends on how Spark places rows",
            _RANDOM_ADVICE,
            {
                "MonotonicallyIncreasingID": "monotonically_increasing_id()",
                "SparkPartitionID": "spark_partition_id()",
                "InputFileName": "input_file_name()",
                "InputFileBlockStart": "input_file_block_start()",
                "InputFileBlockLength": "input_file_block_length()",
            },
        ),
        (
            "its value depends on who runs the pipeline",
            _SESSION_ADVICE,
            {
                "CurrentUser": "current_user()",
                "SessionUser": "session_user()",
                "CurrentCatalog": "current_catalog()",
                "CurrentDatabase": "current_database()",
                "CurrentTimeZone": "current_timezone()",
                "CurrentPath": "current_path()",
                "SparkVersion": "version()",
            },
        ),
    )
    for kind, construct in kinds.items()
}

_SPECIAL_TIMES = ("now", "today", "tomorrow", "yesterday")
_SPECIAL_VALUE = re.compile(rf"\s*(?:{'|'.join(_SPECIAL_TIMES)})", re.IGNORECASE)
_TO_TIMESTAMP = re.compile(r"as timestamp(?:_ntz)?\)$", re.IGNORECASE)
_ORDER_BY = re.compile(r"ORDER\s+BY\s+(.*)", re.IGNORECASE | re.DOTALL)
_SPECIAL_LITERAL = re.compile(
    rf"\b(?:date|timestamp(?:_ntz|_ltz)?)\s*'\s*({'|'.join(_SPECIAL_TIMES)})\b[^']*'", re.IGNORECASE
)

_ROWS_ADVICE = "Use a Python function that gives one value (an array, say) for each row, and explode"
_GROUPS_ADVICE = "Use Spark's aggregate and window functions, and Python functions of their results"

UNSUPPORTED_PLANS: dict[str, tuple[str, str]] = {
    "Tail": ("tail()", "Leave it out of the view"),
    "UnionLoop": ("WITH RECURSIVE", ""),
    "WithCTE": ("a WITH query that Spark does not inline", "Create a view of it first"),
    "LogicalRelation": ("a table outside the pipeline", "Declare it with CREATE TABLE and feed it"),
    "HiveTableRelation": ("a table outside the pipeline", "Declare it with CREATE TABLE and feed it"),
    "DataSourceV2Relation": ("a table outside the pipeline", "Declare it with CREATE TABLE and feed it"),
    "DataSourceV2ScanRelation": ("a table outside the pipeline", "Declare it with CREATE TABLE and feed it"),
    "InMemoryRelation": ("a cached DataFrame", "Use the DataFrame without cache()"),
    "StreamingRelation": ("a streaming DataFrame", "Declare a table and connect the stream to it"),
    "ArrowEvalPythonUDTF": ("a Python table function", _ROWS_ADVICE),
    "BatchEvalPythonUDTF": ("a Python table function", _ROWS_ADVICE),
    "MapInPandas": ("mapInPandas()", _ROWS_ADVICE),
    "MapInArrow": ("mapInArrow()", _ROWS_ADVICE),
    "FlatMapGroupsInPandas": ("applyInPandas()", _GROUPS_ADVICE),
    "FlatMapGroupsInArrow": ("applyInArrow()", _GROUPS_ADVICE),
    "FlatMapCoGroupsInPandas": ("cogroup().applyInPandas()", _GROUPS_ADVICE),
    "FlatMapCoGroupsInArrow": ("cogroup().applyInArrow()", _GROUPS_ADVICE),
}

UNSUPPORTED_EXPRESSIONS: dict[str, tuple[str, str]] = {
    "ScalarSubquery": ("a correlated scalar subquery in this place", "Write it as a LEFT JOIN"),
    "LateralSubquery": ("a lateral subquery in this place", "Write it as a join"),
    "ListQuery": ("IN with a subquery in this place", "Write it as a LEFT SEMI JOIN"),
    "InSubquery": ("IN with a subquery in this place", "Write it as a LEFT SEMI JOIN"),
    "Exists": ("EXISTS in this place", "Write it as a LEFT SEMI JOIN"),
    "PythonUDF": ("a Python function in this place", "Call it in the SELECT list of a view of its own"),
    "PythonUDAF": ("a Python function over groups", _GROUPS_ADVICE),
    "PythonUDTF": ("a Python table function", _ROWS_ADVICE),
    "ScalaUDF": ("a Scala or Java UDF", "Use SQL expressions"),
    "CallMethodViaReflection": ("a call of a Java method", "Use SQL expressions"),
}


def refuse_plan(node: Node, view: str) -> UnsupportedQuery:
    """The error for a plan node that no importer handles."""
    kind = node.kind
    construct, advice = UNSUPPORTED_PLANS.get(kind, (f"the plan node {kind}", ""))
    return UnsupportedQuery(construct, place=place_of(node, view), reason="not supported yet", advice=advice)


def refuse_expression(node: Node, view: str) -> None:
    """Raises for a subquery or a user's function anywhere in an expression."""
    for inner in node.walk():
        if inner.kind in UNSUPPORTED_EXPRESSIONS:
            construct, advice = UNSUPPORTED_EXPRESSIONS[inner.kind]
            left_in = "plan" in inner.fields or inner.kind == "InSubquery"
            reason = "Spark's optimiser does not make a join of it" if left_in else "not supported yet"
            raise UnsupportedQuery(construct, place=place_of(inner, view), reason=reason, advice=advice)


def text_of(node: Node) -> str:
    """An expression as the query spells it, or Catalyst's SQL for it."""
    return _snippet(node.twin().origin()) or _shortened(node.twin().sql())


def text_of_order(keys: Sequence[Node]) -> str:
    """The keys of an ORDER BY as the query spells them. Keys that Spark had to compute below the sort, such
    as aggregates, carry the whole clause as their text."""
    texts = [text_of(key) for key in keys]
    clauses = [match[1] for text in texts if (match := _ORDER_BY.match(text))]
    return clauses[0] if clauses else ", ".join(texts)


def place_of(node: Node, view: str) -> str:
    """Where a node stands: ``view v, line 3: `a > 2` ``, or its SQL if the query has no text."""
    return _place(node.twin(), view) or f"view {view}"


@dataclass(frozen=True)
class Found:
    """The contents of a plan in the JVM, subqueries included: Java lists, and the class of each item."""

    plans: Any
    plan_kinds: Sequence[str]
    expressions: Any
    expression_kinds: Sequence[str]

    @classmethod
    def of(cls, plan: Any) -> Found:
        """Looks through a plan: a few calls over py4j, however large it is."""
        jvm = spark_jvm()
        plans, expressions = jvm.everything(plan)
        return cls(plans, jvm.kinds(plans), expressions, jvm.kinds(expressions))

    def plans_of(self, kind: str) -> Iterator[Any]:
        """The plan nodes of a class."""
        return (self.plans.get(i) for i, found in enumerate(self.plan_kinds) if found == kind)

    def expressions_of(self, kind: str) -> Iterator[Any]:
        """The expressions of a class."""
        return (self.expressions.get(i) for i, found in enumerate(self.expression_kinds) if found == kind)


def check_repeatable(analysed: Any, found: Found, query: str | None, view: str) -> None:
    """Raises if two computations of the query over the same tables could differ. ``found`` is what the
    analysed plan consists of."""
    for kind in dict.fromkeys((*found.plan_kinds, *found.expression_kinds)):
        if kind in NOT_REPEATABLE:
            construct, reason, advice = NOT_REPEATABLE[kind]
            twin = next(chain(found.plans_of(kind), found.expressions_of(kind)))
            raise UnsupportedQuery(construct, place=_place(twin, view), reason=reason, advice=advice)
    if "Cast" in found.expression_kinds and any(map(_SPECIAL_VALUE.match, _literals(found))):
        for cast in filter(_is_special_time, found.expressions_of("Cast")):
            raise _special_time(cast.sql(), _place(cast, view))
    if "Cast" in found.expression_kinds and any(map(_TO_TIMESTAMP.search, _casts(found))):
        for cast in filter(_takes_today, found.expressions_of("Cast")):
            raise _special_time(cast.sql(), _place(cast, view), _DATE_ADVICE)
    special = _SPECIAL_LITERAL.search(query or "")
    if special is not None:
        raise _special_time(special.group(0), f"view {view}")
    if not spark_jvm().deep(QUERY_PLAN, "deterministic", analysed):
        raise _not_deterministic(found, view)


def _literals(found: Found) -> list[str]:
    """What the literals of a plan print."""
    return spark_jvm().texts(found.expressions, "Literal", "\0")


def _not_deterministic(found: Found, view: str) -> UnsupportedQuery:
    """The error naming the innermost expression that Spark itself calls non-deterministic."""
    every = (found.expressions.get(i) for i in range(len(found.expression_kinds)))
    guilty = [twin for twin in every if not twin.deterministic()]
    if not guilty:
        return UnsupportedQuery("this query", place=f"view {view}", reason="Spark calls it non-deterministic")
    innermost = guilty[-1]
    kind = innermost.getClass().getSimpleName()
    if kind == "PythonUDTF":
        construct, advice = UNSUPPORTED_EXPRESSIONS[kind]
        return UnsupportedQuery(construct, place=_place(innermost, view), advice=advice)
    if kind == "PythonUDF":
        return UnsupportedQuery(
            f"the Python function {innermost.name()}",
            place=_place(innermost, view),
            reason="it is declared asNondeterministic(): for a deleted row it must return what it returned "
            "when the row was inserted",
            advice="Let it depend on its arguments alone",
        )
    return UnsupportedQuery(
        innermost.prettyName() + "()",
        place=_place(innermost, view),
        reason="Spark does not promise the same value for the same rows",
    )


def _casts(found: Found) -> list[str]:
    """What the casts of a plan print."""
    return spark_jvm().texts(found.expressions, "Cast", "\0")


def _special_time(text: str, place: str, advice: str = _CLOCK_ADVICE) -> UnsupportedQuery:
    return UnsupportedQuery(
        text, place=place, reason="its value changes although no input does", advice=advice
    )


def _takes_today(cast: Any) -> bool:
    """Whether a cast makes a timestamp of a time of day, with the current date."""
    names = cast.child().dataType().typeName(), cast.dataType().typeName()
    return bool(names[0].startswith("time(") and names[1].startswith("timestamp"))


def _is_special_time(cast: Any) -> bool:
    child = cast.child()
    if child.getClass().getSimpleName() != "Literal" or not cast.dataType().typeName().startswith(
        ("date", "timestamp")
    ):
        return False
    return str(child.toString()).strip().lower().startswith(_SPECIAL_TIMES)


def _place(twin: Any, view: str) -> str:
    origin = twin.origin()
    if origin.line().isDefined():
        text = f"view {view}, line {origin.line().get()}"
        snippet = _snippet(origin)
        return f"{text}: {snippet}" if snippet else text
    return f"view {view}" if _is_plan(twin) else f"view {view}: {_shortened(twin.sql())}"


def _is_plan(twin: Any) -> bool:
    name = twin.getClass().getName()
    return ".plans.logical." in name or ".sql.execution." in name


def _snippet(origin: Any) -> str:
    parts = (origin.sqlText(), origin.startIndex(), origin.stopIndex())
    if not all(part.isDefined() for part in parts):
        return ""
    text, start, stop = (part.get() for part in parts)
    return _shortened(text[start : stop + 1])


def _shortened(text: str, limit: int = 60) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"
