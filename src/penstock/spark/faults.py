"""Errors that cross a process boundary.

An error raised in a worker must be the same error for the user: same class, same attributes, same message.
It travels as JSON (class name, attributes, message, traceback text) and is only ever rebuilt as one of the
classes of :mod:`penstock.errors`; anything else becomes a :class:`PipelineError` that quotes the traceback.
"""

from __future__ import annotations

import json
import re
import sys
import traceback
from collections.abc import Mapping
from typing import Any

import penstock.errors as errors
from penstock.errors import EnvironmentProblem, PenstockError, PipelineError

__all__ = ["describe_fault", "python_problem", "rebuild_fault", "spark_reason"]

# Spark's messages when the Python of its workers cannot run Penstock.
_WRONG_PYTHON = (
    (re.compile(r'Cannot run program "([^"]*)"'), "there is no program {}"),
    (
        re.compile(r"Python in worker has different version: (\S+ than that in driver: \S+?),"),
        "it is Python {}",
    ),
    (re.compile(r"No module named '?([\w.]+)"), "it cannot import {}"),
    (re.compile(r"ImportError: ([^\n]+)"), "an import fails: {}"),
    (re.compile(r"Error from python worker:\s+(.+)"), "it does not start: {}"),
)


def _jsonable(value: object) -> object:
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return str(value)
    return value


def describe_fault(error: BaseException) -> dict[str, Any]:
    """The JSON form of an error."""
    return {
        "type": type(error).__name__ if isinstance(error, PenstockError) else None,
        "attributes": {name: _jsonable(value) for name, value in vars(error).items()},
        "message": str(error),
        "traceback": "".join(traceback.format_exception(error)),
    }


def rebuild_fault(fault: Mapping[str, Any], worker: int) -> PenstockError:
    """The error that :func:`describe_fault` described, as raised by a worker."""
    kind = getattr(errors, str(fault["type"]), None)
    if not (isinstance(kind, type) and issubclass(kind, PenstockError)):
        return PipelineError(f"worker {worker} failed unexpectedly: {fault['message']}\n{fault['traceback']}")
    error = kind.__new__(kind, fault["message"])
    Exception.__init__(error, fault["message"])
    vars(error).update(fault["attributes"])
    return error


def spark_reason(error: BaseException) -> str:
    """Spark's reason for a failure, without the JVM's stack trace."""
    return "\n".join(line for line in str(error).splitlines() if not line.startswith(("\tat ", "\t...")))


def python_problem(reason: str, python: str) -> EnvironmentProblem | None:
    """If ``reason``, why a Spark job ended, is that its workers cannot run Penstock at all: what to set."""
    for sign, words in _WRONG_PYTHON:
        found = sign.search(reason)
        if found is not None:
            return EnvironmentProblem(
                f"Spark's workers run {python}, which cannot run Penstock: {words.format(found[1])}. Set the "
                "environment variable PYSPARK_PYTHON, before the SparkSession is made, to a Python that has "
                f"Penstock installed (here: {sys.executable}; on a cluster, one that every executor has)"
            )
    return None
