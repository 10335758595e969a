"""What the system says of the processes below this one. Only Linux tells; elsewhere the answer is None."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

__all__ = ["workers_private_bytes", "workers_resident_bytes"]

_PROC = Path("/proc")
_WORKERS = b"penstock.spark.daemon"  # a worker is a fork of the daemon and has its command line


def workers_private_bytes() -> int | None:
    """Memory that is not shared with files, of all Python workers that Spark has forked for this process."""
    if not (_PROC / "self" / "status").exists():
        return None
    return sum(_number(folder, "RssAnon") * 1024 for folder in _workers())


def workers_resident_bytes() -> list[int]:
    """All memory of each Python worker that the system has in memory, pages of mapped files included."""
    sizes = []
    for folder in _workers():
        with suppress(OSError):
            sizes.append(_number(folder, "VmRSS") * 1024)
    return sizes


def _workers() -> list[Path]:
    if not (_PROC / "self" / "status").exists():
        return []
    parents: dict[int, list[int]] = {}
    for folder in _PROC.iterdir():
        if folder.name.isdigit():
            with suppress(OSError):  # it has ended meanwhile
                parents.setdefault(_number(folder, "PPid"), []).append(int(folder.name))
    found, below = [], list(parents.get(os.getpid(), ()))
    while below:
        process = below.pop()
        below += parents.get(process, ())
        with suppress(OSError):
            if _WORKERS in (_PROC / str(process) / "cmdline").read_bytes():
                found.append(_PROC / str(process))
    return found


def _number(folder: Path, name: str) -> int:
    found = re.search(rf"^{name}:\s+(\d+)", (folder / "status").read_text(), re.MULTILINE)
    return int(found.group(1)) if found else 0
