"""``check_folder``: everything that can be said about a state folder without opening it.

It takes no lock, changes no state, and needs neither Spark nor the pipeline's program. The folder may belong
to a pipeline that runs: what a newer version replaced meanwhile is not damage, so anything that looks missing
is looked at again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from penstock.errors import StorageError
from penstock.pipeline.checking.logs import LogCheck
from penstock.pipeline.checking.report import CheckReport, Note, Problem, Progress
from penstock.pipeline.checking.segments import SegmentCheck, uses_of
from penstock.pipeline.garbage import PAGE, SEGMENT
from penstock.pipeline.stored_state import LOG_FILE, SKIPPED, branch_of
from penstock.schedule.stored_version import StoredVersion, load_version, openable
from penstock.storage import Backend, LocalBackend, ManifestStore, VersionStore

__all__ = ["check_folder"]

_ATTEMPTS = 5
_OTHERS = re.compile(r"manifest/\d{10}\.json|metrics/\d{10}-[0-9a-f]{12}\.json|discarded/.*")
_KNOWN = (SEGMENT, PAGE, LOG_FILE, SKIPPED, _OTHERS)


def check_folder(backend: Backend, progress: Progress | None = None) -> CheckReport:
    """Checks every file of a folder."""
    versions, problems = _versions(backend)
    uses = uses_of(versions)
    names = sorted({*filter(SEGMENT.fullmatch, backend.list("segments/")), *uses})
    segments = SegmentCheck(backend, uses)
    total, done = sum(_size(backend, name) for name in names), 0
    for name in names:

        def advance(count: int, name: str = name) -> None:
            nonlocal done
            done += count
            if progress is not None:
                progress(name, done, total)

        advance(0)
        segments.check(name, advance)
    logs = _logs(backend, versions)
    files = backend.list()
    branch = versions[-1].branch if versions else 0
    notes = [*segments.notes, *logs.notes, *_leftovers(backend, files, branch)]
    return CheckReport(
        versions[-1].pipeline if versions else "",
        tuple(version.number for version in versions),
        len(files),
        segments.blocks,
        segments.rows,
        sum(_size(backend, name) for name in files),
        (*problems, *segments.problems, *logs.problems),
        tuple(sorted(notes, key=lambda note: note.file)),
    )


def _versions(backend: Backend) -> tuple[list[StoredVersion], list[Problem]]:
    """The versions that can be read, and what is wrong with the others."""
    store = VersionStore(backend)
    found: list[StoredVersion] = []
    problems: list[Problem] = []
    try:
        numbers = openable(store)
    except StorageError as error:
        numbers = store.numbers()
        problems.append(Problem("manifest/", str(error)))
    for number in numbers:
        name = f"manifest/{number:010d}.json"
        try:
            found.append(load_version(backend, store, number))
        except StorageError as error:
            if backend.exists(name) or store.numbers()[-1:] == numbers[-1:]:  # or a newer one replaced it
                problems.append(Problem(name, str(error), versions=(number,)))
    names = {version.pipeline for version in found}
    if len(names) > 1:
        what = f"versions of several pipelines: {', '.join(sorted(names))}"
        problems.append(Problem("manifest/", what))
    if not found and not problems and (left := [name for name in backend.list() if _is_known(name)]):
        what = f"no version is left, but {left[0]} shows that there was one"
        problems.append(Problem("manifest/", what))
    return found, problems


def _logs(backend: Backend, versions: Sequence[StoredVersion]) -> LogCheck:
    """The check of the logs, repeated if a version was published meanwhile: then files were dropped that the
    versions read before still needed."""
    for _ in range(_ATTEMPTS):
        checked = LogCheck(backend, versions)
        checked.check()
        if not checked.problems or not versions:
            return checked
        newest = ManifestStore(backend).versions()
        if newest and newest[-1] == versions[-1].number:
            return checked
        versions, _ = _versions(backend)
    return checked


def _is_known(name: str) -> bool:
    return any(pattern.fullmatch(name) for pattern in _KNOWN)


def _leftovers(backend: Backend, files: Sequence[str], branch: int) -> list[Note]:
    """Files that are no part of a pipeline, or that crashed writers left."""
    notes = [
        Note(name, "not a file of Penstock", _size(backend, name)) for name in files if not _is_known(name)
    ]
    notes += [
        Note(name, "given up by penstock recover or restore; never read", _size(backend, name))
        for name in files
        if name.startswith("discarded/")
    ]
    notes += [
        Note(name, "from before a restore; moved to discarded/ by the next run", _size(backend, name))
        for name in files
        if branch_of(name) not in (None, branch)
    ]
    if isinstance(backend, LocalBackend):
        notes += [
            Note(
                f".tmp/{name}", "being written, or left by a writer that died; removed by the next run", size
            )
            for name, size in backend.unfinished()
        ]
    return notes


def _size(backend: Backend, name: str) -> int:
    try:
        return backend.size(name)
    except StorageError:  # gone meanwhile
        return 0
