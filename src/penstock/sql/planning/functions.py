"""Aggregate calls as the functions of :mod:`penstock.circuit.accumulators`, by what they need of a group."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from pyspark.sql.types import BooleanType

from penstock.circuit.accumulators import (
    AllOrAny,
    ApproximateCount,
    ApproximatePercentile,
    Average,
    Bias,
    BitFunction,
    Collect,
    Count,
    DiscretePercentile,
    Extremum,
    ExtremumBy,
    First,
    Grouped,
    JoinText,
    Linear,
    Mode,
    Moment,
    PairFunction,
    Percentile,
    Pivot,
    Sum,
    TopValues,
)
from penstock.circuit.feeds import Order
from penstock.errors import PipelineError
from penstock.expr.nodes import Expr, Literal
from penstock.sql.plan import AggregateCall

__all__ = ["GroupSpec", "OrderedSpec", "is_distinct", "linear", "specified"]


def _option(call: AggregateCall, name: str, default: Any) -> Any:
    return dict(call.options).get(name, default)


# ---- linear functions ------------------------------------------------------------------------------


def _with_mode(kind: type[Sum] | type[Average], call: AggregateCall) -> Linear:
    return kind(call.data_type, call.args, call.filter, str(_option(call, "mode", "ANSI")))


def _bits(name: str, call: AggregateCall) -> Linear:
    return BitFunction(call.data_type, call.args, call.filter, name)


def _statistic(kind: type[Moment] | type[PairFunction], name: str, call: AggregateCall) -> Linear:
    null_on_zero = bool(_option(call, "nullOnDivideByZero", True))
    return kind(call.data_type, call.args, call.filter, name, null_on_zero)


_LINEAR: Mapping[str, Callable[[AggregateCall], Linear]] = {
    "Count": lambda call: Count(call.data_type, call.args, call.filter),
    "Sum": partial(_with_mode, Sum),
    "Average": partial(_with_mode, Average),
    "BitAndAgg": partial(_bits, "and"),
    "BitOrAgg": partial(_bits, "or"),
    "BitXorAgg": partial(_bits, "xor"),
    "VariancePop": partial(_statistic, Moment, "var_pop"),
    "VarianceSamp": partial(_statistic, Moment, "var_samp"),
    "StddevPop": partial(_statistic, Moment, "stddev_pop"),
    "StddevSamp": partial(_statistic, Moment, "stddev_samp"),
    "RegrReplacement": partial(_statistic, Moment, "regr_squares"),
    "Skewness": partial(_statistic, Moment, "skewness"),
    "Kurtosis": partial(_statistic, Moment, "kurtosis"),
    "CovPopulation": partial(_statistic, PairFunction, "covar_pop"),
    "CovSample": partial(_statistic, PairFunction, "covar_samp"),
    "Corr": partial(_statistic, PairFunction, "corr"),
    "RegrSXY": partial(_statistic, PairFunction, "regr_sxy"),
    "RegrSlope": partial(_statistic, PairFunction, "regr_slope"),
    "RegrIntercept": partial(_statistic, PairFunction, "regr_intercept"),
    "RegrR2": partial(_statistic, PairFunction, "regr_r2"),
}

_SAME_IF_DISTINCT = frozenset({"BitAndAgg", "BitOrAgg", "Min", "Max", "MinBy", "MaxBy"})


def linear(call: AggregateCall) -> Linear | None:
    """The call as a function of sums, if it is one."""
    if call.function in ("Min", "Max") and isinstance(call.data_type, BooleanType):
        return AllOrAny(call.data_type, call.args, call.filter, call.function == "Max")
    make = _LINEAR.get(call.function)
    return None if make is None else make(call)


def is_distinct(call: AggregateCall) -> bool:
    """Whether DISTINCT makes a difference to the call."""
    return call.distinct and call.function not in _SAME_IF_DISTINCT


# ---- functions of values ---------------------------------------------------------------------------


@dataclass(frozen=True)
class OrderedSpec:
    """A function of the first value; ``columns`` are its feed's, of which the first must not be NULL."""

    columns: tuple[Expr, ...]
    function: First


@dataclass(frozen=True)
class GroupSpec:
    """A function of all values; ``columns`` are its feed's, and those in ``present`` must not be NULL."""

    columns: tuple[Expr, ...]
    present: tuple[int, ...]
    order: tuple[Order, ...]
    function: Grouped


def specified(call: AggregateCall) -> OrderedSpec | GroupSpec:
    """The call as a function of values."""
    make = _SPECIFIED.get(call.function)
    if make is None:
        raise PipelineError(f"internal error: no accumulator for {call.function}")
    return make(call)


