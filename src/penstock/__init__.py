"""Penstock keeps SQL views on Apache Spark up to date by doing work in proportion to what changed.

The public names are imported when first used, so that a worker process that runs one level of a circuit
does not pay for the coordinator and the SQL front end.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.errors import PenstockError
    from penstock.pipeline.pipeline import Pipeline
    from penstock.pipeline.reports import Status, StepReport, VerifyReport
    from penstock.pipeline.run import Run

__all__ = ["PenstockError", "Pipeline", "Run", "Status", "StepReport", "VerifyReport"]
__version__ = "0.1.0"

_HOMES = {
    "PenstockError": "penstock.errors",
    "Pipeline": "penstock.pipeline.pipeline",
    "Run": "penstock.pipeline.run",
    "Status": "penstock.pipeline.reports",
    "StepReport": "penstock.pipeline.reports",
    "VerifyReport": "penstock.pipeline.reports",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'penstock' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
