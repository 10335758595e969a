"""Does a pipeline whose state is many times its memory stay within it, and stay quick?

A table of accounts, its total by branch, and a join with the branches. It is loaded until the state is eight
times what the workers may hold in memory, and then updated at random, 1,000 rows a step, all over the table.
The same is done with everything in memory, for comparison. Memory is what the system says of every worker's
process, sampled all the time: anonymous memory and the resident pages of mapped files. At the end every view
is compared with what the rows say.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

import penstock as ps
from bench.processes import workers_resident_bytes
from bench.report import Result, agreement
from bench.sketch import Line, Lines, Mark
from penstock.storage import open_backend, read_metrics

MINUTES = 6.0
WORKERS = 2
MEMORY = 128 << 20
TIMES = 8
MARGIN = 1.1  # merging the last batches makes the state smaller
CHUNK = 200_000
BRANCHES = 100_000
STEPS = 60
WARM_UP = 10
BESIDE = 512 << 20
GOAL_STEP = 5.0
SAMPLE_S = 0.02
MB = 1 << 20

SCRIPT = """
CREATE TABLE accounts (id BIGINT PRIMARY KEY, branch BIGINT, owner STRING, balance BIGINT, note STRING);
CREATE TABLE branches (id BIGINT PRIMARY KEY, region INT);
CREATE MATERIALIZED VIEW totals AS
  SELECT branch, count(*) AS accounts, sum(balance) AS balance FROM accounts GROUP BY branch;
CREATE MATERIALIZED VIEW regions AS
  SELECT b.region, count(*) AS accounts, sum(a.balance) AS balance
  FROM accounts a JOIN branches b ON a.branch = b.id GROUP BY b.region;
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command line."""
    parser.add_argument(
        "--memory-mb", type=int, default=MEMORY >> 20, help="each worker's memory (default 128 MB)"
    )
    parser.add_argument(
        "--full", action="store_true", help="512 MB for each worker, and so four times the state"
    )


@dataclass
class Measured:
    """One pipeline: bytes of its state, seconds of its load, milliseconds of its steps, memory over time."""

    state: int = 0
    load_s: float = 0.0
    rows: int = 0
    steps_ms: list[float] = field(default_factory=list)
    differing: list[str] = field(default_factory=list)
    samples: list[tuple[float, int]] = field(default_factory=list)


class Sampler:
    """The largest worker's resident memory, over time."""

    def __init__(self) -> None:
        self.samples: list[tuple[float, int]] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Sampler:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        began = time.monotonic()
        while not self._over.wait(SAMPLE_S):
            sizes = workers_resident_bytes()
            if sizes:
                self.samples.append((time.monotonic() - began, max(sizes)))


def run(arguments: argparse.Namespace) -> list[Result]:
    """Within the budget first, then the same rows in memory."""
    memory = (512 << 20) if arguments.full else arguments.memory_mb << 20
    with tempfile.TemporaryDirectory(prefix="penstock-spill-") as folder:
        spilled = _measure(Path(folder) / "spilled", memory, None)
        in_memory = _measure(Path(folder) / "memory", 8 << 30, spilled.rows)
    return results(memory, spilled, in_memory)


def _measure(folder: Path, memory: int, rows: int | None) -> Measured:
    """Loads until the state is large enough, or ``rows`` rows, and then updates."""
    found, rng = Measured(), np.random.default_rng(3)
    balances = np.empty(0, np.int64)
    branches = np.empty(0, np.int64)
    pipe = ps.Pipeline("spill", storage=folder, workers=WORKERS, memory=memory)
    pipe.sql(SCRIPT)
    with pipe.run() as run, Sampler() as sampler:
        ids = np.arange(BRANCHES)
        run.upsert("branches", pa.table({"id": ids, "region": pa.array(ids % 500, pa.int32())}))
        run.step()
        began = time.monotonic()
        enough = MARGIN * TIMES * WORKERS * memory
        while (len(balances) < rows) if rows is not None else (found.state < enough):
            ids = np.arange(len(balances), len(balances) + CHUNK)
            branch, balance = rng.integers(0, BRANCHES, CHUNK), rng.integers(0, 10**6, CHUNK)
            branches, balances = np.concatenate((branches, branch)), np.concatenate((balances, balance))
            run.upsert("accounts", _accounts(ids, branch, balance))
            run.step()
            if rows is None and len(balances) % (10 * CHUNK) == 0:
                run.commit()
                found.state = _state_bytes(folder)
                print(f"  {len(balances):,} rows: state {found.state / MB:,.0f} MB", flush=True)
        found.rows, found.load_s = len(balances), time.monotonic() - began
        run.settle()
        run.commit()
        found.state = _state_bytes(folder)
        for _ in range(STEPS):
            changed = rng.choice(found.rows, 1000, replace=False)
            balances[changed] = rng.integers(0, 10**6, 1000)
            run.upsert("accounts", _accounts(changed, branches[changed], balances[changed]))
            report = run.step()
            found.steps_ms.append(report.duration_ms["run"] + report.duration_ms["log"])
        found.differing = _differing(run, branches, balances)
        found.samples = list(sampler.samples)
        run.kill()
    print(f"  step: {np.median(found.steps_ms[WARM_UP:]):.1f} ms", flush=True)
    return found


