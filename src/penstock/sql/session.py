"""The Spark session in which views are planned and nothing is ever computed.

A planning session is a ``newSession()`` beside the user's: its own temporary views and settings, so the
user's catalogue is neither touched nor shadowed. Every table and stored view of the pipeline is registered
as a relation the optimiser knows nothing about (a ``LogicalRDD``: an empty ``LocalRelation`` would be
folded away, and every view with it). Optimiser rules that suit one batch are off.

The settings that change what a query *means* (time zone, ANSI mode, …) are taken from the user's session
once and kept with the catalogue: a pipeline opened in another time zone goes on as it began.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from typing import Any

import pyarrow as pa
from py4j.java_gateway import is_instance_of
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructField, StructType, YearMonthIntervalType

from penstock.errors import EnvironmentProblem, SqlError
from penstock.sql.relational import RELATION_KEY

__all__ = ["FIXED_MEANING", "MEANING", "PYTHON_MEANING", "PlanningSession", "Tables", "active_session_kept"]

MEANING = (
    "spark.sql.ansi.enabled",
    "spark.sql.mapKeyDedupPolicy",
    "spark.sql.session.timeZone",
    "spark.sql.timestampType",
)
"""Settings that decide what a query means, taken from the user's session when a pipeline is made."""

FIXED_MEANING = {
    "spark.sql.caseSensitive": "false",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
}
"""Settings that decide what a query means and have one value here: Spark's default."""

PYTHON_MEANING = {
    "spark.sql.execution.pandas.convertToArrowArraySafely": "false",
    "spark.sql.execution.pyspark.binaryAsBytes": "true",
    "spark.sql.execution.pythonUDF.pandas.intToDecimalCoercionEnabled": "false",
    "spark.sql.execution.pythonUDF.pandas.preferIntExtensionDtype": "false",
    "spark.sql.legacy.execution.pandas.groupedMap.assignColumnsByName": "true",
    "spark.sql.legacy.execution.pythonUDF.pandas.conversion.enabled": "false",
}
"""Settings that decide how values go into Python functions and come out, and Spark's defaults of them."""

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
    # Above this many items IN becomes InSet, whose items the JSON of a plan leaves out.
    "spark.sql.optimizer.inSetConversionThreshold": str(2**31 - 1),
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
            have = ", ".join(self._names.values()) or "none"
            raise SqlError(f"there is no table or view {name} in this pipeline (there is: {have})")
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
        taken = settings or {key: str(spark.conf.get(key)) for key in MEANING}
        self.settings = {**taken, **FIXED_MEANING}
        for key, value in {**_PLANNING, **self.settings}.items():
            self.spark.conf.set(key, value)
        self.relations: dict[str, StructType] = {}
        self.keys: dict[str, tuple[int, ...]] = {}
        self._names: dict[str, str] = {}
        self.functions: dict[str, Any] = {}  # Python functions that queries may call, by name in lower case

    @cached_property
    def python_conf(self) -> tuple[tuple[str, str], ...]:
        """The settings about Python functions that are not as Spark has them by default."""
        found = {key: str(self.spark.conf.get(key, usual)) for key, usual in PYTHON_MEANING.items()}
        return tuple((key, value) for key, value in found.items() if value != PYTHON_MEANING[key])

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
    def tables(self) -> Tables:
        """What a DataFrame function gets as its argument."""
        return Tables(self.spark, dict(self._names))

    def add_relation(self, name: str, schema: StructType, key: tuple[str, ...] = ()) -> None:
        """Registers a table or a stored view: rows will come from outside the plan. ``key`` is the primary
        key, if there is one."""
        marked = StructType(
            [
                StructField(field.name, field.dataType, field.nullable, {RELATION_KEY: name})
                for field in schema.fields
            ]
        )
        with self.active():
            frame = self.spark.createDataFrame(self.spark.sparkContext.emptyRDD(), marked)
            frame.createOrReplaceTempView(quoted(name))
        self.relations[name] = schema
        if key:
            self.keys[name] = tuple(schema.fieldNames().index(column) for column in key)
        self._names[name.lower()] = name

    def add_view(self, name: str, frame: DataFrame) -> None:
        """Registers a view that is not stored: Spark puts its query wherever it is used."""
        with self.active():
            frame.createOrReplaceTempView(quoted(name))
        self._names[name.lower()] = name

    def remove(self, name: str) -> None:
        """Forgets a relation or view."""
        self.spark.catalog.dropTempView(name)
        self.relations.pop(name, None)
        self.keys.pop(name, None)
        self._names.pop(name.lower(), None)

    def clear(self) -> None:
        """Forgets all relations and views."""
        for name in list(self._names.values()):
            self.remove(name)

    def parse(self, text: str) -> Any:
        """Spark's parsed, unresolved plan of one statement."""
        with self.active(), translated_errors():
            return self.spark._jsparkSession.sessionState().sqlParser().parsePlan(text)

    def query(self, text: str) -> DataFrame:
        """The DataFrame of a query; refuses commands, which Spark would run at once."""
        plan = self.parse(text)
        gateway = self.spark.sparkContext._gateway
        commands = ("Command", "ParsedStatement", "CompoundPlanStatement")
        if any(is_instance_of(gateway, plan, _LOGICAL + name) for name in commands):
            raise SqlError(f"this is not a query: {' '.join(text.split())[:60]}")
        with self.active(), translated_errors():
            return self.spark.sql(text)

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

    def active(self) -> AbstractContextManager[None]:
        """Inside, the planning session may make itself Spark's active one; afterwards the user's is again."""
        return active_session_kept(self._user)


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
def translated_errors() -> Iterator[None]:
    """Spark's complaints about a query as SqlError, without the JSON that PySpark logs for each."""
    # Of PySpark's own class: where a plain logger has the name, PySpark's next report raises TypeError.
    loggers = [PySparkLogger.getLogger(name) for name in _CONTEXT_LOGGERS]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    except PySparkException as error:
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


def _message(error: PySparkException) -> str:
    """Spark's message without the plan or the text it repeats below."""
    text = str(error).strip()
    return re.split(r"\n\s*== SQL|;\n'", text)[0].strip()


def quoted(name: str) -> str:
    """A name as Spark reads it back literally."""
    return "`" + name.replace("`", "``") + "`"
