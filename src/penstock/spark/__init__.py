"""Running workers on Spark: the session, and the two ways of running a step, resident and staged.

Names are imported on first use: a session can then start while everything else is still being imported.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.spark.resident import ResidentRuntime
    from penstock.spark.runtime import Crew, Runtime, StepWorker
    from penstock.spark.session import find_or_make_session, require_classic
    from penstock.spark.staged import StagedRuntime

__all__ = [
    "Crew",
    "ResidentRuntime",
    "Runtime",
    "StagedRuntime",
    "StepWorker",
    "find_or_make_session",
    "require_classic",
]

_HOMES = {
    "Crew": "runtime",
    "ResidentRuntime": "resident",
    "Runtime": "runtime",
    "StagedRuntime": "staged",
    "StepWorker": "runtime",
    "find_or_make_session": "session",
    "require_classic": "session",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'penstock.spark' has no attribute {name!r}")
    return getattr(import_module(f"penstock.spark.{_HOMES[name]}"), name)
