"""Every test that takes ``backend`` runs on each backend: they promise the same things."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.storage import Backend, LocalBackend, MemoryBackend


@pytest.fixture(params=["local", "memory"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    return LocalBackend(tmp_path / "state") if request.param == "local" else MemoryBackend()
