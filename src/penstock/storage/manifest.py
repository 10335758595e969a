"""Manifests: the chain of versions. What the newest one names exists; nothing else does.

A version is one small JSON file, ``manifest/0000000042.json``, published exclusively: of two writers that
want to make the same version one wins and the other is told so. A version may only follow its
predecessor, so the chain has no holes in which two writers could miss each other. Files are never
changed; a crash while committing leaves the previous version the newest.

A damaged manifest is an error that names it, never a reason to fall back silently to an older version:
what the newest one acknowledged would be lost. ``load`` an older version explicitly to do that on
purpose.

Cost: a commit is two syncs; finding the newest version is one folder listing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.errors import CorruptionError, StorageError
from penstock.storage import strict_json
from penstock.storage.checksum import crc32c
from penstock.storage.interface import Backend, NameTakenError

__all__ = ["MANIFEST_FORMAT", "Manifest", "ManifestStore"]

MANIFEST_FORMAT = 1
_FOLDER = "manifest/"
_NAME = re.compile(r"manifest/(\d{10})\.json")
# Fixed at the start of the file, so that format and checksum can be read before the JSON is trusted.
_PREFIX = re.compile(rb'\{"format":(\d{1,9}),"crc32c":"([0-9a-f]{8})",')


@dataclass(frozen=True)
class Manifest:
    """One version: its number, and what the pipeline says of it (JSON)."""

    version: int
    body: Mapping[str, Any]


class ManifestStore:
    """The versions kept in one backend."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def versions(self) -> list[int]:
        """The versions that can be loaded, oldest first."""
        matches = (_NAME.fullmatch(name) for name in self._backend.list(_FOLDER))
        return [int(match[1]) for match in matches if match]

    def latest(self) -> Manifest | None:
        """The newest version, now certainly durable, or None in a new store."""
        versions = self.versions()
        if not versions:
            return None
        # Its writer may have died before its own sync. What is about to be relied on must not vanish.
        self._backend.sync(_name(versions[-1]))
        return self.load(versions[-1])

    def load(self, version: int) -> Manifest:
        """One version, checked."""
        name = _name(version)
        return _decode(name, version, bytes(self._backend.open(name)))

    def commit(self, manifest: Manifest) -> None:
        """Make the next version. A StorageError means somebody else made it, or skipped ahead."""
        version = manifest.version
        name = _name(version)
        content = _encode(name, manifest)
        have = self.versions()
        if have and have[-1] < version - 1:
            raise StorageError(f"version {version} cannot be committed: the newest version is {have[-1]}")
        taken = f"version {version} was committed by another writer; the newest version is"
        if have and version <= have[-1]:
            raise StorageError(f"{taken} {have[-1]}")
        try:
            self._backend.write_new(name, [content])
        except NameTakenError as error:
            raise StorageError(f"{taken} {self.versions()[-1]}") from error

    def prune(self, keep: int) -> list[int]:
        """Delete all but the newest ``keep`` versions, oldest first; the versions deleted."""
        if keep < 1:
            raise ValueError("the newest version is always kept")
        gone = self.versions()[:-keep]
        for version in gone:
            self._backend.delete(_name(version))
        return gone


def _name(version: int) -> str:
    if not 0 <= version < 10**10:
        raise StorageError(f"{version} is not a version number")
    return f"{_FOLDER}{version:010d}.json"


def _encode(name: str, manifest: Manifest) -> bytes:
    rest = strict_json.encode({"version": manifest.version, "body": dict(manifest.body)}, name)[1:] + b"\n"
    crc = crc32c([b"%d" % MANIFEST_FORMAT, rest])
    return b'{"format":%d,"crc32c":"%08x",' % (MANIFEST_FORMAT, crc) + rest


def _decode(name: str, version: int, content: bytes) -> Manifest:
    prefix = _PREFIX.match(content)
    if prefix is None:
        raise CorruptionError(
            f"{name}: the manifest of version {version} does not start as one; it is damaged"
        )
    rest = content[prefix.end() :]
    expected, found = int(prefix[2], 16), crc32c([prefix[1], rest])
    if found != expected:
        raise CorruptionError(
            f"{name}: the manifest of version {version} is damaged: "
            f"its checksum is {found:08x}, {expected:08x} was written"
        )
    if int(prefix[1]) != MANIFEST_FORMAT:
        raise StorageError(
            f"{name}: manifest format {int(prefix[1])} is not known to this version of Penstock "
            f"(it reads {MANIFEST_FORMAT}); a newer one wrote the file"
        )
    value = strict_json.decode(b"{" + rest)
    assert isinstance(value, dict)
    if value["version"] != version:
        raise CorruptionError(
            f"{name}: the file holds version {value['version']}; it was renamed or misplaced"
        )
    return Manifest(version, value["body"])
