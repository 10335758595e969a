"""Files as objects of a bucket: S3 and what speaks its protocol, Google Cloud Storage, Azure.

Publishing is one conditional request: an object is created only if its name is free, and is complete from the
first moment on (:mod:`.object_store`). Files that grow are sequences of objects (:mod:`.object_log`), whose
one writer holds a lease (:mod:`.lease`). A draft is a local file until it is published.

Reading: the chunks that a reader asks for are joined into larger requests, several of which run at a time.
What was read is kept on a local disk in blocks of ``BLOCK_BYTES`` (:mod:`.block_cache`).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pyarrow as pa

from penstock.errors import InUse, StorageError
from penstock.storage.block_cache import BlockCache, cache_folder
from penstock.storage.fetcher import Fetcher
from penstock.storage.interface import (
    GROWING,
    IoCounts,
    Names,
    Part,
    Pointer,
    check_name,
    joined,
    to_buffer,
)
from penstock.storage.lease import Lease
from penstock.storage.object_draft import ObjectDraft
from penstock.storage.object_log import GrownFile, ObjectAppender, grown_file, parts_folder
from penstock.storage.object_store import ObjectInfo, ObjectStore

__all__ = ["BLOCK_BYTES", "ObjectBackend"]

BLOCK_BYTES = 256 << 10
"""What is read and cached at least. An object store takes about as long for it as for a single byte."""
_CACHE_GB = 8.0
_READERS = 64
_GAP_BYTES = BLOCK_BYTES
_RUN_BYTES = 8 << 20
_KNOWN_MAX = 10_000
_LEASE = ".lease"


class ObjectBackend:
    """All objects below ``url``, for example ``s3://bucket/prefix``.

    Options may follow a question mark: ``cache=FOLDER`` (or ``off``) and ``cache_gb=NUMBER`` for the local
    cache of blocks."""

    def __init__(self, url: str, *, retry_s: float = 30.0) -> None:
        self.url = url
        place, options = _split(url)
        self._store = ObjectStore(place, retry_s=retry_s)
        self._place = place
        self._cache = _cache(url, options)
        self._fetcher = Fetcher(self._read_piece, threads=_READERS, gap=_GAP_BYTES, most=_RUN_BYTES)
        self._known: OrderedDict[str, ObjectInfo] = OrderedDict()
        self._made: dict[str, ObjectInfo] = {}
        self._leases: dict[str, tuple[Lease, set[str]]] = {}
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        return f"ObjectBackend({self.url!r})"

    def __reduce__(self) -> tuple[type[ObjectBackend], tuple[str]]:
        return ObjectBackend, (self.url,)

    @property
    def maps_files(self) -> bool:
        return False

    @property
    def reads_in_place(self) -> bool:
        return False

    @property
    def is_remote(self) -> bool:
        return True

    @property
    def counts(self) -> IoCounts:
        cache = self._cache
        hits, misses = (cache.hits, cache.misses) if cache is not None else (0, 0)
        ahead, waits = self._fetcher.prefetched, self._fetcher.waits
        return IoCounts(self._store.reads, self._store.bytes_read, ahead, waits, hits, misses)

    # ---- writing ----------------------------------------------------------------------------------

    def write_new(self, name: str, parts: Sequence[Part]) -> None:
        tag = self._store.put_new(check_name(name), parts)
        if name.endswith(GROWING):
            with self._lock:
                self._made[name] = ObjectInfo(sum(to_buffer(part).size for part in parts), tag)

    def draft(self) -> ObjectDraft:
        return ObjectDraft(self._store)

    def delete(self, name: str) -> None:
        grown: list[str] = []
        if check_name(name).endswith(GROWING) and (info := self._store.head(name)) is not None:
            grown = list(self._store.list(parts_folder(name, info)))
        with self._lock:
            self._made.pop(name, None)
            self._known.pop(name, None)
        self._store.delete([name])
        self._store.delete(grown)

    def sync(self, name: str) -> None:
        self._store.info(check_name(name))

    # ---- reading ----------------------------------------------------------------------------------

    def open(self, name: str) -> pa.Buffer:
        if check_name(name).endswith(GROWING):
            found = self._grown(name)
            return joined(list(self.read(found.pieces)))
        return joined([self._store.get(name)])

    def read_at(self, name: str, offset: int, length: int) -> pa.Buffer:
        if check_name(name).endswith(GROWING):
            found = self._grown(name)
            return joined(list(self.read(found.between(offset, offset + length))))
        return joined([self._store.get(name, offset, length)])

    def read(self, pointers: Sequence[Pointer]) -> Iterator[pa.Buffer]:
        return self._fetcher.read(pointers)

    def read_end(self, name: str, length: int) -> tuple[pa.Buffer, int]:
        content, info = self._store.get_end(check_name(name), max(length, BLOCK_BYTES))
        self._know(name, info)
        if self._cache is not None:
            start = info.size - content.size
            for block in range(-(-start // BLOCK_BYTES), -(-info.size // BLOCK_BYTES)):
                self._cache.put(
                    self._key(name, info, block), _part(content, block * BLOCK_BYTES - start, BLOCK_BYTES)
                )
        return joined([_part(content, content.size - length, length)]), info.size

    def prefetch(self, pointers: Sequence[Pointer]) -> None:
        self._fetcher.prefetch(pointers)

    def get_buffer(self, size: int) -> pa.Buffer:
        return pa.allocate_buffer(size)

    def size(self, name: str) -> int:
        if check_name(name).endswith(GROWING):
            return self._grown(name).size
        return self._store.info(name).size

    def list(self, prefix: str = "") -> Names:
        folder, _, _ = prefix.rpartition("/")
        found = self._store.list(folder)
        return sorted(
            name for name in found if name.startswith(prefix) and not any(map(_is_hidden, name.split("/")))
        )

    def exists(self, name: str) -> bool:
        return self._store.head(check_name(name)) is not None

    def _read_piece(self, pointer: Pointer) -> pa.Buffer:
        """Bytes of an object, of which whole blocks are read and cached, unless it is a part of a log."""
        if self._cache is None or any(map(_is_hidden, pointer.name.split("/"))) or pointer.length == 0:
            return joined([self._store.get(pointer.name, pointer.offset, pointer.length)])
        info = self._known.get(pointer.name) or self._know(pointer.name, self._store.info(pointer.name))
        stop = min(pointer.offset + pointer.length, info.size)
        first, last = pointer.offset // BLOCK_BYTES, -(-stop // BLOCK_BYTES)
        blocks = {i: self._cache.get(self._key(pointer.name, info, i)) for i in range(first, last)}
        for start, end in _missing(blocks):
            content = self._store.get(pointer.name, start * BLOCK_BYTES, (end - start) * BLOCK_BYTES)
            for i in range(start, end):
                blocks[i] = found = _part(content, (i - start) * BLOCK_BYTES, BLOCK_BYTES)
                self._cache.put(self._key(pointer.name, info, i), found)
        parts = []
        for i, block in blocks.items():
            begin = max(pointer.offset - i * BLOCK_BYTES, 0)
            parts.append(_part(block, begin, stop - i * BLOCK_BYTES - begin))
        return joined(parts)

    def _key(self, name: str, info: ObjectInfo, block: int) -> str:
        return f"{self._place}\n{name}\n{info.etag}\n{BLOCK_BYTES}\n{block}"

    def _know(self, name: str, info: ObjectInfo) -> ObjectInfo:
        with self._lock:
            self._known[name] = info
            while len(self._known) > _KNOWN_MAX:
                self._known.popitem(last=False)
        return info

    # ---- files that grow --------------------------------------------------------------------------

    def _grown(self, name: str) -> GrownFile:
        info = self._store.info(name)
        return self._grown_from(name, info)

    def _grown_from(self, name: str, info: ObjectInfo) -> GrownFile:
        return grown_file(name, info, self._store.list(parts_folder(name, info)), self._store.get)

    def appender(self, name: str) -> ObjectAppender:
        if not check_name(name).endswith(GROWING):
            raise StorageError(f"{name} cannot be appended to: only files that end in {GROWING} can")
        info = self._made.get(name) or self._store.info(name)
        lease = self._lease(name)
        folder = parts_folder(name, info)

        def look() -> GrownFile:
            return self._grown_from(name, info)

        def appends(last: int) -> ObjectAppender:
            return ObjectAppender(self._store, name, folder, last, look, lambda: self._release(name))

        try:
            if self._made.pop(name, None) is not None:
                # Made by this writer: whoever takes the lease after it is confirmed finds the file.
                lease.confirm()
                return appends(0)
            appender = appends(look().last)
            appender.claim()
            return appender
        except BaseException:
            self._release(name)
            raise

    def _lease(self, name: str) -> Lease:
        """The lease of the file's folder, which all its files share: a log goes on from one to the next."""
        folder, _, _ = name.rpartition("/")
        with self._lock:
            if folder not in self._leases:
                lease = Lease(self._store, f"{folder}/{_LEASE}" if folder else _LEASE, name)
                self._leases[folder] = (lease, set())
            lease, names = self._leases[folder]
            if name in names:
                raise InUse(f"{name} is being appended to by another writer")
            names.add(name)
            return lease

    def _release(self, name: str) -> None:
        folder, _, _ = name.rpartition("/")
        with self._lock:
            lease, names = self._leases.get(folder, (None, set[str]()))
            names.discard(name)
            if lease is None or names:
                return
            del self._leases[folder]
        lease.release()