def _extremum(call: AggregateCall) -> OrderedSpec:
    return OrderedSpec(call.args, Extremum(call.data_type, call.args, call.function == "Max"))


def _extremum_by(call: AggregateCall) -> OrderedSpec:
    value, ordering = call.args
    return OrderedSpec((ordering, value), ExtremumBy(call.data_type, call.args, call.function == "MaxBy"))


def _by_value(call: AggregateCall, function: Grouped, *, nulls: bool = False) -> GroupSpec:
    return GroupSpec(call.args[:1], () if nulls else (0,), (Order(0),), function)


def _collect(call: AggregateCall) -> GroupSpec:
    distinct = call.distinct or call.function == "CollectSet"
    value, *order = call.args
    if order:
        columns = tuple(dict.fromkeys((value, *order)))
        present = (0,) if _option(call, "ignoreNulls", True) else ()
        by = tuple(Order(columns.index(key)) for key in order)
        return GroupSpec(columns, present, by, Collect(call.data_type, distinct))
    return _by_value(call, Collect(call.data_type, distinct), nulls=not _option(call, "ignoreNulls", True))


def _mode(call: AggregateCall) -> GroupSpec:
    return _by_value(call, Mode(call.data_type, call.distinct, not _option(call, "reverseOpt", True)))


def _percentile(call: AggregateCall) -> GroupSpec:
    reverse = bool(_option(call, "reverse", False))
    percentages = _constants(call.args[1])
    if call.function == "PercentileDisc":
        function = DiscretePercentile(call.data_type, call.distinct, percentages, reverse)
        return _by_value(call, function)
    frequency = call.args[2]
    if isinstance(frequency, Literal) and frequency.value == 1:
        return _by_value(call, Percentile(call.data_type, call.distinct, percentages, reverse))
    counted = Percentile(call.data_type, call.distinct, percentages, reverse, True)
    return GroupSpec((call.args[0], frequency), (0, 1), (Order(0),), counted)


def _approximate(call: AggregateCall) -> GroupSpec:
    accuracy = int(_constants(call.args[2])[0])
    percentages = _constants(call.args[1])
    return _by_value(call, ApproximatePercentile(call.data_type, call.distinct, percentages, accuracy))


def _constants(expr: Expr) -> tuple[float, ...]:
    assert isinstance(expr, Literal)
    value = expr.value
    return tuple(map(float, value)) if isinstance(value, (tuple, list)) else (float(value),)


def _approximate_count(call: AggregateCall) -> GroupSpec:
    options: dict[str, Any] = dict(call.options)
    bias = Bias(options["estimates"], options["biases"], options["threshold"])
    return _by_value(call, ApproximateCount(call.data_type, call.distinct, options["precision"], bias))


def _listagg(call: AggregateCall) -> GroupSpec:
    value, delimiter, *keys = call.args
    assert isinstance(delimiter, Literal)
    columns = tuple(dict.fromkeys((value, *keys)))
    directions = _option(call, "order", ())
    order = tuple(
        Order(columns.index(key), not ascending, nulls_first)
        for key, (ascending, nulls_first) in zip(keys, directions, strict=True)
    )
    between = delimiter.value
    if between is None:
        between = "" if call.data_type.typeName() == "string" else b""
    return GroupSpec(columns, (0,), order, JoinText(call.data_type, call.distinct, between))


def _top_values(call: AggregateCall) -> GroupSpec:
    value, ordering, count = call.args
    descending = not _option(call, "reverse", False)
    function = TopValues(call.data_type, call.distinct, int(_constants(count)[0]))
    return GroupSpec((value, ordering), (1,), (Order(1, descending),), function)


def _pivot(call: AggregateCall) -> GroupSpec:
    return GroupSpec(call.args, (), (Order(0),), Pivot(call.data_type, False, _option(call, "values", ())))


_SPECIFIED: Mapping[str, Callable[[AggregateCall], OrderedSpec | GroupSpec]] = {
    "Min": _extremum,
    "Max": _extremum,
    "MinBy": _extremum_by,
    "MaxBy": _extremum_by,
    "CollectList": _collect,
    "CollectSet": _collect,
    "ListAgg": _listagg,
    "Mode": _mode,
    "Percentile": _percentile,
    "PercentileDisc": _percentile,
    "ApproximatePercentile": _approximate,
    "MaxMinByK": _top_values,
    "PivotFirst": _pivot,
    "HyperLogLogPlusPlus": _approximate_count,
}
