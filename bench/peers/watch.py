"""Runs one command that answers a request, and watches what it and its descendants take from the machine.

Memory is the largest sum of the resident sets of all processes of the tree at one of the samples (pages that
two of them share count twice); CPU time is what each process had used when last seen, so up to one sampling
interval per process is missed. A process that outlives its parent stays watched, and is ended with the rest.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

__all__ = ["PeerFailedError", "PeerTimeoutError", "Watched", "watch"]

_INTERVAL_S = 0.1
_LEAVE_S = 10.0
_ROOT = Path(__file__).parent.parent.parent
_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")
Process = tuple[int, int]  # the process id and when it started, as ids are used again


class PeerFailedError(Exception):
    """The command failed or answered with an error. The message is one line."""


class PeerTimeoutError(PeerFailedError):
    """The command took too long."""


@dataclass(frozen=True)
class Watched:
    """An answer and its price."""

    answer: dict[str, Any]
    peak_mb: float
    cpu_s: float


@dataclass
class _Tree:
    root: int
    cpu: dict[Process, int] = field(default_factory=dict)
    alive: set[Process] = field(default_factory=set)
    peak: int = 0

    def sample(self) -> None:
        """Looks at all processes of the machine; there are few."""
        seen = {}
        for name in os.listdir("/proc"):  # noqa: PTH208 - ten times a second: names will do
            if name.isdigit() and (stat := _stat(int(name))) is not None:
                seen[int(name)] = stat
        known = {pid for pid, start in self.alive if pid in seen and seen[pid][2] == start} | {self.root}
        children: dict[int, list[int]] = {}
        for pid, (parent, *_) in seen.items():
            children.setdefault(parent, []).append(pid)
        todo, members = list(known), set()
        while todo:
            pid = todo.pop()
            if pid in seen and pid not in members:
                members.add(pid)
                todo += children.get(pid, [])
        self.alive = {(pid, seen[pid][2]) for pid in members}
        for pid in members:
            _, ticks, start, _ = seen[pid]
            self.cpu[pid, start] = ticks
        self.peak = max(self.peak, sum(seen[pid][3] for pid in members))

    def end(self) -> None:
        """Ends what is left of the tree."""
        for pid, start in self.alive:
            stat = _stat(pid)
            if stat is not None and stat[2] == start:
                os.kill(pid, signal.SIGKILL)


def _stat(pid: int) -> tuple[int, int, int, int] | None:
    """Parent, CPU ticks, start and resident bytes of a process; nothing if it is gone or has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    if fields[0] == "Z":
        return None
    return int(fields[1]), int(fields[11]) + int(fields[12]), int(fields[19]), int(fields[21]) * _PAGE


def watch(
    command: Sequence[str | Path], request: dict[str, Any], *, timeout_s: float, **environment: str
) -> Watched:
    """The answer to a request, and its price. The answer is the last line of the command's output."""
    with tempfile.TemporaryFile() as asked, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as log:
        asked.write(json.dumps(request).encode())
        asked.seek(0)
        child = subprocess.Popen(
            command,
            stdin=asked,
            stdout=out,
            stderr=log,
            env={**os.environ, **environment},
            cwd=_ROOT,
            start_new_session=True,
        )
        tree = _Tree(child.pid)
        try:
            _wait(child, tree, timeout_s)
        finally:
            tree.end()
            child.wait()
        answer = _answer(child.returncode, _read(out), _read(log))
    return Watched(answer, tree.peak / 1e6, sum(tree.cpu.values()) / _TICKS)


def _wait(child: subprocess.Popen[bytes], tree: _Tree, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while child.poll() is None:
        tree.sample()
        if time.monotonic() > deadline:
            raise PeerTimeoutError(f"not done after {timeout_s:g} s")
        time.sleep(_INTERVAL_S)
    deadline = time.monotonic() + _LEAVE_S
    while tree.alive and time.monotonic() < deadline:
        tree.sample()
        time.sleep(_INTERVAL_S)


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def _answer(code: int, out: str, log: str) -> dict[str, Any]:
    lines = out.splitlines()
    try:
        found = json.loads(lines[-1])
    except (IndexError, json.JSONDecodeError):
        said = [line for line in log.splitlines() if line.strip()] or ["it said nothing"]
        raise PeerFailedError(f"ended with {code}: {said[-1].strip()[:300]}") from None
    if "error" in found:
        raise PeerFailedError(str(found["error"]).strip().partition("\n")[0][:300])
    return dict(found)
