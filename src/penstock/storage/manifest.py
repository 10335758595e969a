"""Manifests: the chain of versions. Only what the newest one refers to exists.

A version is one small JSON file, ``manifest/0000000042.json``, published exclusively: of two writers that
want to create the same version one succeeds and the other gets an error. A version may only follow its
predecessor, so there are no gaps in which two writers could miss each other; only a restore, while nobody
writes, takes away versions between an old one and its own. Files are never changed; a crash during a commit
leaves the previous version the newest.

Most versions are stored as a delta to the one before, whose checksum they name; every so often one is stored
whole. So opening a version reads a chain of files, and a missing or damaged one is an error that names it.

A damaged manifest is an error that names it, never a reason to fall back silently to an older version: what
the newest one acknowledged would be lost. ``load`` an older version explicitly to do that on purpose.

Cost: a commit is two syncs; finding the newest version is one folder listing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.errors import CorruptionError, StorageError
from penstock.storage.interface import Backend, NameTakenError
from penstock.storage.sealed_json import seal, unseal

__all__ = ["MANIFEST_FORMAT", "Base", "Manifest", "ManifestStore", "StoredManifest", "measured"]

MANIFEST_FORMAT = 2
_FOLDER = "manifest/"
_NAME = re.compile(r"manifest/(\d{10})\.json")


@dataclass(frozen=True, slots=True)
class Base:
    """What a manifest is a delta to: the manifest of the version before, with this checksum. ``whole`` is the
    newest version before it that is stored whole, where the chain begins."""

    version: int
    crc32c: int
    whole: int


@dataclass(frozen=True)
class Manifest:
    """One version: its number, and the pipeline's data about it (JSON), whole or as a delta to ``base``."""

    version: int
    body: Mapping[str, Any]
    base: Base | None = None


@dataclass(frozen=True, slots=True)
class StoredManifest:
    """A manifest as it was found: its format, checksum and size in bytes."""

    manifest: Manifest
    format: int
    crc32c: int
    size: int


class ManifestStore:
    """The versions kept in one backend."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def versions(self) -> list[int]:
        """The versions that can be loaded, oldest first."""
        matches = (_NAME.fullmatch(name) for name in self._backend.list(_FOLDER))
        return [int(match[1]) for match in matches if match]

    def has(self, version: int) -> bool:
        """Whether there is such a version."""
        return version >= 0 and self._backend.exists(_name(version))

    def latest(self) -> StoredManifest | None:
        """The newest version, guaranteed durable, or None in a new store."""
        versions = self.versions()
        if not versions:
            return None
        # Its writer may have died before its own sync. What we rely on from here must be durable.
        self._backend.sync(_name(versions[-1]))
        return self.load(versions[-1])

    def load(self, version: int) -> StoredManifest:
        """One version, checked."""
        name = _name(version)
        return _decode(name, version, bytes(self._backend.open(name)))

    def base_of(self, manifest: Manifest) -> StoredManifest:
        """The manifest that one is a delta to, checked to be that."""
        base = manifest.base
        assert base is not None
        name, of = _name(base.version), _name(manifest.version)
        if not self._backend.exists(name):
            raise CorruptionError(
                f"{name} is missing, and {of} is stored as a change to it. Restore it from a backup"
            )
        found = self.load(base.version)
        if found.crc32c != base.crc32c:
            raise CorruptionError(
                f"{name} has the checksum {found.crc32c:08x}, but {of} is a change to one with "
                f"{base.crc32c:08x}: they do not belong together. Restore both from one backup"
            )
        return found

    def commit(self, manifest: Manifest) -> None:
        """Create the next version. A StorageError means that another writer created it, or a later one."""
        version = manifest.version
        name = _name(version)
        content, _ = _content(manifest)
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
        except StorageError:
            # It may have been published anyway, with only its last sync failing.
            if not self.holds(manifest):
                raise

    def holds(self, manifest: Manifest) -> bool:
        """Whether exactly this manifest is published; if so it is durable on return. For a writer whose
        commit failed and which must know whether it took effect."""
        name = _name(manifest.version)
        if not self._backend.exists(name):
            return False
        if bytes(self._backend.open(name)) != _content(manifest)[0]:
            return False
        self._backend.sync(name)
        return True

    def prune_before(self, first: int) -> list[int]:
        """Deletes all versions before ``first``, oldest first, but never the newest; the versions deleted."""
        gone = [version for version in self.versions()[:-1] if version < first]
        for version in gone:
            self._backend.delete(_name(version))
        return gone


def measured(manifest: Manifest) -> StoredManifest:
    """A manifest as it will be found when it is stored."""
    content, crc = _content(manifest)
    return StoredManifest(manifest, MANIFEST_FORMAT, crc, len(content))


def _name(version: int) -> str:
    if not 0 <= version < 10**10:
        raise StorageError(f"{version} is not a version number")
    return f"{_FOLDER}{version:010d}.json"


def _content(manifest: Manifest) -> tuple[bytes, int]:
    base = manifest.base
    value: dict[str, Any] = {"version": manifest.version}
    if base is None:
        value["body"] = dict(manifest.body)
    else:
        value["base"] = {"version": base.version, "crc32c": f"{base.crc32c:08x}", "whole": base.whole}
        value["delta"] = dict(manifest.body)
    return seal(_name(manifest.version), MANIFEST_FORMAT, value)


def _decode(name: str, version: int, content: bytes) -> StoredManifest:
    found = unseal(name, f"the manifest of version {version}", content, (1, MANIFEST_FORMAT), {"version"})
    value = found.value
    if value["version"] != version:
        raise CorruptionError(
            f"{name}: the file holds version {value['version']}; it was renamed or misplaced"
        )
    if "base" not in value:
        manifest = Manifest(version, value["body"])
    else:
        base = value["base"]
        manifest = Manifest(
            version, value["delta"], Base(base["version"], int(base["crc32c"], 16), base["whole"])
        )
    return StoredManifest(manifest, found.format, found.crc32c, len(content))
