"""Checks the input log, the log of acknowledged steps, and decisions to skip files.

Acknowledged steps are read before the input log: a pipeline that runs meanwhile writes a step first and
acknowledges it then. The steps since the oldest version that can be opened must all be there, one after the
other. After a restore, those before it have no log.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import zip_longest

from penstock.errors import CorruptionError, StorageError
from penstock.pipeline.checking.report import Note, Problem
from penstock.pipeline.step_input import StepInput
from penstock.pipeline.stored_state import LOG_FILE, log_folder
from penstock.schedule.stored_version import StoredVersion
from penstock.storage import Backend, log_owner
from penstock.storage.frames import LogFile

__all__ = ["LogCheck"]


class LogCheck:
    """Reads both logs once, and collects what it finds."""

    def __init__(self, backend: Backend, versions: Sequence[StoredVersion]) -> None:
        self._backend = backend
        self._seed = versions[-1].seed if versions else ""
        self._version = versions[-1].step if versions else 0
        self._branch = versions[-1].branch if versions else 0
        logged = [version for version in versions if version.number >= self._branch]
        self._before = logged[0].step if logged else 0
        self.problems: list[Problem] = []
        self.notes: list[Note] = []

    def check(self) -> None:
        """Checks everything."""
        acknowledged = self._steps(log_folder("acknowledged", self._branch), decode=False)
        inputs = self._steps(log_folder("input", self._branch), decode=True)
        self._skipped()
        if not self.problems:
            self._compare(acknowledged, inputs)

    def _steps(self, folder: str, *, decode: bool) -> list[int]:
        """The steps in a log."""
        found: list[int] = []
        names = [name for name in self._backend.list(f"{folder}/") if LOG_FILE.fullmatch(name)]
        for name, following in zip_longest(names, names[1:], fillvalue=""):
            try:
                found += self._steps_of(name, following, decode=decode)
            except StorageError as error:
                self.problems.append(Problem(name, str(error)))
        return found

    def _steps_of(self, name: str, following: str, *, decode: bool) -> list[int]:
        file = LogFile(self._backend, name)
        file.expect(log_owner(self._seed, name.partition("/")[0]) if self._seed else 0)
        if file.first_step != _first_step(name):
            raise CorruptionError(f"{name}: the file starts at step {file.first_step}; it was renamed")
        steps: list[int] = []
        for frame in file.frames(last=not following):
            if following and frame.step >= _first_step(following):
                raise CorruptionError(f"{name}: holds step {frame.step}, which belongs into {following}")
            if decode:
                try:
                    StepInput.check(frame.payload)
                except ValueError as error:
                    raise CorruptionError(f"{name}: step {frame.step} cannot be read: {error}") from error
            steps.append(frame.step)
        if file.torn:
            what = f"its last frame, at byte {file.end}, is incomplete and is cut by the next step: "
            self.notes.append(Note(name, what + file.torn, file.size - file.end))
        return steps

    def _compare(self, acknowledged: Sequence[int], inputs: Sequence[int]) -> None:
        folder = log_folder("input", self._branch)
        names = [name for name in self._backend.list(f"{folder}/") if LOG_FILE.fullmatch(name)]
        started = _first_step(names[-1]) - 1 if names else 0
        last, expected = max([self._version, *inputs]), self._before + 1
        known = max([self._version, started, *acknowledged])
        for step in (step for step in inputs if step > self._before):
            if step > expected:
                self._missing(expected, step - 1)
            expected = step + 1
        if expected <= self._version:
            self._missing(expected, self._version)
        if last < known:
            self._missing(last + 1, known)

    def _missing(self, first: int, last: int) -> None:
        steps = f"step {first}" if first == last else f"steps {first} to {last}"
        needs = "an older version needs" if last <= self._version else "had been acknowledged"
        folder = f"{log_folder('input', self._branch)}/"
        self.problems.append(Problem(folder, f"{steps}, which {needs}, cannot be found in the input log"))

    def _skipped(self) -> None:
        for name in self._backend.list(f"{log_folder('skipped', self._branch)}/"):
            try:
                decision = json.loads(bytes(self._backend.open(name)))
                if not {"step", "path"} <= decision.keys():
                    raise ValueError("step and path are missing")
            except (StorageError, ValueError, AttributeError) as error:
                self.problems.append(Problem(name, f"the decision to skip a file cannot be read: {error}"))


def _first_step(name: str) -> int:
    return int(name[-14:-4])
