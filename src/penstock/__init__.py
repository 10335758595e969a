"""Penstock keeps SQL views on Apache Spark up to date, with work proportional to what changed.

The public names are imported on first use, so that a worker process that runs one level of a circuit does not
pay for the coordinator and the SQL front end.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.errors import (
        CorruptionError,
        DefinitionChanged,
        DuplicateKey,
        EnvironmentProblem,
        EvaluationError,
        InputError,
        InUse,
        MissingRow,
        PenstockError,
        PipelineError,
        RowConflict,
        SqlError,
        StorageError,
        UnsupportedQuery,
        VersionLate,
        WorkerLost,
    )
    from penstock.pipeline.pipeline import Pipeline
    from penstock.pipeline.reports import Status, StepReport, Verification, VerifyReport
    from penstock.pipeline.run import Run
    from penstock.pipeline.version_list import VersionInfo

__all__ = [
    "CorruptionError",
    "DefinitionChanged",
    "DuplicateKey",
    "EnvironmentProblem",
    "EvaluationError",
    "InUse",
    "InputError",
    "MissingRow",
    "PenstockError",
    "Pipeline",
    "PipelineError",
    "RowConflict",
    "Run",
    "SqlError",
    "Status",
    "StepReport",
    "StorageError",
    "UnsupportedQuery",
    "Verification",
    "VerifyReport",
    "VersionInfo",
    "VersionLate",
    "WorkerLost",
]
__version__ = "0.1.0"

_HOMES = {
    "Pipeline": "penstock.pipeline.pipeline",
    "Run": "penstock.pipeline.run",
    "Status": "penstock.pipeline.reports",
    "StepReport": "penstock.pipeline.reports",
    "Verification": "penstock.pipeline.reports",
    "VerifyReport": "penstock.pipeline.reports",
    "VersionInfo": "penstock.pipeline.version_list",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'penstock' has no attribute {name!r}")
    return getattr(import_module(_HOMES.get(name, "penstock.errors")), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
