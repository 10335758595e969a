"""The aggregate functions: what each keeps per group and how its result is computed, one kind per file.

A *linear* function is computed from totals, numbers that add: a step costs what changed. A *first* one needs
only the first of a group's values in order. A *grouped* one reads all values of the groups a step touches.
"""

from penstock.circuit.accumulators.approximate_count import ApproximateCount, Bias
from penstock.circuit.accumulators.average import Average
from penstock.circuit.accumulators.base import Grouped, GroupRows, Linear, Sums
from penstock.circuit.accumulators.bits import BitFunction
from penstock.circuit.accumulators.booleans import AllOrAny
from penstock.circuit.accumulators.collect import Collect, JoinText, TopValues
from penstock.circuit.accumulators.count import Count
from penstock.circuit.accumulators.extremum import Extremum, ExtremumBy, First
from penstock.circuit.accumulators.mode import Mode
from penstock.circuit.accumulators.moments import MOMENTS, Moment
from penstock.circuit.accumulators.pairs import PAIRS, PairFunction
from penstock.circuit.accumulators.percentile import ApproximatePercentile, DiscretePercentile, Percentile
from penstock.circuit.accumulators.pivot import Pivot
from penstock.circuit.accumulators.sum import Sum
from penstock.circuit.accumulators.totals import Total

__all__ = [
    "MOMENTS",
    "PAIRS",
    "AllOrAny",
    "ApproximateCount",
    "ApproximatePercentile",
    "Average",
    "Bias",
    "BitFunction",
    "Collect",
    "Count",
    "DiscretePercentile",
    "Extremum",
    "ExtremumBy",
    "First",
    "GroupRows",
    "Grouped",
    "JoinText",
    "Linear",
    "Mode",
    "Moment",
    "PairFunction",
    "Percentile",
    "Pivot",
    "Sum",
    "Sums",
    "TopValues",
    "Total",
]
