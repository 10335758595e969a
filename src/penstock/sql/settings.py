"""Which settings of the user's session are used for planning, and which of them are stored with the
catalogue.

A view means what Spark would answer in the session it was created in, for its whole life. So settings that
affect the meaning of a query are copied from the session when a pipeline is created, and stored: a pipeline
opened in another time zone keeps its own. There are three kinds.

:data:`MEANING` determines the resulting values, and is always stored. :data:`READING` determines how Spark
interprets a query's text; only what differs from Spark's own default is stored. :data:`ACCEPTING` are
switches that make Spark accept a construct that it otherwise rejects, and change nothing else: a switch that
the session turns on later is turned on for the views created then, and a stored one stays on.

Settings that change values and are in none of these have one value here, Spark's default
(:data:`FIXED_MEANING` lists those a query may depend on).
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

__all__ = ["ACCEPTING", "FIXED_MEANING", "MEANING", "PYTHON_MEANING", "READING", "switched_on", "taken"]

MEANING = (
    "spark.sql.ansi.enabled",
    "spark.sql.mapKeyDedupPolicy",
    "spark.sql.session.timeZone",
    "spark.sql.timestampType",
)
"""Settings that decide what a query means, taken from the user's session when a pipeline is made."""

FIXED_MEANING = {
    "spark.sql.caseSensitive": "false",
    "spark.sql.charAsVarchar": "false",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.legacy.charVarcharAsString": "false",
    "spark.sql.legacy.noCharPaddingInPredicate": "false",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    "spark.sql.preserveCharVarcharTypeInfo": "false",
    "spark.sql.readSideCharPadding": "true",
    "spark.sql.timeType.enabled": "true",
}
"""Settings that decide what a query means and have one value here: Spark's default, but for the type TIME,
which Spark has switched off by default."""

READING = {
    "spark.sql.allowNamedFunctionArguments": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.ansi.enforceReservedKeywords": "false",
    "spark.sql.ansi.relationPrecedence": "false",
    "spark.sql.groupByAliases": "true",
    "spark.sql.groupByOrdinal": "true",
    "spark.sql.lateralColumnAlias.enableImplicitResolution": "true",
    "spark.sql.legacy.consecutiveStringLiterals.enabled": "false",
    "spark.sql.legacy.createEmptyCollectionUsingStringType": "false",
    "spark.sql.legacy.ctePrecedencePolicy": "CORRECTED",
    "spark.sql.legacy.exponentLiteralAsDecimal.enabled": "false",
    "spark.sql.legacy.groupingIdWithAppendedUserGroupBy": "false",
    "spark.sql.legacy.integerGroupingId": "false",
    "spark.sql.legacy.literal.pickMinimumPrecision": "true",
    "spark.sql.legacy.parser.havingWithoutGroupByAsWhere": "false",
    "spark.sql.legacy.percentileDiscCalculation": "false",
    "spark.sql.legacy.setopsPrecedence.enabled": "false",
    "spark.sql.legacy.sizeOfNull": "true",
    "spark.sql.legacy.statisticalAggregate": "false",
    "spark.sql.legacy.typeCoercion.datetimeToString.enabled": "false",
    "spark.sql.operatorPipeSyntaxEnabled": "true",
    "spark.sql.orderByOrdinal": "true",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    "spark.sql.pivotMaxValues": "10000",
    "spark.sql.retainGroupColumns": "true",
    "spark.sql.selfJoinAutoResolveAmbiguity": "true",
    "spark.sql.stableDerivedColumnAlias.enabled": "false",
}
"""Settings that decide how Spark's parser and analyser read a query, with Spark's defaults. What they do is
done when the plan arrives here, so they can have any value."""

ACCEPTING = (
    "spark.sql.analyzer.allowSubqueryExpressionsInLambdasOrHigherOrderFunctions",
    "spark.sql.binByRelationOperator.enabled",
    "spark.sql.join.asofJoin.enabled",
    "spark.sql.legacy.allowHashOnMapType",
    "spark.sql.legacy.allowParameterlessCount",
    "spark.sql.legacy.allowStarWithSingleTableIdentifierInCount",
    "spark.sql.legacy.bangEqualsNot",
    "spark.sql.legacy.cteDuplicateAttributeNames",
    "spark.sql.legacy.scalarSubqueryAllowGroupByNonEqualityCorrelatedPredicate",
    "spark.sql.tvf.allowMultipleTableArguments.enabled",
)
"""Switches, off by default, that make Spark accept more."""

PYTHON_MEANING = {
    "spark.sql.execution.pandas.convertToArrowArraySafely": "false",
    "spark.sql.execution.pyspark.binaryAsBytes": "true",
    "spark.sql.execution.pythonUDF.pandas.intToDecimalCoercionEnabled": "false",
    "spark.sql.execution.pythonUDF.pandas.preferIntExtensionDtype": "false",
    "spark.sql.legacy.execution.pandas.groupedMap.assignColumnsByName": "true",
    "spark.sql.legacy.execution.pythonUDF.pandas.conversion.enabled": "false",
}
"""Settings that decide how values go into Python functions and come out, and Spark's defaults of them."""


def taken(spark: SparkSession) -> dict[str, str]:
    """What a new pipeline copies from the user's session, except switches."""
    found = {key: str(spark.conf.get(key)) for key in MEANING}
    return {**found, **_changed(spark, READING)}


def switched_on(spark: SparkSession) -> dict[str, str]:
    """The switches that are on in the user's session."""
    return _changed(spark, dict.fromkeys(ACCEPTING, "false"))


def _changed(spark: SparkSession, usual: Mapping[str, str]) -> dict[str, str]:
    """The settings that differ from Spark's defaults; unknown ones count as different."""
    found = {key: str(spark.conf.get(key, default)) for key, default in usual.items()}
    return {key: value for key, value in found.items() if value.lower() != usual[key].lower()}
