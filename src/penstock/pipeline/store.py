"""A pipeline's durable side: versions (manifests), the input log, and the segments they refer to.

A version is the state after step ``step``. The log holds the inputs of the steps since, and of those since
the version before, so two versions can always be opened. A segment that neither of the two refers to is
garbage: a leftover of a crashed attempt, or replaced by merging.

Acknowledged steps are recorded a second time, in a log that holds only their numbers and is not synced. So
opening can compare what is on disk with what was acknowledged: a truncated input log, or a missing version,
is an error when the pipeline is opened, not a pipeline with fewer steps.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pyarrow as pa

from penstock.errors import CorruptionError, InUse, PipelineError, StorageError
from penstock.pipeline.heartbeat import in_use
from penstock.storage import (
    Backend,
    ChangeBlock,
    ChangeSegment,
    Log,
    Prepared,
    Version,
    VersionStore,
    log_owner,
)
from penstock.zset import HASH_VERSION, HashSeed

__all__ = ["PipelineStore"]

KEPT_VERSIONS = 2
_STEPS_PER_FILE = 1 << 14  # in the log of acknowledged steps, 64 bytes each

_SEGMENT = re.compile(r"segments/(\d{10})-.*\.seg")

_log = logging.getLogger(__name__)


class PipelineStore:
    """Opens (or starts) the durable state of the pipeline called ``name``."""

    def __init__(self, backend: Backend, name: str) -> None:
        self.backend = backend
        self._name = name
        self._versions = VersionStore(backend)
        latest = self._versions.latest()
        if latest is None:
            self._check_empty()
            latest = Version(0, name, HASH_VERSION, HashSeed.random().to_hex())
        self._check(latest)
        # The versions that must stay openable, newest last.
        self._kept: tuple[Version, ...] = (*self._versions.before(latest), latest)
        self._prepared: Prepared | None = None  # the version that was, or may have been, published last
        self._input: Log | None = None
        self._acknowledged: Log | None = None

    def _check(self, version: Version) -> None:
        if version.pipeline != self._name:
            raise PipelineError(
                f"{self.backend.url} holds the pipeline {version.pipeline!r}, not {self._name!r}: "
                "give this pipeline another storage, or use that name"
            )
        if version.hash_version != HASH_VERSION:
            raise PipelineError(
                f"{self.backend.url} was written with hash version {version.hash_version}; "
                f"this software has version {HASH_VERSION}"
            )

    def _check_empty(self) -> None:
        """A new pipeline has no logs, and no segments except those of a first version that was never
        published."""
        left = self.backend.list("input/") + self.backend.list("acknowledged/")
        left += [name for name in self.backend.list("segments/") if (_version_of(name) or 0) > 1]
        if left:
            raise CorruptionError(
                f"{self.backend.url}: no version is left (manifest/ is empty or gone), but {left[0]} shows "
                "that there was one. Restore the folder manifest/ from a backup. To start over, give the "
                "pipeline another storage folder"
            )

    @property
    def version(self) -> Version:
        """The newest version."""
        return self._kept[-1]

    @property
    def seed(self) -> HashSeed:
        """The seed of all hashes of this pipeline, drawn when it was first made."""
        return HashSeed.from_hex(self.version.seed)

    @property
    def step(self) -> int:
        """The last step that the newest version contains."""
        return self.version.step

    # ---- the logs ---------------------------------------------------------------------------------

    def open_log(self) -> None:
        """Becomes the one writer of this pipeline. Raises if steps that were acknowledged are not there."""
        try:
            if self._input is None:
                self._input = Log(self.backend, "input", owner=self.log_owner("input"))
            if self._acknowledged is None:
                owner = self.log_owner("acknowledged")
                self._acknowledged = Log(self.backend, "acknowledged", durable=False, owner=owner)
        except InUse as error:
            raise in_use(self.version.pipeline, self.backend.url) from error
        self._check_nothing_lost(self._input, self._acknowledged)

    def _check_nothing_lost(self, log: Log, acknowledged: Log) -> None:
        known = max(acknowledged.last_step or 0, log.first_step - 1)
        have = max(log.last_step or 0, self.step)
        if have < known:
            lost = f"steps {have + 1} to {known}" if have + 1 < known else f"step {known}"
            raise CorruptionError(
                f"{self.backend.url}: {lost} had been acknowledged and cannot be found in the input log: "
                f"{log.cut or 'a file of input/ is missing or was cut'}. Restore input/ from a backup; or "
                f"see what would be lost, and go on without it: penstock recover {self.backend.url}"
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
            return bool(self.backend.list("input/"))
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
            _log.warning("step %d is safe, but could not be recorded in acknowledged/: %s", step, problem)

    def recorded(self, after: int) -> Iterator[tuple[int, pa.Buffer]]:
        """The inputs of the steps after ``after``; raises if one is missing."""
        assert self._input is not None
        expected = after + 1
        for step, payload in self._input.read(expected):
            if step != expected:
                raise CorruptionError(
                    f"{self.backend.url}: the input log has step {step} where step {expected} should come: a "
                    "file of input/ is missing. Restore it from a backup; or see what would be lost, and go "
                    f"on without it: penstock recover {self.backend.url}"
                )
            yield step, payload
            expected += 1

    def log_owner(self, folder: str) -> int:
        """What files of this pipeline's logs carry, so that those of another are not taken for them."""
        return log_owner(self.version.seed, folder)

    def log_file_of(self, step: int) -> str:
        """The file of the input log that holds a step."""
        names = [name for name in self.backend.list("input/") if name <= f"input/{step:010d}.log"]
        return names[-1] if names else "input/"

    def skip_file(self, step: int, path: str) -> None:
        """Decides permanently that a logged step is replayed without one of its files."""
        digest = hashlib.sha256(path.encode()).hexdigest()[:16]
        content = json.dumps({"step": step, "path": path}).encode()
        name = f"skipped/{step:010d}-{digest}.json"
        if not self.backend.exists(name):
            self.backend.write_new(name, [content])

    def skipped(self, step: int) -> set[str]:
        """The files that a logged step is replayed without."""
        return {self._skipped_path(name) for name in self.backend.list(f"skipped/{step:010d}-")}

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
            self._kept = self._kept_with(latest)

    def _kept_with(self, latest: Version) -> tuple[Version, ...]:
        """The versions that stay openable when there is a new one."""
        return (*self._kept, latest)[-KEPT_VERSIONS:]

    def next_version(self) -> Version:
        """The newest version under the next number, made now."""
        latest = replace(self.version, number=self.version.number + 1, made_us=time.time_ns() // 1000)
        return replace(latest, oldest=self._kept_with(latest)[0].number)

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
        self._kept, self._prepared = self._kept_with(self._prepared.version), None

    def rotate_log(self) -> None:
        """Part three: the log continues in a new file, and files that no kept version needs are dropped."""
        if self._input is not None:
            self._input.rotate(self.recorded_step + 1)
            needed = self._kept[0].step + 1
            self._input.drop_before(needed)
            for name in self.backend.list("skipped/"):
                if name < f"skipped/{needed:010d}":
                    self.backend.delete(name)
            if self._acknowledged is not None and self._acknowledged.last_step is None:
                self._acknowledge(self.step)  # from now on an empty manifest/ is damage

    @property
    def kept(self) -> tuple[Version, ...]:
        """The versions that can be opened, oldest first."""
        return self._kept

    def segments(self, version: Version) -> set[str]:
        """The segments that a version refers to."""
        return self._versions.segments(version)

    def changes(self) -> Iterator[ChangeSegment]:
        """The segments of changes of views that the newest version retains, oldest first."""
        return self._versions.changes(self.version)

    def changes_of(self, view: str, since: int) -> Iterator[tuple[str, ChangeBlock]]:
        """Segment and block of the changes of a view that may be of steps after ``since``, oldest first, as
        far as the newest version has them."""
        return self._versions.changes_of(self.version, view, since)

    def clean(self, kept: Sequence[Version]) -> None:
        """Part four: deletes all that the ``kept`` versions do not refer to. May run in another thread,
        before the next version is published."""
        needed, newest = self._versions.referenced(kept), kept[-1].number
        self._versions.prune(kept[0].number, needed, newest)
        for name in self.backend.list("segments/"):
            version = _version_of(name)
            if name not in needed and version is not None and version < newest:
                self.backend.delete(name)


def _version_of(segment: str) -> int | None:
    """The version a segment was written for, by its name; None for a file that is not a segment."""
    match = _SEGMENT.match(segment)
    return None if match is None else int(match[1])
