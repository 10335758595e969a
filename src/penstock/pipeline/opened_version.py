"""One version of a pipeline, opened to be read.

It takes no lock, writes nothing and replays no log, so it works beside the pipeline that runs. The state is
read in this process: opening maps the files of the version, and reading a view reads its batches.

The pipeline may delete the version while it is open here. On a local or shared folder the mapped files stay
readable, and take space, as long as the :class:`~penstock.Pipeline` object lives. Elsewhere, reading what was
deleted is an error that says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from penstock.circuit.layout import Layout
from penstock.circuit.program import Program
from penstock.errors import PipelineError, StorageError
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.stored_state import StoredState
from penstock.schedule.change_log import with_step
from penstock.schedule.opening import Opening
from penstock.schedule.worker import Worker
from penstock.spark.runtime import rows_of
from penstock.storage import Backend, ReadOnlyBackend, Version, VersionStore
from penstock.zset import ZSet

__all__ = ["OpenedVersion", "find_version", "open_state"]

_ATTEMPTS = 3


def find_version(backend: Backend, number: int) -> Version:
    """The version of that number, if it can be opened."""
    versions = VersionStore(backend)
    newest = versions.newest()
    if newest is None:
        raise PipelineError(f"{backend.url} holds no pipeline: there is no manifest in it")
    numbers = [*(found.number for found in versions.earlier(newest)), newest.number]
    if number not in numbers:
        raise PipelineError(
            f"there is no version {number} to be opened in {backend.url}; there are: "
            f"{', '.join(map(str, numbers))}. Keep more with Pipeline(retain_versions=…) or "
            "Pipeline(retain_for=…)"
        )
    return versions.load(number)


def open_state(backend: Backend, name: str, number: int) -> StoredState:
    """A version of the pipeline ``name``, with its files held. A running pipeline may delete the version
    while it is being opened: then the next attempt says that it is gone."""
    for attempt in range(_ATTEMPTS):
        try:
            version = find_version(backend, number)
            held = ReadOnlyBackend(backend, VersionStore(backend).files(version))
            return StoredState(held, name, VersionStore(held), version)
        except StorageError:
            if attempt == _ATTEMPTS - 1:
                raise
    raise AssertionError("unreachable")


class OpenedVersion:
    """Reads ``store``, a version that ``program`` made. ``backend`` is where the pipeline goes on."""

    recovering = False
    late = None
    restarts = 0

    def __init__(self, program: Program, store: StoredState, backend: Backend) -> None:
        self.program, self.store, self._backend = program, store, backend
        self.step = store.step
        self.times = dict(store.version.times)
        self.metrics = Metrics.of(store.version.pipeline, program)
        self._worker = Worker(program, 0, Layout.even(1), store.backend, store.seed)

    def open(self) -> None:
        """Opens the arrangements. Raises if the version lacks some of the program's."""
        version = self.store.version
        opening = Opening.of(version, self.program.slots)
        if opening.missing:
            circuit, lacking = self.program.circuit, set(opening.missing)
            views = [v for v, node in circuit.views.items() if circuit.nodes[node].slot(0) in lacking]
            raise PipelineError(
                f"version {version.number} lacks what was declared after it, or differently"
                f"{': ' if views else ''}{', '.join(views)}. Declare only what it has, or open the pipeline "
                "without version= to add it"
            )
        self._worker.open(opening)

    def refusal(self) -> PipelineError:
        """The error for an attempt to change something."""
        number, url = self.store.version.number, self._backend.url
        return PipelineError(
            f"version {number} was opened to be read: nothing can be changed in it. Open the pipeline "
            f"without version= to go on from the newest version; to go back to this one for good: "
            f"penstock restore {url} --version {number}"
        )

    def find_out(self) -> None:
        """Nothing happens here that could be interrupted."""

    def read(self, name: str) -> pa.Table:
        """The rows of a table or view with their weights."""
        return pa.Table.from_batches(list(rows_of(self._worker, name)))

    @property
    def changes_after(self) -> int:
        """The changes of views are known for all steps after this one, up to the version's."""
        return self.store.version.changes_after

    def recent_changes(self, view: str, since: int) -> pa.Table:
        """None: the version has them all."""
        node = self.program.circuit.nodes[self.program.circuit.views[view]]
        return pa.Table.from_batches(with_step(ZSet.empty(node.operator.schema), 0))

    @contextmanager
    def still_there(self) -> Iterator[None]:
        """For reading: if a file is gone because the version was deleted, says that."""
        try:
            yield
        except StorageError as error:
            try:
                find_version(self._backend, self.store.version.number)
            except StorageError:
                raise error from None
            except PipelineError as gone:
                raise PipelineError(f"the version was deleted while it was open: {gone}") from error
            raise

    def close(self) -> None:
        """Nothing is left to do."""

    def kill(self) -> None:
        """Nothing is left to do."""
