"""One prefix of a bucket: the requests that the object backend makes, and what can go wrong with them.

The library is obstore, imported on first use: it is an optional dependency. Credentials, region and endpoint
come from the environment (for S3 ``AWS_ACCESS_KEY_ID``, ``AWS_SECRET_ACCESS_KEY``, ``AWS_REGION``,
``AWS_ENDPOINT_URL``, or the role of the machine); none of them is stored, or shown in an error.

Failed requests are repeated by the library for ``retry_s`` seconds at most; then the error names the object.
A request to create an object may be repeated although it had succeeded, and is then told that the object
exists. So every object carries a random mark of the request that made it.
"""

from __future__ import annotations

import os
import re
import secrets
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.errors import StorageError
from penstock.storage.interface import NameTakenError, Part, joined, to_buffer

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["SCHEMES", "ObjectInfo", "ObjectStore"]

SCHEMES = ("s3", "gs", "az", "abfs", "abfss")
SINGLE_BYTES = 64 << 20
"""Objects up to this size are written with one conditional request; larger ones in several parts."""
_PART_BYTES = 8 << 20
_PARTS_MAX = 9_000  # S3 takes 10,000
_MARK = "writer"
_SECRETS = ("ACCESS_KEY", "SECRET", "TOKEN", "PASSWORD", "CREDENTIAL", "SAS", "ACCOUNT_KEY")


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """An object's length, and the tag that tells its content from any other."""

    size: int
    etag: str


