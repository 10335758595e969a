"""Every test that takes ``backend`` runs on each backend: they promise the same things."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from penstock.storage import Backend, LocalBackend, MemoryBackend, ObjectBackend
from penstock.storage.local import Io
from tests.storage.s3_server import BUCKET, s3_environment, s3_server

Objects = Callable[[], ObjectBackend]


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    with s3_server() as endpoint:
        yield endpoint


@pytest.fixture
def objects(s3_endpoint: str, tmp_path: Path) -> Iterator[Objects]:
    """Makes backends for one empty prefix of a bucket."""
    url = f"s3://{BUCKET}/{uuid.uuid4().hex}/state?cache={tmp_path / 'cache'}"
    with s3_environment(s3_endpoint):
        yield lambda: ObjectBackend(url, retry_s=2)


@pytest.fixture(params=["mapped", "pread", "direct", "memory", "s3"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    kind: str = request.param
    if kind == "memory":
        return MemoryBackend()
    if kind == "s3":
        make: Objects = request.getfixturevalue("objects")
        return make()
    return LocalBackend(tmp_path / "state", Io(kind))
