"""Saying no: what a view may not hold, where it stands in the query, and what to write instead.

Two kinds of refusal. What is not repeatable (the clock, random numbers, the session's user) is looked for
in the *analysed* plan, because the optimiser folds ``current_timestamp()`` into a literal as if it were a
constant. What is merely not supported is met while the optimised plan is imported. Both name the
construct and its place: the line and text of the query where Catalyst kept them, the SQL of the
expression where it did not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from penstock.errors import UnsupportedQuery
from penstock.sql.tree import Node

__all__ = ["check_repeatable", "place_of", "refuse_expression", "refuse_plan", "text_of", "text_of_order"]

_CLOCK_ADVICE = "Keep the time in a column of an input table and compare with that"
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
_CLASS = re.compile(r'"class":"[\w.$]*?(\w+)"')
_SPECIAL_VALUE = re.compile(rf'"value":"\s*(?:{"|".join(_SPECIAL_TIMES)})', re.IGNORECASE)
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
    """The error for a plan node that nothing imports."""
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


def check_repeatable(analysed: Any, query: str | None, view: str) -> None:
    """Raises if two computations of the query over the same tables could differ.

    The JSON of the plan tells in one call whether there is anything to look for; only then is the plan
    walked node by node over py4j to find the place.
    """
    text = analysed.toJSON()
    kinds = set(_CLASS.findall(text))
    if kinds & NOT_REPEATABLE.keys() or _SPECIAL_VALUE.search(text):
        _refuse_not_repeatable(analysed, view)
    special = _SPECIAL_LITERAL.search(query or "")
    if special is not None:
        raise _special_time(special.group(0), f"view {view}")
    if not analysed.deterministic():
        raise _not_deterministic(analysed, view)


def _refuse_not_repeatable(analysed: Any, view: str) -> None:
    for twin in _twins(analysed):
        kind = twin.getClass().getSimpleName()
        found = NOT_REPEATABLE.get(kind)
        if found is not None:
            construct, reason, advice = found
            raise UnsupportedQuery(construct, place=_place(twin, view), reason=reason, advice=advice)
        if kind == "Cast" and _is_special_time(twin):
            raise _special_time(twin.sql(), _place(twin, view))


def _not_deterministic(analysed: Any, view: str) -> UnsupportedQuery:
    """The error naming the innermost expression that Spark itself calls non-deterministic."""
    guilty = [twin for twin in _twins(analysed) if not _is_plan(twin) and not twin.deterministic()]
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
            reason="it is declared asNondeterministic(): a row that goes must give what it gave when it came",
            advice="Let it depend on its arguments alone",
        )
    return UnsupportedQuery(
        innermost.prettyName() + "()",
        place=_place(innermost, view),
        reason="Spark does not promise the same value for the same rows",
    )


def _special_time(text: str, place: str) -> UnsupportedQuery:
    return UnsupportedQuery(
        text, place=place, reason="its value changes although no input does", advice=_CLOCK_ADVICE
    )


def _is_special_time(cast: Any) -> bool:
    child = cast.child()
    if child.getClass().getSimpleName() != "Literal" or not cast.dataType().typeName().startswith(
        ("date", "timestamp")
    ):
        return False
    return str(child.toString()).strip().lower().startswith(_SPECIAL_TIMES)


def _twins(plan: Any) -> Iterator[Any]:
    """Every plan node and expression of a JVM plan, subqueries included."""
    yield plan
    for expression in _items(plan.expressions()):
        yield from _expression_twins(expression)
    for child in _items(plan.children()):
        yield from _twins(child)


def _expression_twins(expression: Any) -> Iterator[Any]:
    yield expression
    for child in _items(expression.children()):
        yield from _expression_twins(child)
    if expression.getClass().getSimpleName() in ("ScalarSubquery", "ListQuery", "Exists", "LateralSubquery"):
        yield from _twins(expression.plan())


def _items(sequence: Any) -> Iterator[Any]:
    for i in range(sequence.size()):
        yield sequence.apply(i)


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
