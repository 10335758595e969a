"""Going back to an earlier version for good.

A restore publishes a new version with the state of the old one. It is one file that appears whole or not at
all, so a crash at any point leaves the pipeline as it was or restored. The new version

- has the next number, so no later version is ever mistaken for a discarded one;
- names its own branch, whose input log starts empty: the steps since the old version are in the log of the
  branch before, which is not read any more;
- lists as openable only the versions up to the old one.

What is then no longer part of the pipeline is moved to ``discarded/`` (:mod:`.discarding`).
"""

from __future__ import annotations

import logging
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace

from penstock.errors import CorruptionError, InUse, PipelineError, StorageError
from penstock.pipeline.discarding import finish_restore
from penstock.pipeline.heartbeat import in_use
from penstock.pipeline.stored_state import LOG_FILE, branch_of, log_folder
from penstock.storage import Backend, Log, Version, VersionStore, log_owner
from penstock.storage.frames import LogFile

__all__ = ["RestorePlan", "plan_restore", "restore"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RestorePlan:
    """What a restore of ``version`` would do. ``newest`` is the number of the newest version, ``last_step``
    the last step that is known; ``problem`` says why the newest version cannot be read, if it cannot."""

    version: Version
    newest: int
    last_step: int
    lost_versions: tuple[int, ...]
    problem: str = ""

    @property
    def lost_steps(self) -> int:
        """How many steps are undone."""
        return self.last_step - self.version.step

    @property
    def changes_anything(self) -> bool:
        """Whether anything would be lost."""
        return bool(self.lost_steps or self.lost_versions or self.problem)


@dataclass(frozen=True)
class _Folder:
    """The versions of a storage: the newest one, if it can be read, and those that can be opened."""

    numbers: tuple[int, ...]
    newest: Version | None
    problem: str

    @staticmethod
    def of(backend: Backend, versions: VersionStore) -> _Folder:
        numbers = versions.numbers()
        if not numbers:
            raise PipelineError(f"{backend.url} holds no pipeline: there is no manifest in it")
        try:
            newest = versions.load(numbers[-1])
        except StorageError as error:
            return _Folder(tuple(numbers[:-1]), None, str(error))
        return _Folder((*(e.number for e in versions.earlier(newest)), newest.number), newest, "")


def plan_restore(backend: Backend, number: int) -> RestorePlan:
    """What going back to version ``number`` means; changes nothing. Raises if it cannot be opened."""
    versions = VersionStore(backend)
    folder = _Folder.of(backend, versions)
    if number not in folder.numbers:
        listed = ", ".join(map(str, folder.numbers)) or "none"
        raise PipelineError(f"there is no version {number} to go back to; there are: {listed}")
    version = versions.load(number)
    gone = sorted(name for name in versions.files(version) if not backend.exists(name))
    if gone:
        raise CorruptionError(f"version {number} cannot be restored: {gone[0]} is missing")
    newest = versions.numbers()[-1]
    # Where the newest version cannot be read, it is not known which versions were openable.
    later = folder.numbers if folder.newest is not None else (*folder.numbers, newest)
    lost = tuple(found for found in later if found > number)
    return RestorePlan(version, newest, _last_step(backend, version, folder.newest), lost, folder.problem)


def restore(backend: Backend, number: int) -> Version:
    """Makes the state of version ``number`` the newest version, and returns that. Raises, and changes
    nothing, if the pipeline runs or the version cannot be opened."""
    with ExitStack() as locks:
        plan = plan_restore(backend, number)
        name = plan.version.pipeline
        try:
            for log in _last_files(backend, plan.newest):
                locks.callback(backend.appender(log).close)
        except InUse as error:
            raise in_use(name, backend.url) from error
        plan = plan_restore(backend, number)  # nobody else changes anything now
        version = _restored(VersionStore(backend), plan)
        _start_logs(backend, version, locks)
        store = VersionStore(backend)  # one that has read nothing stores the version whole
        prepared = store.prepare(version)
        store.publish(prepared)
        try:
            finish_restore(backend, store, prepared.version)
        except StorageError as problem:
            _log.warning(
                "version %d is restored, but what is no longer needed could not be moved to discarded/; the "
                "next run tries again: %s",
                number,
                problem,
            )
        return prepared.version


def _restored(versions: VersionStore, plan: RestorePlan) -> Version:
    old, number = plan.version, plan.newest + 1
    newest = None if plan.problem else versions.load(plan.newest)
    known = (*versions.earlier(newest), newest.mark) if newest is not None else versions.earlier(old)
    before = (*(found for found in known if found.number < old.number), old.mark)
    retention = old.retention if newest is None else newest.retention
    version = replace(old, number=number, made_us=time.time_ns() // 1000, branch=number, retention=retention)
    earlier = retention.kept(before, version.mark)
    return replace(version, earlier=earlier, oldest=earlier[0].number)


def _start_logs(backend: Backend, version: Version, locks: ExitStack) -> None:
    """Starts the logs of the new branch, and holds them: another process may open the pipeline as soon as the
    version is published. A restore that was killed before that may have left some."""
    for log in ("input", "acknowledged"):
        folder = log_folder(log, version.branch)
        for name in backend.list(f"{folder}/"):
            if LOG_FILE.fullmatch(name):
                backend.delete(name)
        owner = log_owner(version.seed, folder)
        started = locks.enter_context(Log(backend, folder, durable=log == "input", owner=owner))
        if log == "input":
            started.rotate(version.step + 1)
        else:
            started.append(version.step, [])


def _last_files(backend: Backend, newest: int) -> list[str]:
    """The last file of each log, which its writer holds. A restore that was killed too early may have left
    one of a branch that does not exist."""
    names = [name for name in backend.list() if LOG_FILE.fullmatch(name) and (branch_of(name) or 0) <= newest]
    return list({name.partition("/")[0]: name for name in names}.values())


def _last_step(backend: Backend, version: Version, newest: Version | None) -> int:
    """The last step that was acknowledged, as far as that can be read."""
    branch = version.branch if newest is None else newest.branch
    last = version.step if newest is None else newest.step
    for name in backend.list():
        match = LOG_FILE.fullmatch(name)
        if match is None or branch_of(name) != branch:
            continue
        last = max(last, int(match[2]) - 1)
        try:
            last = max([last, *(frame.step for frame in LogFile(backend, name).frames(last=True))])
        except CorruptionError:
            continue
    return last
