"""A pipeline's durable side: versions (manifests), the input log, and the segments they refer to.

A version is the state after step ``step``. At least two versions can always be opened, more if the user says
so (:class:`penstock.storage.Retention`), and the log holds the inputs of the steps since the oldest of them.
What no retained version refers to is garbage: a leftover of a crashed attempt, or replaced by merging.

Acknowledged steps are recorded a second time, in a log that holds only their numbers and is not synced. So
opening can compare what is on disk with what was acknowledged: a truncated input log, or a missing version,
is an error when the pipeline is opened, not a pipeline with fewer steps.
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pyarrow as pa

from penstock.errors import CorruptionError, InUse, PipelineError, StorageError
from penstock.pipeline.discarding import finish_restore, remove_unused_logs
from penstock.pipeline.garbage import Garbage, written_for
from penstock.pipeline.heartbeat import in_use
from penstock.pipeline.retention import Retain
from penstock.pipeline.stored_state import LOG_FILE, SKIPPED, StoredState
from penstock.storage import Backend, EarlierVersion, LocalBackend, Log, Prepared, Version, VersionStore
from penstock.zset import HASH_VERSION, HashSeed

__all__ = ["PipelineStore"]

_STEPS_PER_FILE = 1 << 14  # in the log of acknowledged steps, 64 bytes each

_log = logging.getLogger(__name__)


class PipelineStore(StoredState):
    """Opens (or starts) the durable state of the pipeline called ``name``, at its newest version. ``retain``
    says which versions to keep."""

    def __init__(self, backend: Backend, name: str, retain: Retain | None = None) -> None:
        versions = VersionStore(backend)
        latest = versions.latest()
        if latest is None:
            _check_empty(backend)
            latest = Version(0, name, HASH_VERSION, HashSeed.random().to_hex())
        super().__init__(backend, name, versions, latest)
        self._retain = retain or Retain()
        self._earlier = versions.earlier(latest)
        self._garbage = Garbage(backend, versions)
        self._prepared: Prepared | None = None  # the version that was, or may have been, published last
        self._input: Log | None = None
        self._acknowledged: Log | None = None

    @property
    def earlier(self) -> tuple[EarlierVersion, ...]:
        """The versions before the newest one that can be opened, oldest first."""
        return self._earlier

    # ---- the logs ---------------------------------------------------------------------------------

    def open_log(self) -> None:
        """Becomes the one writer of this pipeline. Raises if steps that were acknowledged are not there."""
        is_new = self._input is None
        try:
            if self._input is None:
                folder = self.input_folder
                self._input = Log(self.backend, folder, owner=self.log_owner(folder))
            if self._acknowledged is None:
                folder = self.acknowledged_folder
                self._acknowledged = Log(self.backend, folder, durable=False, owner=self.log_owner(folder))
        except InUse as error:
            raise in_use(self.version.pipeline, self.backend.url) from error
        if is_new:
            self._check_newest()
            finish_restore(self.backend, self._versions, self.version)
            remove_unused_logs(self.backend, self.version.branch)
            if isinstance(self.backend, LocalBackend):
                self.backend.remove_dead_drafts()
        self._check_nothing_lost(self._input, self._acknowledged)

    def _check_newest(self) -> None:
        """Another process may have run or restored the pipeline after the newest version was read here."""
        newest = max(self._versions.numbers(), default=0)
        if newest != self.version.number:
            self.close()
            raise PipelineError(
                f"the pipeline {self.version.pipeline!r} in {self.backend.url} was changed by another "
                f"process since it was opened here (then version {self.version.number}, now {newest}); "
                "open it again"
            )

    def _check_nothing_lost(self, log: Log, acknowledged: Log) -> None:
        known = max(acknowledged.last_step or 0, log.first_step - 1)
        have = max(log.last_step or 0, self.step)
        if have < known:
            lost = f"steps {have + 1} to {known}" if have + 1 < known else f"step {known}"
            raise CorruptionError(
                f"{self.backend.url}: {lost} had been acknowledged and cannot be found in the input log: "
                f"{log.cut or f'a file of {log.folder}/ is missing or was cut'}. Restore {log.folder}/ from "
                f"a backup; or see what would be lost, and go on without it: penstock recover "
                f"{self.backend.url}"
            )

    def close(self) -> None:
        """Releases the logs, so that another writer can open them. Safe to call again."""
        with ExitStack() as closing:
            for log in (self._input, self._acknowledged):
                if log is not None:
                    closing.callback(log.close)
        self._input = self._acknowledged = None

    @property
    def log_is_certain(self) -> bool:
        """Whether the contents of the input log are known (see :class:`penstock.storage.Log`)."""
        return self._input is None or self._input.is_certain

    def has_log(self) -> bool:
        """Whether the input log exists. Unknown if the storage does not respond."""
        try:
            return bool(self.backend.list(f"{self.input_folder}/"))
        except StorageError:
            return False

    @property
    def recorded_step(self) -> int:
        """The last step whose input is durable."""
        assert self._input is not None
        return max(self._input.last_step or 0, self.step)

    def record(self, step: int, parts: Sequence[Any]) -> None:
        """Makes the input of a step durable. A step has one input for ever, so its number must be new."""
        assert self._input is not None
        last = self._input.last_step
        if last is not None and step <= last:
            raise PipelineError(
                f"step {step} cannot be recorded: the input log goes up to step {last} already; "
                "open the pipeline again, which runs the logged steps first"
            )
        self._input.append(step, parts)
        self._acknowledge(step)

    def _acknowledge(self, step: int) -> None:
        """Records a second time that a step is durable, so that a damaged log cannot be mistaken for a short
        one. It is not synced: losing part of it in a power cut only weakens the check."""
        assert self._acknowledged is not None
        try:
            if step - self._acknowledged.first_step >= _STEPS_PER_FILE:
                self._acknowledged.rotate(step)
                self._acknowledged.drop_before(step)
            self._acknowledged.append(step, [])
        except StorageError as problem:
            _log.warning("step %d is safe, but could not be recorded as acknowledged: %s", step, problem)

    def recorded(self, after: int) -> Iterator[tuple[int, pa.Buffer]]:
        """The inputs of the steps after ``after``; raises if one is missing."""
        assert self._input is not None
        expected = after + 1
        for step, payload in self._input.read(expected):
            if step != expected:
                raise CorruptionError(
                    f"{self.backend.url}: the input log has step {step} where step {expected} should come: a "
                    f"file of {self.input_folder}/ is missing. Restore it from a backup; or see what would "
                    f"be lost, and go on without it: penstock recover {self.backend.url}"
                )
            yield step, payload
            expected += 1

    def log_file_of(self, step: int) -> str:
        """The file of the input log that holds a step."""
        folder = f"{self.input_folder}/"
        names = [name for name in self.backend.list(folder) if name <= f"{folder}{step:010d}.log"]
        return names[-1] if names else folder

    def skip_file(self, step: int, path: str) -> None:
        """Decides permanently that a logged step is replayed without one of its files."""
        digest = hashlib.sha256(path.encode()).hexdigest()[:16]
        content = json.dumps({"step": step, "path": path}).encode()
        name = f"{self.skipped_folder}/{step:010d}-{digest}.json"
        if not self.backend.exists(name):
            self.backend.write_new(name, [content])

    def skipped(self, step: int) -> set[str]:
        """The files that a logged step is replayed without."""
        return {self._skipped_path(name) for name in self.backend.list(f"{self.skipped_folder}/{step:010d}-")}

    def _skipped_path(self, name: str) -> str:
        try:
            return str(json.loads(bytes(self.backend.open(name)))["path"])
        except (ValueError, KeyError, TypeError) as error:
            raise CorruptionError(
                f"{name}: the decision to replay a step without a file is damaged ({error!r}); delete it and "
                f"decide again: penstock recover {self.backend.url}"
            ) from error

    # ---- versions ---------------------------------------------------------------------------------

    def reread(self) -> None:
        """Reads the newest version from the storage: a commit may have been interrupted after publishing."""
        latest = self._versions.latest()
        if latest is not None and latest.number != self.version.number:
            self._check(latest)
            self._version, self._earlier = latest, self._versions.earlier(latest)

    def next_version(self) -> Version:
        """The newest version under the next number, made now."""
        latest, retention = self.version, self._retain.over(self.version.retention)
        latest = replace(latest, number=latest.number + 1, made_us=time.time_ns() // 1000)
        before = (*self._earlier, self.version.mark) if self.version.number else ()
        earlier = retention.kept(before, latest.mark)
        oldest = earlier[0].number if earlier else latest.number
        return replace(latest, oldest=oldest, earlier=earlier, retention=retention)

    def publish(self, version: Version) -> None:
        """Part one of a commit: when it returns, the next version exists for everyone who opens the pipeline.
        May run in another thread while steps are recorded."""
        self._prepared = None
        self._prepared = self._versions.prepare(version)
        self._versions.publish(self._prepared)

    def is_published(self) -> bool:
        """Whether the next version exists, durably, although publishing it raised an error."""
        return self._prepared is not None and self._versions.holds(self._prepared)

    def adopt(self) -> None:
        """Part two: from now on the published version is the newest one here too."""
        assert self._prepared is not None
        self._versions.adopt(self._prepared)
        self._version, self._prepared = self._prepared.version, None
        self._earlier = self._versions.earlier(self._version)

    def rotate_log(self) -> None:
        """Part three: the log continues in a new file, and files that no kept version needs are dropped."""
        if self._input is not None:
            self._input.rotate(self.recorded_step + 1)
            needed = (self._earlier[0].step if self._earlier else 0) + 1
            self._input.drop_before(needed)
            for name in self.backend.list(f"{self.skipped_folder}/"):
                if (match := SKIPPED.fullmatch(name)) is not None and int(match[1]) < needed:
                    self.backend.delete(name)
            if self._acknowledged is not None and self._acknowledged.last_step is None:
                self._acknowledge(self.step)  # from now on an empty manifest/ is damage

    def clean(self) -> None:
        """Part four: deletes all that no kept version refers to. May run in another thread, before the next
        version is published."""
        self._garbage.collect([found.number for found in self._earlier], self.version)


def _check_empty(backend: Backend) -> None:
    """A new pipeline has no logs, and no segments except those of a first version that was never
    published."""
    left = [name for name in backend.list() if LOG_FILE.fullmatch(name)]
    left += [name for name in backend.list("segments/") if written_for(name) > 1]
    if left:
        raise CorruptionError(
            f"{backend.url}: no version is left (manifest/ is empty or gone), but {left[0]} shows that there "
            "was one. Restore the folder manifest/ from a backup. To start over, give the pipeline another "
            "storage folder"
        )
