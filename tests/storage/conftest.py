"""Every test that takes ``backend`` runs on each backend: they promise the same things."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.storage import Backend, LocalBackend, MemoryBackend
from penstock.storage.local import Io


@pytest.fixture(params=["mapped", "pread", "direct", "memory"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    kind: str = request.param
    if kind == "memory":
        return MemoryBackend()
    return LocalBackend(tmp_path / "state", Io(kind))
