"""What a pipeline tells about itself, as plain frozen records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

__all__ = ["Status", "StepReport", "Verification", "VerifyReport"]


@dataclass(frozen=True)
class StepReport:
    """What one step did.

    ``changed_rows`` counts rows inserted plus rows deleted in each view. ``duration_ms`` has the whole
    ``step``, its parts ``run``, ``log`` and ``commit``, and of the run the ``exchange``: how long a resident
    worker, on average, was handing rows to its peers and waiting for theirs. ``absent_keys`` counts deletes,
    by table, whose key was not there (they are ignored). ``committed`` says that the state up to this step is
    in a manifest; if not yet, the input log holds the step and a crash loses nothing either.
    """

    step: int
    input_rows: int
    changed_rows: Mapping[str, int]
    duration_ms: Mapping[str, float]
    absent_keys: Mapping[str, int] = field(default_factory=dict)
    committed: bool = False


@dataclass(frozen=True)
class VerifyReport:
    """Whether a view equals what Spark computes in batch over the current tables."""

    view: str
    equal: bool
    rows: int
    expected_rows: int
    difference: str = ""

    def __bool__(self) -> bool:
        return self.equal


class Verification(tuple[VerifyReport, ...]):
    """The reports of a check. True if every view is equal to Spark's answer, so ``assert run.verify()`` means
    what it says. ``unchecked`` names the views that nobody can compute again, as their rows are not kept."""

    unchecked: tuple[str, ...]

    def __new__(cls, reports: Iterable[VerifyReport], unchecked: tuple[str, ...] = ()) -> Verification:
        made = super().__new__(cls, reports)
        made.unchecked = unchecked
        return made

    def __bool__(self) -> bool:
        return all(self)


@dataclass(frozen=True)
class Status:
    """Where a pipeline stands."""

    name: str
    storage: str
    step: int
    committed_step: int
    version: int
    workers: int
    mode: str
    phase: str
    restarts: int
    tables: tuple[str, ...]
    views: tuple[str, ...]
    arrangements: int
    stored_rows: int
