"""The Spark session in which views are planned and nothing is ever computed.

A planning session is a ``newSession()`` beside the user's: its own temporary views and settings, so the
user's catalogue is neither touched nor shadowed. Every table and stored view of the pipeline is registered
as a relation the optimiser knows nothing about (a ``LogicalRDD``: an empty ``LocalRelation`` would be
folded away, and every view with it). Optimiser rules that suit one batch are off.

The settings that decide what a query means and whether Spark accepts it are taken from the user's session and
kept with the catalogue (:mod:`penstock.sql.settings`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import pyarrow as pa
from py4j.java_gateway import is_instance_of
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructField, StructType, YearMonthIntervalType

from penstock.errors import EnvironmentProblem, SqlError, choice_text
from penstock.sql.jvm import DATASET, PARSER, SESSION, overflowed_stack, spark_jvm
from penstock.sql.relational import RELATION_KEY
from penstock.sql.settings import FIXED_MEANING, PYTHON_MEANING, switched_on, taken
from penstock.sql.text_lengths import seen_by_queries

__all__ = ["PlanningSession", "Tables", "active_session_kept"]

_RULES = "org.apache.spark.sql.catalyst.optimizer."
_EXCLUDED_RULES = (
    # Sums of decimals become sums of longs and conversions, to save a batch some time.
    _RULES + "DecimalAggregates",
    # Subqueries are merged into one that computes several results; the planner shares equal plans itself.
    "org.apache.spark.sql.execution.planmerging.MergeSubplans",
    _RULES + "MergeScalarSubqueries",
    # Joins are reordered and copied by the size of the tables, which are empty here and change later.
    _RULES + "CostBasedJoinReorder",
    _RULES + "PushDownJoinThroughUnion",
    # Filters computed from the other side's rows at run time.
    _RULES + "InjectRuntimeFilter",
    "org.apache.spark.sql.execution.dynamicpruning.PartitionPruning",
)
_PLANNING = {
    "spark.sql.cbo.enabled": "false",
    "spark.sql.crossJoin.enabled": "true",
    "spark.sql.optimizer.excludedRules": ",".join(_EXCLUDED_RULES),
    # Above this many items IN becomes InSet, whose items are asked for by themselves, as one text. The JSON
    # of a plan takes time in proportion to the square of the length of a list.
    "spark.sql.optimizer.inSetConversionThreshold": "400",
    "spark.sql.optimizer.runtime.bloomFilter.enabled": "false",
}
_CONTEXT_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
_LOGICAL = "org.apache.spark.sql.catalyst.plans.logical."


class Tables:
    """The relations of a pipeline as DataFrames: ``tables("orders")`` or ``tables.orders``."""

    def __init__(self, session: SparkSession, names: Mapping[str, str]) -> None:
        self._session, self._names = session, names

    def __call__(self, name: str) -> DataFrame:
        """The DataFrame of a table or view of the pipeline."""
        known = self._names.get(name.lower())
        if known is None:
            raise SqlError(_unknown_relation(name, self._names.values()))
        return self._session.table(quoted(known))

    def __getattr__(self, name: str) -> DataFrame:
        if name.startswith("__"):
            raise AttributeError(name)
        return self(name)


class PlanningSession:
    """Plans queries over the pipeline's relations; see the module's text."""

    def __init__(self, spark: SparkSession, settings: Mapping[str, str] | None = None) -> None:
        if not hasattr(spark, "_jsparkSession"):
            raise EnvironmentProblem(
                "this is a Spark Connect session; Penstock plans views with Spark's own optimiser inside the "
                "driver and needs a classic session (SparkSession.builder.master(…) without .remote(…))"
            )
        self._user = spark
        self.spark = spark.newSession()
        self.settings = {**(settings or taken(spark)), **FIXED_MEANING}
        for key, value in {**_PLANNING, **self.settings}.items():
            self.spark.conf.set(key, value)
        self.relations: dict[str, StructType] = {}
        self.keys: dict[str, tuple[int, ...]] = {}
        self._names: dict[str, str] = {}
        self._noted: list[list[str]] = []  # see noting_changes: of the blocks that are open
        self.functions: dict[str, Any] = {}  # Python functions that queries may call, by name in lower case
        self.follow_switches()

    def follow_switches(self) -> None:
        """Turns on what the user's session has turned on: a query that is accepted there is accepted here."""
        new = switched_on(self._user)
        for key, value in new.items():
            self.spark.conf.set(key, value)
        self.settings |= new

    @cached_property
    def python_conf(self) -> tuple[tuple[str, str], ...]:
        """The settings about Python functions that are not as Spark has them by default."""
        found = {key: str(self.spark.conf.get(key, usual)) for key, usual in PYTHON_MEANING.items()}
        return tuple((key, value) for key, value in found.items() if value != PYTHON_MEANING[key])

    @cached_property
    def _no_rows(self) -> Any:
        """An RDD in the JVM without rows. Spark wraps it for every relation anew, so no two relations look
        alike to the optimiser."""
        jvm: Any = self.spark._jvm
        rows = self.spark.sparkContext.emptyRDD()._to_java_object_rdd()
        return jvm.SerDeUtil.toJavaArray(rows).rdd()

    @property
    def ansi(self) -> bool:
        """Whether overflow and bad casts are errors."""
        return self.settings["spark.sql.ansi.enabled"] == "true"

    @property
    def timezone(self) -> str:
        """The session time zone, by which strings become timestamps."""
        return self.settings["spark.sql.session.timeZone"]

    @property
    def last_key_wins(self) -> bool:
        """Whether a key that stands twice in a map keeps its last value; otherwise it is an error."""
        return self.settings["spark.sql.mapKeyDedupPolicy"] == "LAST_WIN"

    @property
    def shortest(self) -> bool:
        """Whether Spark's Java prints large whole doubles with as few digits as others."""
        jvm: Any = self.spark._jvm
        return int(jvm.java.lang.Runtime.version().feature()) >= 19

    def declared_name(self, name: str) -> str:
        """A registered name as it was declared, whatever case it is used in."""
        return self._names[name.lower()]

    @property
    def names(self) -> tuple[str, ...]:
        """The tables and views that queries can read, as they were declared."""
        return tuple(self._names.values())

    @property
    def tables(self) -> Tables:
        """What a DataFrame function gets as its argument."""
        return Tables(self.spark, dict(self._names))

    def add_relation(self, name: str, schema: StructType, key: tuple[str, ...] = ()) -> None:
        """Registers a table or a stored view: rows will come from outside the plan. ``key`` is the primary
        key, if there is one."""
        seen = seen_by_queries(self.spark, schema)
        marked = StructType(
            [
                StructField(
                    field.name, field.dataType, field.nullable, {**field.metadata, RELATION_KEY: name}
                )
                for field in seen.fields
            ]
        )
        self._note(name)
        with self.active():
            frame = self.spark._jsparkSession.applySchemaToPythonRDD(self._no_rows, marked.json())
            frame.createOrReplaceTempView(quoted(name))
        self.relations[name] = seen
        if key:
            self.keys[name] = tuple(schema.fieldNames().index(column) for column in key)

    def add_view(self, name: str, frame: DataFrame) -> None:
        """Registers a view that is not stored: Spark inlines its query wherever it is used."""
        self._note(name)
        with self.active():
            spark_jvm().deep(DATASET, "createOrReplaceTempView", frame._jdf, quoted(name))

    def _note(self, name: str) -> None:
        """To be called before a name is registered, so that after an interrupt it is known what may be
        registered."""
        self._names[name.lower()] = name
        self._changing(name)

    def _changing(self, name: str) -> None:
        for changed in self._noted[-1:]:
            changed.append(name.lower())

    def remove(self, name: str) -> None:
        """Forgets a relation or view, if there is one of this name in any case."""
        declared = self._names.pop(name.lower(), None)
        if declared is not None:
            self._changing(name)
            self.spark.catalog.dropTempView(declared)
            self.relations.pop(declared, None)
            self.keys.pop(declared, None)

    @contextmanager
    def noting_changes(self) -> Iterator[list[str]]:
        """Yields a list of what is registered or removed inside: names in lower case."""
        changed: list[str] = []
        self._noted.append(changed)
        try:
            yield changed
        finally:
            self._noted.pop()
            for outer in self._noted[-1:]:
                outer += changed

    def clear(self) -> None:
        """Forgets all relations and views."""
        for name in list(self._names.values()):
            self.remove(name)

    def parse(self, text: str) -> Any:
        """Spark's parsed, unresolved plan of one statement."""
        with self.active(), translated_errors():
            parser = self.spark._jsparkSession.sessionState().sqlParser()
            return spark_jvm().deep(PARSER, "parsePlan", parser, text)

    def query(self, text: str) -> DataFrame:
        """The DataFrame of a query; refuses commands, which Spark would run at once."""
        plan = self.parse(text)
        gateway = self.spark.sparkContext._gateway
        commands = ("Command", "ParsedStatement", "CompoundPlanStatement")
        if any(is_instance_of(gateway, plan, _LOGICAL + name) for name in commands):
            raise SqlError(f"this is not a query: {' '.join(text.split())[:60]}")
        with self.active(), translated_errors(self.names):
            return DataFrame(spark_jvm().deep(SESSION, "sql", self.spark._jsparkSession, text), self.spark)

    def local_rows(self, relation: Any) -> tuple[StructType, tuple[tuple[Any, ...], ...]]:
        """Schema and rows (as Arrow's Python values, nested ones as tuples) of a ``LocalRelation``."""
        with self.active():
            jvm: Any = self.spark._jvm
            rows = jvm.org.apache.spark.sql.classic.Dataset.ofRows(self.spark._jsparkSession, relation)
            frame: Any = DataFrame(rows, self.spark)
            schema: StructType = frame.schema
            if relation.data().isEmpty() or not schema.fields:
                return schema, ((),) * relation.data().size()
            # Arrow has no conversion for year-month intervals, which are a count of months here.
            months = [i for i, f in enumerate(schema.fields) if isinstance(f.dataType, YearMonthIntervalType)]
            frame = frame.toDF(*map(str, range(len(schema.fields)))).drop(*map(str, months))
            # Not toArrow(): it cannot cast a struct that is NULL while its fields may not be.
            batches = frame._collect_as_arrow() if frame.columns else []
            columns = iter(pa.Table.from_batches(batches).columns if batches else [])
            values = [
                _months(relation.data(), i)
                if i in months
                else [_frozen(v) for v in next(columns).to_pylist()]
                for i in range(len(schema.fields))
            ]
            return schema, tuple(zip(*values, strict=True))

    @contextmanager
    def active(self) -> Iterator[None]:
        """Inside, the planning session is Spark's active one, whose settings the parser goes by; afterwards
        the user's is again."""
        jvm: Any = self.spark._jvm
        with active_session_kept(self._user):
            jvm.SparkSession.setActiveSession(self.spark._jsparkSession)
            yield


