"""Reports of a pipeline, as plain frozen records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from penstock.errors import VersionLate
from penstock.pipeline.rendering import counted, html_table, text_table

__all__ = ["Status", "StepReport", "Verification", "VerifyReport"]


@dataclass(frozen=True)
class StepReport:
    """What one step did.

    ``changed_rows`` counts rows inserted plus rows deleted in each view. ``duration_ms`` has the whole
    ``step``, its parts ``run``, ``log`` and ``commit``, and of the run the ``exchange``: how long a resident
    worker, on average, was sending rows to its peers and waiting for theirs. ``absent_keys`` counts, by
    table, deletes whose key did not exist (they are ignored). ``committed`` says that the state up to this
    step is in a manifest; if not yet, the input log holds the step and a crash loses nothing either. ``late``
    says why a version that is due could not be written; the step is done, and its rows must not be pushed
    again.
    """

    step: int
    input_rows: int
    changed_rows: Mapping[str, int]
    duration_ms: Mapping[str, float]
    absent_keys: Mapping[str, int] = field(default_factory=dict)
    committed: bool = False
    late: VersionLate | None = None

    def __repr__(self) -> str:
        changed = ", ".join(f"{view} {rows:,}" for view, rows in self.changed_rows.items() if rows)
        return f"<{self._summary}; rows changed: {changed or 'none'}>"

    def _repr_html_(self) -> str:
        rows = list(self.changed_rows.items())
        ignored = ", ".join(f"{table} {count:,}" for table, count in self.absent_keys.items() if count)
        notes = [f"Keys to delete that were not there: {ignored}"] if ignored else []
        note = ". ".join([*notes, *([str(self.late)] if self.late is not None else [])])
        return html_table(self._summary, ("view", "rows changed"), rows, note=note)

    @property
    def _summary(self) -> str:
        stored = "in a version" if self.committed else "in the input log"
        stored += ", version late" if self.late is not None else ""
        time_ms = self.duration_ms.get("step", 0.0)
        return f"Step {self.step}: {counted(self.input_rows, 'row')} in, {time_ms:.1f} ms, {stored}"


@dataclass(frozen=True)
class VerifyReport:
    """Whether a view equals what Spark computes in batch over the current tables.

    ``left_open`` names the nondeterministic constructs of the query, if the two differ: then both may be
    correct, and the report is true. (docs/row-order.md says which answer the view gives.)"""

    view: str
    equal: bool
    rows: int
    expected_rows: int
    difference: str = ""
    left_open: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.equal or bool(self.left_open)


class Verification(tuple[VerifyReport, ...]):
    """The reports of a check. True if every view equals Spark's result, or may differ from it because its
    query is nondeterministic, so ``assert run.verify()`` works as expected. ``unchecked`` lists the views
    that cannot be recomputed, because rows are not kept or the view is suspended."""

    unchecked: tuple[str, ...]

    def __new__(cls, reports: Iterable[VerifyReport], unchecked: tuple[str, ...] = ()) -> Verification:
        made = super().__new__(cls, reports)
        made.unchecked = unchecked
        return made

    def __bool__(self) -> bool:
        return all(self)

    _HEADERS = ("view", "rows", "Spark has", "equal", "difference")

    def __repr__(self) -> str:
        note = f"\nNot checked: {', '.join(self.unchecked)}" if self.unchecked else ""
        return f"{self._summary}\n{text_table(self._HEADERS, self._rows)}{note}"

    def _repr_html_(self) -> str:
        note = f"Not checked: {', '.join(self.unchecked)}" if self.unchecked else ""
        return html_table(self._summary, self._HEADERS, self._rows, note=note)

    @property
    def _summary(self) -> str:
        equal = sum(report.equal for report in self)
        return f"{equal} of {counted(len(self), 'view')} equal to Spark's answer"

    @property
    def _rows(self) -> list[tuple[object, ...]]:
        return [
            (
                report.view,
                report.rows,
                report.expected_rows,
                report.equal
                or (f"left open by {', '.join(report.left_open)}" if report.left_open else False),
                report.difference,
            )
            for report in self
        ]


@dataclass(frozen=True)
class Status:
    """The state of a pipeline. ``alive_at`` is its last heartbeat, which other processes see as well
    (``penstock status``); None if the storage is not a folder."""

    name: str
    storage: str
    step: int
    committed_step: int
    version: int
    workers: int
    mode: str
    phase: str
    late: str
    waiting_rows: int
    restarts: int
    tables: tuple[str, ...]
    views: tuple[str, ...]
    arrangements: int
    stored_rows: int
    alive_at: datetime | None = None

    def _repr_html_(self) -> str:
        return html_table(f"Pipeline {self.name}", ("", ""), [(n, _plain(v)) for n, v in vars(self).items()])


def _plain(value: object) -> object:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else value