def _split(url: str) -> tuple[str, dict[str, str]]:
    """The place, and the options behind the question mark."""
    parts = urlsplit(url)
    if not parts.netloc:
        raise StorageError(f"{url}: a bucket is missing; write {parts.scheme}://bucket/prefix")
    if "@" in parts.netloc and parts.scheme not in ("abfs", "abfss"):
        raise StorageError(f"{parts.scheme}://…: credentials belong in the environment, not in the URL")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    unknown = sorted(options.keys() - {"cache", "cache_gb"})
    if unknown:
        raise StorageError(f"{url}: the option {unknown[0]!r} is not known; there are cache and cache_gb")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}", options


def _cache(url: str, options: dict[str, str]) -> BlockCache | None:
    try:
        size = float(options.get("cache_gb", _CACHE_GB))
    except ValueError:
        raise StorageError(f"{url}: cache_gb is a number of gigabytes") from None
    chosen, default = options.get("cache", ""), cache_folder()
    folder = Path(chosen) if chosen else default / "blocks" if default is not None else None
    if folder is None or chosen == "off" or size <= 0:
        return None
    return BlockCache(folder, int(size * 1e9))


def _is_hidden(component: str) -> bool:
    return component.startswith(".")


def _part(content: pa.Buffer | None, start: int, length: int) -> pa.Buffer:
    """Some bytes, as far as they are there."""
    assert content is not None
    start = max(0, min(start, content.size))
    return content.slice(start, max(0, min(length, content.size - start)))


def _missing(blocks: dict[int, pa.Buffer | None]) -> list[tuple[int, int]]:
    """Runs of neighbouring blocks that are not there."""
    runs: list[tuple[int, int]] = []
    for number in [number for number, block in blocks.items() if block is None]:
        if runs and runs[-1][1] == number:
            runs[-1] = (runs[-1][0], number + 1)
        else:
            runs.append((number, number + 1))
    return runs