@contextmanager
def active_session_kept(spark: SparkSession) -> Iterator[None]:
    """Inside, other sessions may become Spark's active one (making a DataFrame is enough); afterwards the one
    that was is again, or ``spark`` if there was none."""
    jvm: Any = spark._jvm
    before = SparkSession.getActiveSession() or spark
    try:
        yield
    finally:
        jvm.SparkSession.setActiveSession(before._jsparkSession)
        SparkSession._activeSession = before


@contextmanager
def translated_errors(relations: Iterable[str] | None = None) -> Iterator[None]:
    """Spark's complaints about a query as SqlError, without the JSON that PySpark logs for each. A table that
    is not among ``relations`` is reported with those, instead of Spark's search path."""
    # Of PySpark's own class: where a plain logger has the name, PySpark's next report raises TypeError.
    loggers = [PySparkLogger.getLogger(name) for name in _CONTEXT_LOGGERS]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        if overflowed_stack(error):
            raise SqlError(
                "the query is nested too deeply for Spark (StackOverflowError); split it into several views"
            ) from None
        if isinstance(error, Py4JJavaError):
            raise
        if relations is not None and error.getCondition() == "TABLE_OR_VIEW_NOT_FOUND":
            raise SqlError(_unknown_in_query(error, relations)) from None
        raise SqlError(_message(error)) from None
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled


