"""A version of a pipeline in a storage, as somebody who reads it sees it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from penstock.errors import PipelineError
from penstock.storage import Backend, ChangeBlock, ChangeSegment, Version, VersionStore, log_owner
from penstock.zset import HASH_VERSION, HashSeed

__all__ = ["LOG_FILE", "SKIPPED", "StoredState", "branch_of", "log_folder"]

LOG_FILE = re.compile(r"(input|acknowledged)(?:-\d{10})?/(\d{10})\.log")
"""The files of logs: of which one, and the first step."""
SKIPPED = re.compile(r"skipped(?:-\d{10})?/(\d{10})-[0-9a-f]{16}\.json")
"""Decisions to replay a step without a file: the step."""
_BRANCH = re.compile(r"\w+-(\d{10})/.*")


class StoredState:
    """The version ``version`` of the pipeline called ``name``."""

    def __init__(self, backend: Backend, name: str, versions: VersionStore, version: Version) -> None:
        self.backend = backend
        self._name, self._versions, self._version = name, versions, version
        self._check(version)

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

    @property
    def version(self) -> Version:
        """The version."""
        return self._version

    @property
    def seed(self) -> HashSeed:
        """The seed of all hashes of this pipeline, drawn when it was first made."""
        return HashSeed.from_hex(self.version.seed)

    @property
    def step(self) -> int:
        """The last step that the version contains."""
        return self.version.step

    def load(self, number: int) -> Version:
        """Another version of the pipeline."""
        return self._versions.load(number)

    def segments(self, version: Version) -> set[str]:
        """The segments that a version refers to."""
        return self._versions.segments(version)

    def changes(self) -> Iterator[ChangeSegment]:
        """The segments of changes of views that the version retains, oldest first."""
        return self._versions.changes(self.version)

    def changes_of(self, view: str, since: int) -> Iterator[tuple[str, ChangeBlock]]:
        """Segment and block of the changes of a view that may be of steps after ``since``, oldest first, as
        far as the version has them."""
        return self._versions.changes_of(self.version, view, since)

    @property
    def input_folder(self) -> str:
        """The folder of the input log."""
        return log_folder("input", self.version.branch)

    @property
    def acknowledged_folder(self) -> str:
        """The folder of the log of acknowledged steps."""
        return log_folder("acknowledged", self.version.branch)

    @property
    def skipped_folder(self) -> str:
        """The folder of decisions to replay steps of the input log without a file."""
        return log_folder("skipped", self.version.branch)

    def log_owner(self, folder: str) -> int:
        """What files of this pipeline's logs carry, so that those of another are not taken for them."""
        return log_owner(self.version.seed, folder)


def log_folder(log: str, branch: int) -> str:
    """The folder of a log in a branch: after a restore, steps are recorded in another one."""
    return f"{log}-{branch:010d}" if branch else log


def branch_of(name: str) -> int | None:
    """The branch that a file of a log, or of decisions about it, belongs to; None for any other file."""
    if not (LOG_FILE.fullmatch(name) or SKIPPED.fullmatch(name)):
        return None
    match = _BRANCH.fullmatch(name)
    return 0 if match is None else int(match[1])