class ObjectStore:
    """Objects below ``url`` (``s3://bucket/prefix``), by their names there."""

    def __init__(self, url: str, *, retry_s: float = 30.0) -> None:
        self.url = url
        self.reads = self.bytes_read = 0
        self._lock = threading.Lock()
        self._library, stores = _library()
        insecure = os.environ.get("AWS_ENDPOINT_URL", "").startswith("http://")
        options = {"timeout": timedelta(seconds=60), "connect_timeout": timedelta(seconds=5)}
        with self._named(url, "cannot be opened"):
            self._store: Any = stores.from_url(
                url,
                client_options={**options, "allow_http": insecure},
                retry_config={
                    "max_retries": 20,
                    "retry_timeout": timedelta(seconds=retry_s),
                    "backoff": {"init_backoff": timedelta(seconds=0.1), "max_backoff": timedelta(seconds=3)},
                },
            )

    # ---- writing ----------------------------------------------------------------------------------

    def put_new(self, name: str, parts: Sequence[Part]) -> str:
        """Creates an object, unless there is one; returns its tag."""
        if sum(to_buffer(part).size for part in parts) > SINGLE_BYTES:
            return self._put_large(name, (memoryview(to_buffer(part)).cast("B") for part in parts))
        mark = secrets.token_hex(8)
        try:
            with self._named(name, "cannot be written"):
                content = memoryview(joined(parts)).cast("B")
                made = self._library.put(
                    self._store,
                    name,
                    content,
                    attributes={_MARK: mark},
                    mode="create",
                    use_multipart=False,
                )
                return _tag(made["e_tag"])
        except NameTakenError:
            found = self._mark_of(name)
            if found is None or found[0] != mark:
                raise
            return found[1]

    def put_file(self, name: str, path: Path, size: int) -> None:
        """The same with the content of a local file, which may be larger than memory."""
        if size <= SINGLE_BYTES:
            self.put_new(name, [path.read_bytes()])
        else:
            self._put_large(name, path, _part_bytes(size))

    def _put_large(self, name: str, content: Any, part_bytes: int = 4 * _PART_BYTES) -> str:
        """Uploads in parts. Looking for the name and publishing are two requests here: two writers of the
        same name are told apart only by the random digits that names of large files have."""
        if self.head(name) is not None:
            raise NameTakenError(name)
        with self._named(name, "cannot be written"):
            made = self._library.put(
                self._store, name, content, use_multipart=True, chunk_size=part_bytes, max_concurrency=4
            )
            return _tag(made["e_tag"])

    def replace(self, name: str, content: bytes, etag: str) -> str | None:
        """Writes an object if it still has this tag, and returns the new one; None if it does not. The
        content must be different each time."""
        try:
            with self._named(name, "cannot be written"):
                made = self._library.put(
                    self._store, name, content, mode={"e_tag": etag}, use_multipart=False
                )
                return _tag(made["e_tag"])
        except (_ChangedError, _MissingError):
            found = self.get_tagged(name)
            return found[1] if found is not None and found[0] == content else None

    def delete(self, names: Sequence[str]) -> None:
        """Removes objects, where they exist."""
        if names:
            with self._named(names[0], "cannot be deleted"):
                self._library.delete(self._store, list(names))

    # ---- reading ----------------------------------------------------------------------------------

    def get(self, name: str, offset: int = 0, length: int | None = None) -> pa.Buffer:
        """Some or all bytes of an object, fewer at its end; nothing beyond it."""
        if length == 0:
            return to_buffer(b"")
        try:
            with self._named(name, "cannot be read"):
                found: pa.Buffer = pa.py_buffer(
                    self._library.get(self._store, name).bytes()
                    if length is None
                    else self._library.get_range(self._store, name, start=offset, length=length)
                )
        except _BeyondEndError:
            return to_buffer(b"")
        self._count(found)
        return found

    def get_end(self, name: str, length: int) -> tuple[pa.Buffer, ObjectInfo]:
        """The last bytes of an object (all of a shorter one), and what it is, with one request."""
        try:
            with self._named(name, "cannot be read"):
                result = self._library.get(self._store, name, options={"range": {"suffix": length}})
                found, meta = pa.py_buffer(result.bytes()), result.meta
        except _BeyondEndError:  # it is empty
            return to_buffer(b""), self.info(name)
        self._count(found)
        return found, ObjectInfo(meta["size"], _tag(meta["e_tag"]))

    def get_tagged(self, name: str) -> tuple[bytes, str] | None:
        """A small object and its tag; None if it does not exist."""
        try:
            with self._named(name, "cannot be read"):
                result = self._library.get(self._store, name)
                return bytes(result.bytes()), _tag(result.meta["e_tag"])
        except _MissingError:
            return None

    def head(self, name: str) -> ObjectInfo | None:
        """What an object is; None if it does not exist."""
        try:
            return self.info(name)
        except _MissingError:
            return None

    def info(self, name: str) -> ObjectInfo:
        """The same for an object that must exist."""
        with self._named(name, "cannot be read"):
            meta = self._library.head(self._store, name)
        return ObjectInfo(meta["size"], _tag(meta["e_tag"]))

    def list(self, folder: str) -> dict[str, int]:
        """The names and sizes of all objects below a folder ("" for all)."""
        with self._named(folder or self.url, "cannot be listed"):
            stream = self._library.list(self._store, folder or None)
            return {each["path"]: each["size"] for chunk in stream for each in chunk}

    def _mark_of(self, name: str) -> tuple[str, str] | None:
        """The mark of the request that made an object, and the object's tag."""
        try:
            with self._named(name, "cannot be read"):
                result = self._library.get(self._store, name, options={"head": True})
                return str(result.attributes.get(_MARK)), _tag(result.meta["e_tag"])
        except StorageError:
            return None

    def _count(self, found: pa.Buffer) -> None:
        with self._lock:
            self.reads += 1
            self.bytes_read += found.size

    @contextmanager
    def _named(self, name: str, what: str) -> Iterator[None]:
        """Turns the library's errors into ours. They are not chained: theirs may quote credentials."""
        problem: StorageError
        try:
            yield
            return
        except FileNotFoundError as error:
            if "NoSuchBucket" in str(error):
                problem = StorageError(f"{name} {what}: the bucket of {self.url} does not exist")
            else:
                problem = _MissingError(f"{name} {what}: it does not exist")
        except self._library.exceptions.AlreadyExistsError:
            problem = NameTakenError(name)
        except self._library.exceptions.PreconditionError:
            problem = _ChangedError(f"{name} {what}: it was changed meanwhile")
        except (
            self._library.exceptions.PermissionDeniedError,
            self._library.exceptions.UnauthenticatedError,
        ):
            reason = "access is denied; check the credentials in the environment, and the bucket's policy"
            problem = StorageError(f"{name} {what} in {self.url}: {reason}")
        except (self._library.exceptions.BaseError, ValueError, OSError) as error:
            if "416 Range Not Satisfiable" in str(error):
                problem = _BeyondEndError(f"{name} {what}: it is not that long")
            else:
                problem = StorageError(f"{name} {what} in {self.url}: {_reason(str(error))}")
        raise problem from None


class _MissingError(StorageError):
    """The object does not exist."""


class _ChangedError(StorageError):
    """The object does not have the tag that it was expected to have."""


class _BeyondEndError(StorageError):
    """The range begins after the end of the object."""


def _library() -> tuple[Any, Any]:
    try:
        import obstore
        import obstore.exceptions
        import obstore.store
    except ImportError:
        raise StorageError(
            "storage in an object store needs one more package: pip install 'penstock[s3]'"
        ) from None
    return obstore, obstore.store


def _tag(etag: str | None) -> str:
    return etag or ""


def _part_bytes(size: int) -> int:
    return max(_PART_BYTES, -(-size // _PARTS_MAX))


def _reason(text: str) -> str:
    """What the library says, for people: without the server's page, and without anything secret."""
    text = text.split("\n", 1)[0].split(": <", 1)[0].removeprefix("Generic S3 error: ")[:400]
    for name, value in os.environ.items():
        if len(value) > 3 and any(word in name for word in _SECRETS):
            text = text.replace(value, "…")
    return re.sub(r"(//)[^/@\s]+@", r"\1", text)