def _months(rows: Any, ordinal: int) -> list[int | None]:
    found = (rows.apply(i) for i in range(rows.size()))
    return [None if row.isNullAt(ordinal) else int(row.getInt(ordinal)) for row in found]


def _frozen(value: Any) -> Any:
    """A value that can be compared and hashed: Arrow takes tuples for lists, structs and map entries."""
    if isinstance(value, dict):
        return tuple(_frozen(item) for item in value.values())
    if isinstance(value, list | tuple):
        return tuple(_frozen(item) for item in value)
    return value


def _unknown_in_query(error: PySparkException, relations: Iterable[str]) -> str:
    """The message for a table of a query that the pipeline does not have, with its place."""
    name = (error.getMessageParameters() or {}).get("relationName", "").replace("`", "")
    place = re.search(r"line \d+ pos \d+", str(error))
    return _unknown_relation(name, relations) + (f" ({place.group()})" if place else "")


def _unknown_relation(name: str, relations: Iterable[str]) -> str:
    advice = ". A pipeline sees only its own tables: declare it and push its rows" if "." in name else ""
    return f"there is no table or view {name} in this pipeline; {choice_text(name, relations)}{advice}"


def _message(error: PySparkException) -> str:
    """Spark's message without the plan or the text it repeats below."""
    text = str(error).strip()
    return re.split(r"\n\s*== SQL|;\n'", text)[0].strip()


def quoted_if_needed(name: str) -> str:
    """A name as one would write it in SQL."""
    return name if re.fullmatch(r"[A-Za-z_]\w*", name) else quoted(name)


def quoted(name: str) -> str:
    """A name as Spark reads it back literally."""
    return "`" + name.replace("`", "``") + "`"
