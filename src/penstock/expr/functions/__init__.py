"""Scalar functions, one module per family; importing the package declares them all."""

from __future__ import annotations

import importlib

from penstock.expr.functions.registry import Function, lookup, names

__all__ = ["FAMILIES", "Function", "lookup", "names"]

FAMILIES = (
    "arithmetic",
    "casts",
    "comparison",
    "conditional",
    "date_format",
    "date_parse",
    "dates",
    "decimal_form",
    "digests",
    "failures",
    "intervals",
    "likeness",
    "logic",
    "making",
    "math",
    "nested",
    "python_udf",
    "regex",
    "rounding",
    "search",
    "strings",
    "time_fields",
    "timestamps",
    "unix_time",
)
"""The modules that declare functions."""

for _family in FAMILIES:
    importlib.import_module(f"{__name__}.{_family}")
