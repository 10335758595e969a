"""A pipeline's durable side: versions (manifests), the input log, and the segments they name.

A version says: this is the state after step ``step``. The log holds the inputs of the steps since, and of
those since the version before, so two versions can always be opened. A segment that neither of the two
names is garbage: a leftover of a crashed attempt, or replaced by merging.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

import pyarrow as pa

from penstock.errors import PipelineError
from penstock.storage import Backend, Log, Manifest, ManifestStore
from penstock.zset import HASH_VERSION, HashSeed

__all__ = ["PipelineStore"]

KEPT_VERSIONS = 2


class PipelineStore:
    """Opens (or starts) the durable state of the pipeline called ``name``."""

    def __init__(self, backend: Backend, name: str) -> None:
        self.backend = backend
        self._manifests = ManifestStore(backend)
        latest = self._manifests.latest()
        if latest is None:
            latest = Manifest(0, _first_body(name))
        self._check(latest, name)
        self.version: int = latest.version
        self.body: Mapping[str, Any] = latest.body
        self._log: Log | None = None

    def _check(self, manifest: Manifest, name: str) -> None:
        body = manifest.body
        if body["pipeline"] != name:
            raise PipelineError(
                f"{self.backend.url} holds the pipeline {body['pipeline']!r}, not {name!r}: "
                "give this pipeline another storage, or use that name"
            )
        if body["hash_version"] != HASH_VERSION:
            raise PipelineError(
                f"{self.backend.url} was written with hash version {body['hash_version']}; "
                f"this software has version {HASH_VERSION}"
            )

    @property
    def seed(self) -> HashSeed:
        """The seed of all hashes of this pipeline, drawn when it was first made."""
        return HashSeed.from_hex(self.body["seed"])

    @property
    def step(self) -> int:
        """The last step that the newest version contains."""
        return int(self.body["step"])

    def open_log(self) -> None:
        """Becomes the one writer of this pipeline."""
        if self._log is None:
            self._log = Log(self.backend, "input")

    def close(self) -> None:
        """Gives the log up, so that another writer can have it."""
        if self._log is not None:
            self._log.close()
            self._log = None

    def record(self, step: int, parts: Sequence[Any]) -> None:
        """Makes the input of a step durable. A step has one input for ever, so its number must be new."""
        assert self._log is not None
        last = self._log.last_step
        if last is not None and step <= last:
            raise PipelineError(
                f"step {step} cannot be recorded: the input log goes up to step {last} already; "
                "open the pipeline again, which runs the logged steps first"
            )
        self._log.append(step, parts)

    def recorded(self, after: int) -> Iterator[tuple[int, pa.Buffer]]:
        """The inputs of the steps after ``after``."""
        assert self._log is not None
        return self._log.read(after + 1)

    def commit(self, body: Mapping[str, Any]) -> None:
        """Publishes the next version, then lets go of what no kept version needs."""
        self.publish(body)
        self.clean(self.adopt(body))

    def publish(self, body: Mapping[str, Any]) -> None:
        """The first part of a commit: when it returns, the next version is there for all who open the
        pipeline. Another thread may do it while steps are recorded."""
        self._manifests.commit(Manifest(self.version + 1, body))

    def adopt(self, body: Mapping[str, Any]) -> set[str]:
        """The second: from now on the published version is the newest one here too. The log keeps the steps
        since the version before; it goes on in a new file, so that this one can be dropped one day. Returns
        the segments that the two versions need."""
        before = self.body
        self.version, self.body = self.version + 1, body
        if self._log is not None:
            self._log.rotate(max(self._log.last_step or 0, self.step) + 1)
            self._log.drop_before(int(before["step"]) + 1)
        return segments_of(before) | segments_of(body)

    def clean(self, kept: Set[str]) -> None:
        """The third: deletes older versions and the segments that neither of the last two names. Another
        thread may do it, before the next version is published."""
        self._manifests.prune(KEPT_VERSIONS)
        for name in self.backend.list("segments/"):
            if name not in kept and _version_of(name) < self.version:
                self.backend.delete(name)


def _first_body(name: str) -> dict[str, Any]:
    return {
        "pipeline": name,
        "hash_version": HASH_VERSION,
        "seed": HashSeed.random().to_hex(),
        "step": 0,
        "arrangements": {},
        "changes": {},
        "times": [],
        "moving": False,
        "catalog": None,
        "layout": None,
        "metrics": None,
    }


def segments_of(body: Mapping[str, Any]) -> set[str]:
    """The segments that a version needs."""
    refs = [ref for group in ("arrangements", "changes") for refs in body[group].values() for ref in refs]
    return {ref["segment"] for ref in refs}


def _version_of(segment: str) -> int:
    """The version a segment was written for (the number its name starts with)."""
    return int(segment.removeprefix("segments/").split("-")[0])
