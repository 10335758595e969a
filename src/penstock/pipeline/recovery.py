"""Why a pipeline cannot be opened, and what it costs to continue anyway.

A pipeline is not opened if acknowledged steps cannot be replayed: a part of the input log is missing or
damaged, or a file that a step had read is gone or has changed. :func:`diagnose` determines which steps and
files, from the storage and the files alone. :func:`give_up_steps` and :func:`skip_file` are the ways out, for
people who have seen what is lost: they change the storage permanently, and keep what they remove under
``discarded/``.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from penstock.errors import CorruptionError, PipelineError
from penstock.pipeline.discarding import discard
from penstock.pipeline.step_input import StepInput
from penstock.pipeline.store import PipelineStore
from penstock.pipeline.stored_state import LOG_FILE
from penstock.schedule.files import FileInput
from penstock.storage import Backend, newest_version, read_log
from penstock.storage.checksum import HEADER_SIZE
from penstock.storage.frames import LogFile

__all__ = ["Diagnosis", "LoggedFile", "diagnose", "give_up_steps", "skip_file"]


@dataclass(frozen=True)
class LoggedFile:
    """A file that a step since the newest version read. ``problem`` says why it cannot be read again:
    ``gone`` or ``changed``; empty if it can."""

    step: int
    table: str
    path: str
    rows: int
    problem: str
    is_skipped: bool


@dataclass(frozen=True)
class Diagnosis:
    """``step`` is the last one of the newest version, ``good`` the last that can be replayed from the log,
    ``acknowledged`` the last that is known to have happened; ``problem`` says why they differ."""

    pipeline: str
    version: int
    step: int
    good: int
    acknowledged: int
    problem: str
    files: tuple[LoggedFile, ...]

    @property
    def lost_steps(self) -> int:
        """How many acknowledged steps cannot be replayed."""
        return max(0, self.acknowledged - self.good)

    @property
    def missing(self) -> tuple[LoggedFile, ...]:
        """Files that are gone or changed, so that a step cannot be replayed."""
        return tuple(file for file in self.files if file.problem and not file.is_skipped)


def diagnose(backend: Backend) -> Diagnosis:
    """Looks at the storage of a pipeline, changing nothing."""
    store = _store(backend)
    files: list[LoggedFile] = []
    good, problem = store.step, ""
    known = [_first_step(name) - 1 for name in _files(store)]
    try:
        for step, buffer in _logged(store, store.input_folder, store.step + 1):
            known.append(step)
            if problem:
                continue
            if step != good + 1:
                problem = f"the input log goes from step {good} to step {step}"
                continue
            try:
                StepInput.check(buffer)
            except ValueError as error:
                problem = f"{store.log_file_of(step)}: step {step} cannot be read: {error}"
                continue
            good = step
            skipped = store.skipped(step)
            files += [
                LoggedFile(step, table, file.path, file.rows, _problem(file), file.path in skipped)
                for table, file in StepInput.files_in(buffer)
            ]
    except CorruptionError as error:
        problem = problem or str(error)
    try:
        known += [step for step, _ in _logged(store, store.acknowledged_folder)]
    except CorruptionError as error:
        problem = problem or str(error)
    acknowledged = max([store.step, *known])
    if acknowledged > good and not problem:
        problem = f"the input log ends with step {good}"
    return Diagnosis(
        store.version.pipeline, store.version.number, store.step, good, acknowledged, problem, tuple(files)
    )


def give_up_steps(backend: Backend) -> Diagnosis:
    """Goes back to the last step that can be replayed; later ones are dropped. What is removed from the logs
    is kept under ``discarded/``. Returns the diagnosis from before."""
    found, store, folder = diagnose(backend), _store(backend), secrets.token_hex(4)
    _refuse_while_running(store)
    for name in _files(store):
        content, good = backend.open(name), _good_length(backend, name, found.good)
        if _first_step(name) > found.good + 1:
            good = 0
        if good < content.size:
            discard(backend, name, folder)
            if good:
                backend.write_new(name, [content.slice(0, good)])
    for name in _files(store, store.acknowledged_folder):
        discard(backend, name, folder)
    return found


def skip_file(backend: Backend, path: str) -> list[LoggedFile]:
    """Makes the steps that read a file replay without it; returns what is skipped."""
    found = [file for file in diagnose(backend).files if file.path == str(Path(path).absolute())]
    if not found:
        raise PipelineError(f"no step that must be run again has read {path}")
    store = _store(backend)
    for file in found:
        store.skip_file(file.step, file.path)
    return found


def _problem(file: FileInput) -> str:
    if not Path(file.path).exists():
        return "gone"
    return "" if file.is_unchanged else "changed"


def _store(backend: Backend) -> PipelineStore:
    latest = newest_version(backend)
    if latest is None:
        raise PipelineError(f"{backend.url} has no version of a pipeline; restore manifest/ from a backup")
    return PipelineStore(backend, latest.pipeline)


def _files(store: PipelineStore, folder: str = "") -> list[str]:
    """The files of a log, by default of the input log."""
    names = store.backend.list(f"{folder or store.input_folder}/")
    return [name for name in names if LOG_FILE.fullmatch(name)]


def _logged(store: PipelineStore, folder: str, since: int = 0) -> Iterator[tuple[int, pa.Buffer]]:
    return read_log(store.backend, folder, since, store.log_owner(folder))


def _refuse_while_running(store: PipelineStore) -> None:
    """Raises if another process has the pipeline open."""
    if files := _files(store):
        store.backend.appender(files[-1]).close()


def _first_step(name: str) -> int:
    return int(name[-14:-4])


def _good_length(backend: Backend, name: str, last: int) -> int:
    """How much of a log file holds valid steps up to ``last``."""
    good = 0
    with suppress(CorruptionError):
        file = LogFile(backend, name)
        good = HEADER_SIZE
        for frame in file.frames(last=True):
            if frame.step > last:
                break
            good = frame.end
    return good
