"""Operator metrics: counted per step, summed over a run, and stored with each version.

A progress record uses Structured Streaming's names where the meaning is the same, so dashboards made for it
can read ours. The sums are in a file of their own, ``metrics/….json``, replaced every second or so; that is
how ``penstock status --watch`` and ``penstock profile`` see a pipeline that runs in another process. Nothing
else reads it: losing it does no harm.

``duration_ms`` of an operator is that of its slowest worker in each step: the time that the step had to wait.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from penstock.circuit.program import Program
from penstock.pipeline.reports import StepReport
from penstock.schedule.opening import Written
from penstock.schedule.storage_counts import StorageCounts

__all__ = ["Metrics", "OperatorMetrics"]

RECENT = 100
_PARTS = {"step": "triggerExecution", "run": "addBatch", "log": "walCommit", "commit": "commitBatch"}


@dataclass
class OperatorMetrics:
    """One operator over the steps of a run."""

    operator: str
    description: str
    level: int
    views: tuple[str, ...]
    steps: int = 0
    duration_ms: float = 0.0
    rows_in: int = 0
    rows_out: int = 0
    state_rows: int = 0
    state_bytes: int = 0
    arrangements: tuple[str, ...] = ()
    """The names of its arrangements, by which tools that read only the folder find their operator."""

    @property
    def title(self) -> str:
        """Its display name."""
        return f"{self.operator} {self.description}".strip()


@dataclass
class Metrics:
    """Counts steps; ``recent`` are the last progress records, newest last."""

    name: str
    operators: dict[int, OperatorMetrics]
    slots: dict[str, int]
    recent: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=RECENT))
    steps: int = 0
    input_rows: int = 0
    durations_ms: dict[str, float] = field(default_factory=dict)
    storage: list[StorageCounts] = field(default_factory=list)
    """Of each worker, as of the last commit."""
    waiting: list[tuple[StepReport, Sequence[Mapping[str, Any]], int, Mapping[str, int]]] = field(
        default_factory=list
    )

    @staticmethod
    def of(name: str, program: Program) -> Metrics:
        """Empty counters."""
        operators = {
            node.id: OperatorMetrics(
                node.operator.info.name,
                node.operator.describe(),
                program.level_of[node.id],
                program.circuit.views_of(node.id),
                arrangements=tuple(node.slot(i) for i in range(node.operator.slots)),
            )
            for node in program.circuit.nodes
        }
        return Metrics(name, operators, {slot: node.id for slot, node in program.slots.items()})

    def stepped(
        self,
        report: StepReport,
        replies: Sequence[Mapping[str, Any]],
        at_us: int,
        sources: Mapping[str, int],
    ) -> None:
        """Queues a step's metrics, to be processed by :meth:`process_pending`."""
        self.waiting.append((report, replies, at_us, sources))

    def process_pending(self) -> None:
        """Processes the queued metrics: while the workers run the next step, or when metrics are read, but
        not while a caller waits for the step itself."""
        while self.waiting:
            self._count(*self.waiting.pop(0))

    def _count(
        self,
        report: StepReport,
        replies: Sequence[Mapping[str, Any]],
        at_us: int,
        sources: Mapping[str, int],
    ) -> None:
        self.steps += 1
        self.input_rows += report.input_rows
        for part, duration in report.duration_ms.items():
            self.durations_ms[part] = self.durations_ms.get(part, 0.0) + duration
        touched: dict[int, dict[str, Any]] = {}
        for key in sorted({key for reply in replies for key in reply["node_ms"]}, key=int):
            id_, metrics = int(key), self.operators[int(key)]
            longest = max(reply["node_ms"].get(key, 0.0) for reply in replies)
            rows_in = sum(reply["rows_in"].get(key, 0) for reply in replies)
            rows_out = sum(reply["rows_out"].get(key, 0) for reply in replies)
            metrics.steps += 1
            metrics.duration_ms += longest
            metrics.rows_in += rows_in
            metrics.rows_out += rows_out
            touched[id_] = {"numRowsUpdated": rows_out, "allUpdatesTimeMs": round(longest, 3)}
        self.recent.append(self._progress(report, at_us, sources, touched))

    def committed(self, replies: Sequence[Written]) -> None:
        """Records the sizes of the state that the workers reported at a commit."""
        self.process_pending()
        self.storage = [reply.counts for reply in replies]
        totals: dict[int, list[int]] = {}
        for reply in replies:
            for slot, (rows, size) in reply.sizes.items():
                total = totals.setdefault(self.slots[slot], [0, 0])
                total[0] += rows
                total[1] += size
        for id_, (rows, size) in totals.items():
            self.operators[id_].state_rows, self.operators[id_].state_bytes = rows, size

    def to_json(self) -> dict[str, Any]:
        """The sums, and the newest progress record."""
        self.process_pending()
        return {
            "steps": self.steps,
            "input_rows": self.input_rows,
            "durations_ms": {part: round(ms, 3) for part, ms in self.durations_ms.items()},
            "storage": [asdict(counts) for counts in self.storage],
            "operators": [{"id": id_, **asdict(found)} for id_, found in self.operators.items()],
            "last": self.recent[-1] if self.recent else None,
        }

    def progress(self) -> tuple[dict[str, Any], ...]:
        """The progress records of the last steps, oldest first."""
        self.process_pending()
        return tuple(self.recent)

    def _progress(
        self,
        report: StepReport,
        at_us: int,
        sources: Mapping[str, int],
        touched: Mapping[int, Mapping[str, Any]],
    ) -> dict[str, Any]:
        seconds = report.duration_ms["step"] / 1000
        stateful = set(self.slots.values())
        return {
            "name": self.name,
            "timestamp": datetime.fromtimestamp(at_us / 1e6, UTC).isoformat(timespec="milliseconds"),
            "batchId": report.step,
            "numInputRows": report.input_rows,
            "processedRowsPerSecond": report.input_rows / seconds if seconds else 0.0,
            "durationMs": {name: round(report.duration_ms[part], 3) for part, name in _PARTS.items()},
            "stateOperators": [
                {
                    "operatorName": self.operators[id_].title,
                    "numRowsTotal": self.operators[id_].state_rows,
                    "memoryUsedBytes": self.operators[id_].state_bytes,
                    **did,
                }
                for id_, did in touched.items()
                if id_ in stateful
            ],
            "sources": [{"description": name, "numInputRows": rows} for name, rows in sources.items()],
            "sinks": [{"description": n, "numOutputRows": c} for n, c in report.changed_rows.items()],
        }
