"""SIGKILL at any moment: what was acknowledged is there, and at most the one thing in flight beside it."""

from __future__ import annotations

import random
import runpy
import subprocess
import sys
import time
from pathlib import Path

from penstock.storage import LocalBackend, Log, ManifestStore, Segment

WRITER = Path(__file__).with_name("killed_writer.py")
ROUNDS = 12

writer = runpy.run_path(str(WRITER))


def run_until_killed(root: Path, after_s: float) -> tuple[int, int]:
    """The last step and version the process acknowledged before it was killed."""
    command = [sys.executable, str(WRITER), str(root)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        first = process.stdout.readline()
        time.sleep(after_s)
        process.kill()
        said = (first + process.stdout.read()).splitlines()
        assert process.stderr.read() == b""
    step, version = map(int, said[-1].split())
    return step, version


def check(root: Path, step: int, version: int) -> None:
    backend = LocalBackend(root)
    with Log(backend, "input") as log:
        assert log.last_step in (step, step + 1)
        found = dict(log.read())
        assert list(found) == list(range(min(found), log.last_step + 1))
        # The step in flight may have dropped what it was entitled to before it could be acknowledged.
        assert min(found) <= max(1, step + 1 - writer["KEEP_STEPS"])
        for number, content in found.items():
            assert bytes(content) == b"".join(writer["payload"](number))
    found = ManifestStore(backend).latest()
    latest = found.manifest if found else None
    assert (latest.version if latest else 0) in (version, version + 1)
    if latest:
        segment = Segment.open(backend, latest.body["segment"])
        assert segment.entries[0].meta == {"step": latest.body["step"]}
        assert segment.read(0).equals(writer["state"](latest.body["step"]))
        assert latest.body["step"] <= log.last_step


def test_nothing_acknowledged_is_lost_when_the_writer_is_killed_again_and_again(tmp_path: Path) -> None:
    moments = random.Random(7)
    reached = []
    for _ in range(ROUNDS):
        acknowledged = run_until_killed(tmp_path, moments.uniform(0, 0.12))
        check(tmp_path, *acknowledged)
        reached.append(acknowledged[0])
    assert reached == sorted(set(reached)), "every round went on from where the one before was killed"
