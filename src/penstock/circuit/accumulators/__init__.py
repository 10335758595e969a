"""What an aggregate function keeps per group, one kind per file.

A *linear* accumulator is a sum of something: it turns rows into additive integer columns and a group's
totals into the answer, so a step costs what changed. An *ordered* one keeps a group's values in order
and reads the first few.
"""

from penstock.circuit.accumulators.average import Average
from penstock.circuit.accumulators.base import LinearAccumulator, OrderedAccumulator
from penstock.circuit.accumulators.count import Count
from penstock.circuit.accumulators.extremum import Extremum
from penstock.circuit.accumulators.sum import Sum

__all__ = ["Average", "Count", "Extremum", "LinearAccumulator", "OrderedAccumulator", "Sum"]
