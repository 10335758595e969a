"""Deletes files that no retained version refers to, and nothing else.

A segment or page is referred to by versions that follow one another, from the one it was written for. So for
each file it is enough to know the last version that refers to it: when that one is no longer retained, the
file goes. What the versions before this process refer to is read once, in the background, and each new
version adds its own references.

Files that no version ever referred to (of a crashed commit, or of a merge that was merged again) are found
by listing the folder. A version may be in the making, so only files written for an earlier one than the
newest are garbage. Listing costs as much as there are files: with many retained versions it is done once for
several of them.

A retained version that cannot be read might refer to anything written up to it, so nothing of that is deleted
until it is no longer retained. Files whose names Penstock does not write are never deleted.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence

from penstock.errors import StorageError
from penstock.storage import Backend, Unreadable, Version, VersionStore

__all__ = ["PAGE", "SEGMENT", "Garbage", "written_for"]

SEGMENT = re.compile(r"segments/(\d{10})-w\d{4,}-[0-9a-f]{12}\.seg")
PAGE = re.compile(r"changes/(\d{10})-[0-9a-f]{12}\.json")
_LISTINGS = 8
"""How often the folder is listed while the retained versions are replaced once."""

_log = logging.getLogger(__name__)


class Garbage:
    """Collects the garbage of one storage. One thread at a time."""

    def __init__(self, backend: Backend, versions: VersionStore) -> None:
        self._backend, self._versions = backend, versions
        self._last: dict[str, int] = {}  # the last version that refers to a file
        self._known: set[int] = set()  # the versions whose references are in there
        self._unreadable: set[int] = set()
        self._until_listing = 0  # versions; what a crash left is found with the first one

    def collect(self, earlier: Sequence[int], newest: Version) -> None:
        """Deletes all that ``newest`` and the ``earlier`` versions (oldest first) do not refer to."""
        oldest = earlier[0] if earlier else newest.number
        self._learn(earlier, newest)
        self._known = {number for number in self._known if number >= oldest}
        self._unreadable = {number for number in self._unreadable if number >= oldest}
        unknown = max(self._unreadable, default=-1)
        for name in [name for name, last in self._last.items() if last < oldest]:
            if written_for(name) > unknown:
                self._delete(name)
        self._until_listing -= 1
        if self._until_listing < 0:
            self._until_listing = len(earlier) // _LISTINGS
            self._versions.prune(oldest)
            for name in (*self._backend.list("segments/"), *self._backend.list("changes/")):
                if name not in self._last and unknown < written_for(name) < newest.number:
                    self._delete(name)

    def _learn(self, earlier: Sequence[int], newest: Version) -> None:
        seen = self._known | self._unreadable
        new = [number for number in earlier if number not in seen]
        for version in (newest, *self._versions.load_each(new)):
            try:
                if isinstance(version, Unreadable):
                    raise version.problem
                files = self._versions.files(version)
            except StorageError as problem:
                self._unreadable.add(version.number)
                _log.warning("version %d cannot be opened any more: %s", version.number, problem)
                continue
            for name in files:
                self._last[name] = max(version.number, self._last.get(name, 0))
            self._known.add(version.number)

    def _delete(self, name: str) -> None:
        self._backend.delete(name)
        self._last.pop(name, None)
        self._versions.forget_page(name)


def written_for(name: str) -> int:
    """The version that a segment or page was written for, by its name; -1 for any other file."""
    match = SEGMENT.fullmatch(name) or PAGE.fullmatch(name)
    return -1 if match is None else int(match[1])
