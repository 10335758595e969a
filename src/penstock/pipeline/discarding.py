"""Files that are taken out of a pipeline are kept in ``discarded/``, for people who change their minds.

A restore (:mod:`.restore`) has happened when its version is published. What it takes out of the pipeline is
moved after that, by the restore itself or, if that was killed, by whoever opens the pipeline next for
writing. Until then nobody refers to those files: later versions are not among those that the new version
names, and its branch has a log of its own.
"""

from __future__ import annotations

import re

from penstock.pipeline.garbage import written_for
from penstock.pipeline.stored_state import branch_of
from penstock.storage import Backend, LocalBackend, Unreadable, Version, VersionStore

__all__ = ["discard", "finish_restore", "remove_unused_logs"]

_METRICS = re.compile(r"metrics/(\d{10})-[0-9a-f]{12}\.json")


def discard(backend: Backend, name: str, folder: str) -> None:
    """Moves a file to ``discarded/<folder>/``. Can be repeated after a crash."""
    target = f"discarded/{folder}/{name}"
    if isinstance(backend, LocalBackend):
        backend.move(name, target)
        return
    if not backend.exists(target):
        backend.write_new(target, [backend.open(name)])
    backend.delete(name)


def remove_unused_logs(backend: Backend, branch: int) -> None:
    """Deletes the logs, without steps, that a restore started before it was killed and nothing came of it."""
    for name in (*backend.list("input-"), *backend.list("acknowledged-")):
        if (branch_of(name) or 0) > branch:
            backend.delete(name)


def finish_restore(backend: Backend, versions: VersionStore, newest: Version) -> None:
    """If the newest version was made by a restore, takes out what it does not refer to. Manifests go last
    and the newest of them first: those that are left can still be read."""
    if newest.number != newest.branch:
        return
    earlier = versions.earlier(newest)
    folder = f"restore-{newest.number:010d}"
    kept = {found.number for found in earlier}
    needed = versions.files(newest)
    for found in versions.load_each(kept):
        if isinstance(found, Unreadable):
            # It is not known what it refers to. The garbage collector deals with that.
            needed |= {name for name in backend.list("segments/") if written_for(name) <= found.number}
            needed |= {name for name in backend.list("changes/") if written_for(name) <= found.number}
            continue
        needed |= versions.files(found)
    for name in (*backend.list("segments/"), *backend.list("changes/")):
        if 0 <= written_for(name) <= newest.number and name not in needed:
            discard(backend, name, folder)
    for name in backend.list():
        metrics = _METRICS.fullmatch(name)
        if branch_of(name) not in (None, newest.branch) or (metrics and int(metrics[1]) < newest.number):
            discard(backend, name, folder)
    last = max(kept, default=0)
    for number in reversed(versions.numbers()):
        if last < number < newest.number:
            discard(backend, f"manifest/{number:010d}.json", folder)
