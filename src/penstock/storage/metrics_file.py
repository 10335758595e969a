"""The metrics of a pipeline as they are stored: one small file, replaced now and then.

No version refers to it, and losing it harms nothing: counters then start again.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping
from typing import Any

from penstock.errors import StorageError
from penstock.storage.interface import Backend

__all__ = ["read_metrics", "write_metrics"]

_FILE = re.compile(r"metrics/\d{10}-[0-9a-f]{12}\.json")


def write_metrics(backend: Backend, version: int, metrics: Mapping[str, Any]) -> None:
    """Stores metrics in place of those that are stored."""
    name = f"metrics/{version:010d}-{uuid.uuid4().hex[:12]}.json"
    backend.write_new(name, [json.dumps(metrics).encode()])
    for other in backend.list("metrics/"):
        if other != name and _FILE.fullmatch(other):
            backend.delete(other)


def read_metrics(backend: Backend) -> dict[str, Any] | None:
    """The newest metrics that are stored; None if there are none, or if they cannot be read."""
    names = [name for name in backend.list("metrics/") if _FILE.fullmatch(name)]
    for name in reversed(names):
        try:
            found: dict[str, Any] = json.loads(bytes(backend.open(name)))
            return found
        except (StorageError, ValueError):  # replaced meanwhile, or damaged
            continue
    return None
