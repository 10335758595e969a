"""Running workers on Spark: the session, and the two ways of running a step, resident and staged."""

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
