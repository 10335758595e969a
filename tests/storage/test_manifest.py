"""Manifests: one writer per version, no holes in the chain, no silent falling back."""

from __future__ import annotations

import json

import pytest

from penstock.errors import CorruptionError, StorageError
from penstock.storage import Backend, Manifest, ManifestStore, MemoryBackend
from penstock.storage.manifest import Base

BODY = {"step": 12, "segments": [{"name": "segments/a.seg", "workers": [0, 1]}], "note": "grüße"}


def loaded(store: ManifestStore) -> Manifest:
    found = store.latest()
    assert found is not None
    return found.manifest


def test_an_empty_store_has_no_latest_version(backend: Backend) -> None:
    assert ManifestStore(backend).latest() is None
    assert ManifestStore(backend).versions() == []


def test_a_committed_version_is_the_latest_for_everybody(backend: Backend) -> None:
    store = ManifestStore(backend)
    store.commit(Manifest(0, BODY))
    store.commit(Manifest(1, BODY | {"step": 13}))
    assert loaded(ManifestStore(backend)) == Manifest(1, BODY | {"step": 13})
    assert store.load(0).manifest == Manifest(0, BODY)
    assert store.versions() == [0, 1]


def test_the_file_is_json_that_starts_with_its_format(backend: Backend) -> None:
    ManifestStore(backend).commit(Manifest(42, BODY))
    content = bytes(backend.open("manifest/0000000042.json"))
    assert content.startswith(b'{"format":2,')
    value = json.loads(content)
    assert (value["version"], value["body"]) == (42, BODY)


def test_a_second_writer_of_a_version_is_told(backend: Backend) -> None:
    first, second = ManifestStore(backend), ManifestStore(backend)
    first.commit(Manifest(1, {"by": "first"}))
    with pytest.raises(StorageError, match="version 1 was committed by another writer"):
        second.commit(Manifest(1, {"by": "second"}))
    assert second.load(1).manifest.body == {"by": "first"}


@pytest.mark.parametrize("version", [0, 3, 6, 8])
def test_a_version_must_follow_the_newest(backend: Backend, version: int) -> None:
    store = ManifestStore(backend)
    for known in (4, 5, 6):
        store.commit(Manifest(known, {}))
    with pytest.raises(StorageError, match=f"version {version}"):
        store.commit(Manifest(version, {}))
    assert store.versions() == [4, 5, 6]


def test_prune_keeps_the_newest(backend: Backend) -> None:
    store = ManifestStore(backend)
    for version in range(1, 6):
        store.commit(Manifest(version, {}))
    assert store.prune_before(4) == [1, 2, 3]
    assert store.versions() == [4, 5]
    assert store.prune_before(4) == []
    assert store.prune_before(9) == [4]  # the newest one stays
    store.commit(Manifest(6, {}))


def test_a_delta_names_what_it_is_a_change_to(backend: Backend) -> None:
    store = ManifestStore(backend)
    store.commit(Manifest(4, BODY))
    whole = store.load(4)
    store.commit(Manifest(5, {"step": 13}, Base(4, whole.crc32c, 4)))
    delta = store.load(5)
    assert delta.manifest == Manifest(5, {"step": 13}, Base(4, whole.crc32c, 4))
    assert (delta.format, delta.size) == (2, backend.size("manifest/0000000005.json"))
    assert store.base_of(delta.manifest) == whole


def test_a_base_that_is_missing_or_another_is_named() -> None:
    backend = MemoryBackend()
    store = ManifestStore(backend)
    store.commit(Manifest(4, BODY))
    delta = Manifest(5, {}, Base(4, store.load(4).crc32c, 4))
    store.commit(delta)
    content = bytes(backend.open("manifest/0000000004.json"))
    backend.delete("manifest/0000000004.json")
    with pytest.raises(CorruptionError, match=r"0000000004\.json is missing, and manifest/0000000005"):
        store.base_of(delta)
    backend.write_new("manifest/0000000004.json", [content[:-2]])
    with pytest.raises(CorruptionError, match=r"0000000004\.json.*damaged"):
        store.base_of(delta)
    backend.delete("manifest/0000000004.json")
    ManifestStore(other := MemoryBackend()).commit(Manifest(4, {}))
    backend.write_new("manifest/0000000004.json", [other.open("manifest/0000000004.json")])
    with pytest.raises(CorruptionError, match=r"0000000004\.json has the checksum.*do not belong together"):
        store.base_of(delta)


@pytest.mark.parametrize("body", [{1: "a"}, {"a": {2: 1}}, {"a": float("nan")}, {"a": b"bytes"}])
def test_a_body_that_would_not_come_back_is_refused(backend: Backend, body: dict[str, object]) -> None:
    with pytest.raises(StorageError, match=r"manifest/0000000001\.json"):
        ManifestStore(backend).commit(Manifest(1, body))
    assert ManifestStore(backend).latest() is None


def spoiled(content: bytes) -> ManifestStore:
    backend = MemoryBackend()
    store = ManifestStore(backend)
    store.commit(Manifest(1, {"sound": True}))
    backend.write_new("manifest/0000000002.json", [content])
    return store


def content_of_version(version: int) -> bytes:
    backend = MemoryBackend()
    ManifestStore(backend).commit(Manifest(version, BODY))
    return bytes(backend.open(f"manifest/{version:010d}.json"))


def test_every_damaged_or_missing_byte_of_the_newest_is_reported_and_named() -> None:
    content = content_of_version(2)
    broken = [content[:size] for size in range(len(content))]
    broken += [content[:i] + bytes([content[i] ^ 4]) + content[i + 1 :] for i in range(len(content))]
    broken += [content + b"x"]
    for case in broken:
        with pytest.raises(CorruptionError, match=r"manifest/0000000002\.json"):
            spoiled(case).latest()


def test_an_older_version_can_still_be_loaded_on_purpose() -> None:
    assert spoiled(b"torn").load(1).manifest == Manifest(1, {"sound": True})


def test_a_manifest_under_another_version_s_name_is_found() -> None:
    with pytest.raises(CorruptionError, match="holds version 7"):
        spoiled(content_of_version(7)).latest()


def test_other_files_in_the_folder_are_ignored(backend: Backend) -> None:
    backend.write_new("manifest/0000000009.json.half", [b"{"])
    backend.write_new("manifest/notes.txt", [b""])
    assert ManifestStore(backend).versions() == []


class Overtaken(MemoryBackend):
    """Somebody else commits between this writer's look at the versions and its own commit."""

    def list(self, prefix: str = "") -> list[str]:
        names = super().list(prefix)
        if not names:
            ManifestStore(other := MemoryBackend()).commit(Manifest(1, {"by": "the other"}))
            self.write_new("manifest/0000000001.json", [other.open("manifest/0000000001.json")])
        return names


def test_a_writer_overtaken_at_the_last_moment_is_told() -> None:
    store = ManifestStore(Overtaken())
    with pytest.raises(StorageError, match="version 1 was committed by another writer"):
        store.commit(Manifest(1, {"by": "me"}))
    assert store.load(1).manifest.body == {"by": "the other"}