def _accounts(ids: np.ndarray, branch: np.ndarray, balance: np.ndarray) -> pa.Table:
    owner = pa.array(ids % 1_000_003).cast(pa.string())
    note = pa.array(ids * 2_654_435_761 % (1 << 40)).cast(pa.string())
    return pa.table({"id": ids, "branch": branch, "owner": owner, "balance": balance, "note": note})


def _state_bytes(folder: Path) -> int:
    metrics = read_metrics(open_backend(str(folder)))
    assert metrics is not None
    return int(sum(operator["state_bytes"] for operator in metrics["operators"]))


def _differing(run: ps.Run, branches: np.ndarray, balances: np.ndarray) -> list[str]:
    """The views and tables that are not what the rows say."""
    count = np.bincount(branches, minlength=BRANCHES)
    total = np.bincount(branches, balances, BRANCHES).astype(np.int64)
    expected = {
        "totals": {(b, int(count[b]), int(total[b])) for b in range(BRANCHES) if count[b]},
        "regions": {(r, int(count[r::500].sum()), int(total[r::500].sum())) for r in range(500)},
    }
    differing = [
        name
        for name, rows in expected.items()
        if {tuple(row.values()) for row in run.read(name).to_pylist()} != rows
    ]
    table = run.read("accounts").sort_by("id")
    same = np.array_equal(table["balance"].to_numpy(), balances)
    return (
        differing
        if same and np.array_equal(table["branch"].to_numpy(), branches)
        else [*differing, "accounts"]
    )


def results(memory: int, spilled: Measured, in_memory: Measured) -> list[Result]:
    """What is judged: memory, steps, and answers."""
    most = max(size for _, size in spilled.samples)
    step, beside = (float(np.median(each.steps_ms[WARM_UP:])) for each in (spilled, in_memory))
    rows = [_row("spilled", spilled, memory), _row("in memory", in_memory, None)]
    what = f"State of {TIMES} times the memory: {memory // MB} MB for each of {WORKERS} workers"
    notes = (
        "largest worker: resident memory of its process, mapped files and the interpreter included",
        f"step: {1000:,} random updates of {spilled.rows:,} rows",
    )
    picture = _sketch(what, spilled, memory)
    return [
        Result(
            "spill-memory", what, most / MB, (memory + BESIDE) / MB, " MB", rows, notes=notes, sketch=picture
        ),
        Result("spill-step", what, step / beside, GOAL_STEP, "x in memory", rows),
        Result(
            "spill-state", what, spilled.state / (memory * WORKERS), TIMES, "x memory", rows, at_least=True
        ),
        agreement("spill-answers", 6, [*spilled.differing, *in_memory.differing]),
    ]


def _row(name: str, found: Measured, memory: int | None) -> dict[str, object]:
    timed = np.array(found.steps_ms[WARM_UP:])
    return {
        "pipeline": name,
        "memory MB": "all" if memory is None else memory // MB,
        "state MB": round(found.state / MB),
        "largest worker MB": round(max(size for _, size in found.samples) / MB),
        "rows loaded a second": round(found.rows / found.load_s),
        "step ms (median)": float(np.median(timed)),
        "p90": float(np.percentile(timed, 90)),
    }


def _sketch(what: str, found: Measured, memory: int) -> Lines:
    """Memory over time: the largest of every second."""
    seconds: dict[int, list[int]] = {}
    for at, size in found.samples:
        seconds.setdefault(int(at), []).append(size)
    points = [
        (float(second), max(sizes) / MB, min(sizes) / MB, max(sizes) / MB)
        for second, sizes in seconds.items()
    ]
    marks = [Mark(memory / MB, "memory set"), Mark((memory + BESIDE) / MB, "goal: at most 512 MB more")]
    return Lines(
        what, "seconds", "MB of the largest worker", [Line("resident", points)], marks, over_time=True
    )
