"""Scalar functions, one module per family; importing the package declares them all."""

from __future__ import annotations

import importlib

from penstock.expr.functions.registry import Function, lookup, names

__all__ = ["FAMILIES", "Function", "lookup", "names"]

FAMILIES = (
    "arithmetic",
    "array_changes",
    "array_sets",
    "attempts",
    "buckets",
    "casts",
    "comparison",
    "conditional",
    "date_format",
    "date_parse",
    "dates",
    "decimal_form",
    "digests",
    "failures",
    "folds",
    "hashing",
    "in_sets",
    "intervals",
    "json_paths",
    "json_reading",
    "json_writing",
    "lambdas",
    "likeness",
    "logic",
    "making",
    "map_lambdas",
    "maps",
    "math",
    "nested",
    "number_forms",
    "number_patterns",
    "printing",
    "python_udf",
    "registers",
    "regex",
    "rounding",
    "search",
    "sequences",
    "sorting",
    "split_parts",
    "strings",
    "text_checks",
    "time_fields",
    "time_of_day",
    "timestamps",
    "unix_time",
    "urls",
)
"""The modules that declare functions."""

for _family in FAMILIES:
    importlib.import_module(f"{__name__}.{_family}")
