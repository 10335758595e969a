"""One trial: a copy of a state folder is damaged, checked, opened in this process and read completely.

The answer to everything that can be read is reduced to a number, so that comparing takes no time: the sum of
the hashes of all rows, each times its weight.
"""

from __future__ import annotations

import random
import shutil
import signal
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.circuit.program import Program
from penstock.errors import PenstockError
from penstock.pipeline.checking import check_folder
from penstock.pipeline.coordinator import Coordinator
from penstock.pipeline.step_input import StepInput
from penstock.pipeline.store import PipelineStore
from penstock.schedule.change_log import read_changes
from penstock.schedule.state import forget_segments, open_segment
from penstock.storage import LocalBackend
from penstock.zset import WEIGHT_COLUMN, HashSeed, hash_columns
from tests.faults.damage import Damage, chosen, copied, inflict
from tests.schedule.inline import Resident

DETECTED, HARMLESS, SILENT, RAW, HANG, UNCHECKED = (
    "detected",
    "harmless",
    "silent",
    "raw",
    "hang",
    "missed by check",
)
BUGS = (SILENT, RAW, HANG, UNCHECKED)
HANG_S = 20.0

Answers = Mapping[str, tuple[int, int]]


@dataclass(frozen=True)
class Subject:
    """A state folder of a pipeline, with its program and the right answers."""

    name: str
    folder: Path
    program: Program
    workers: int
    answers: Answers
    others: tuple[Path, ...]
    """Folders of other pipelines."""


@dataclass(frozen=True)
class Outcome:
    """What came of a trial; ``text`` is the error, or what was wrong."""

    subject: str
    damage: Damage
    seed: int
    verdict: str
    text: str


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder for a while: in memory where that is possible, since syncs cost nothing there."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as place:
        yield Path(place)


class _HangError(BaseException):
    """Opening or reading took too long."""


def answers_of(folder: Path, name: str, program: Program, workers: int, *, go_on: bool = False) -> Answers:
    """Opens a folder and reads everything: tables, views and all changes. With ``go_on`` the pipeline also
    goes on: a version and a step without rows, each of which is opened again and must have the same rows."""
    driver = _opened(folder, name, program, workers)
    try:
        found = _read(driver)
        if go_on:
            driver.commit()
    finally:
        driver.kill()
    if go_on:
        for _ in range(2):
            driver = _opened(folder, name, program, workers)
            try:
                if {**_read(driver), "steps": found["steps"]} != found:
                    raise AssertionError("the state was another when it was opened again")
                driver.run_step(StepInput(at_us=1))
            finally:
                driver.kill()
        driver = _opened(folder, name, program, workers)
        driver.kill()
        if driver.step != found["steps"][0] + 2:
            raise AssertionError("a step that ran after the damage is lost")
    return found


def _opened(folder: Path, name: str, program: Program, workers: int) -> Coordinator:
    forget_segments()
    backend = LocalBackend(folder)
    store = PipelineStore(backend, name)
    runtime = Resident(program, workers, backend, store.seed)
    driver = Coordinator(
        program,
        runtime.layout,
        store,
        runtime,
        catalog=store.version.catalog or {},
        commit_interval_s=1e9,
        retained_steps=1000,
    )
    try:
        driver.open()
    except BaseException:
        driver.kill()
        raise
    return driver


def _read(driver: Coordinator) -> Answers:
    circuit, seed = driver.program.circuit, driver.store.seed
    found = {
        f"rows of {name}": _digest(driver.read(name), seed) for name in (*circuit.tables, *circuit.views)
    }
    for view in circuit.views:
        parts = [driver.recent_changes(view, -1), *_stored_changes(driver, view)]
        digests = [_digest(part, seed) for part in parts]
        found[f"changes of {view}"] = (
            sum(first for first, _ in digests) % 2**64,
            sum(second for _, second in digests) % 2**64,
        )
    found["steps"] = (driver.step, len(driver.times))
    return found


def _stored_changes(driver: Coordinator, view: str) -> Iterator[pa.Table]:
    """As a run reads them."""
    for name, block in driver.store.changes_of(view, -1):
        segment = open_segment(driver.store.backend, name)
        segment.expect(block.entry, block.crc32c)
        yield pa.Table.from_batches([read_changes(segment, block.entry)])


def _digest(table: pa.Table, seed: HashSeed) -> tuple[int, int]:
    weights = table[WEIGHT_COLUMN].to_numpy().astype(np.uint64)
    batch = table.drop_columns([WEIGHT_COLUMN]).combine_chunks()
    columns = [
        pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
        for column in batch.columns
    ]
    hashes = hash_columns(columns, len(weights), seed)
    return int((hashes.hi * weights).sum()), int((hashes.lo * weights).sum())


def trial(subject: Subject, seed: int, scratch: Path) -> Outcome:
    """One trial; the same seed gives the same damage."""
    rng = random.Random(seed)
    damage = chosen(subject.folder, rng)
    place = Path(tempfile.mkdtemp(dir=scratch))
    try:
        copied(subject.folder, place, damage.file)
        inflict(place, damage, rng, subject.others)
        verdict, text = _verdict(subject, damage, place, go_on=rng.random() < 0.2)
        return Outcome(subject.name, damage, seed, verdict, text)
    finally:
        shutil.rmtree(place)


def _verdict(subject: Subject, damage: Damage, place: Path, *, go_on: bool) -> tuple[str, str]:
    try:
        with _limited(HANG_S):
            report = check_folder(LocalBackend(place))
            listed = "\n".join(map(str, report.problems))
    except _HangError:
        return HANG, "penstock check"
    except Exception as error:
        return RAW, f"penstock check: {error!r}"
    try:
        with _limited(HANG_S):
            found = answers_of(place, subject.name, subject.program, subject.workers, go_on=go_on)
    except _HangError:
        return HANG, "opening or reading"
    except PenstockError as error:
        if not _names(str(error), damage):
            return RAW, f"the error does not name the file: {error}"
        if report:
            return UNCHECKED, str(error)
        return DETECTED, str(error) if _names(listed, damage) else f"{error}; check says: {listed}"
    except Exception as error:
        return RAW, repr(error)
    wrong = [what for what, answer in subject.answers.items() if found.get(what) != answer]
    return (SILENT, f"wrong: {', '.join(wrong)}") if wrong else (HARMLESS, listed)


def _names(text: str, damage: Damage) -> bool:
    """Whether an error says where to look: the file, or the log or folder that lacks something, or that this
    is another pipeline."""
    return damage.file in text or f"{damage.folder}/" in text or "holds the pipeline" in text


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    def expired(_: int, __: FrameType | None) -> Any:
        raise _HangError

    before = signal.signal(signal.SIGALRM, expired)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
