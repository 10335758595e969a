"""The rows that every store holds, and what is measured of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

__all__ = ["ASKED", "Figures", "Rows", "timed_ms"]

ASKED = 10_000
TEXT = 16
"""The bytes of the text of a row."""
PACKED = np.dtype([("a", "<i8"), ("b", "<f8"), ("text", f"S{TEXT}")])


@dataclass(frozen=True)
class Figures:
    """Milliseconds of lookups, millions of rows a second of scans and merges, bytes of a row."""

    lookup_one_ms: float
    lookup_many_ms: float
    scan_mrows_s: float
    merge_mrows_s: float
    bytes_a_row: float

    def row(self) -> dict[str, object]:
        """For a table."""
        return {
            "1 key ms": self.lookup_one_ms,
            "10,000 keys ms": self.lookup_many_ms,
            "scan M rows/s": self.scan_mrows_s,
            "merge M rows/s": self.merge_mrows_s,
            "bytes a row": self.bytes_a_row,
        }


@dataclass(frozen=True, eq=False)
class Rows:
    """Sorted by ``key``, a random word."""

    key: NDArray[np.uint64]
    a: NDArray[np.int64]
    b: NDArray[np.float64]
    text: NDArray[np.bytes_]

    @staticmethod
    def random(count: int, seed: int = 1) -> Rows:
        """So many rows."""
        rng = np.random.default_rng(seed)
        key = np.sort(rng.integers(0, 2**63, count, dtype=np.uint64))
        a = rng.integers(0, 10**9, count)
        return Rows(key, a, rng.random(count), _texts(a))

    def __len__(self) -> int:
        return len(self.key)

    def packed(self) -> NDArray[np.void]:
        """The values as records."""
        found = np.empty(len(self), PACKED)
        found["a"], found["b"], found["text"] = self.a, self.b, self.text
        return found

    def columns(self) -> tuple[pa.Array, ...]:
        """The values as Arrow columns."""
        offsets = pa.py_buffer(np.arange(0, (len(self) + 1) * TEXT, TEXT, dtype=np.int32))
        text = pa.StringArray.from_buffers(len(self), offsets, pa.py_buffer(np.ascontiguousarray(self.text)))
        return pa.array(self.a), pa.array(self.b), text

    def asked(self, rng: np.random.Generator, count: int = ASKED) -> NDArray[np.uint64]:
        """Keys to look up."""
        return np.sort(rng.choice(self.key, count, replace=False))


def _texts(numbers: NDArray[np.int64]) -> NDArray[np.bytes_]:
    """Zero-padded numbers, without a Python loop."""
    digits = (numbers[:, None] // 10 ** np.arange(TEXT - 1, -1, -1, dtype=np.int64)) % 10 + ord("0")
    return np.ascontiguousarray(digits.astype(np.uint8)).view(f"S{TEXT}")[:, 0]


def timed_ms(work: Callable[[], object], repeats: int) -> float:
    """The median of repeated calls."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append((time.perf_counter() - began) * 1000)
    return median(times)
