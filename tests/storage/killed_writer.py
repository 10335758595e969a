"""A process that appends, writes segments and commits until it is killed, telling what was acknowledged.

Run by test_kill.py with a storage folder. Each line of output is ``step version``, printed only after both
are durable according to the storage.
"""

from __future__ import annotations

import os
import sys

import numpy as np
import pyarrow as pa

from penstock.storage import LocalBackend, Log, Manifest, ManifestStore, SegmentWriter

COMMIT_EVERY = 3
KEEP_STEPS = 20


def payload(step: int) -> list[bytes]:
    """What a step logs: from a few bytes to several hundred kilobytes, so that kills fall into writes."""
    return [b"step %d:" % step, bytes([step % 251]) * (step * 7919 % 400_000)]


def state(step: int) -> pa.RecordBatch:
    return pa.record_batch({"n": np.arange(step * 101 % 50_000) + step})


def main(root: str) -> None:
    backend = LocalBackend(root)
    manifests = ManifestStore(backend)
    latest = manifests.latest()
    version = latest.manifest.version if latest else 0
    with Log(backend, "input") as log:
        step = log.last_step or 0
        while True:
            step += 1
            log.append(step, payload(step))
            if step % COMMIT_EVERY == 0:
                writer = SegmentWriter(backend, f"segments/{step:06d}-{os.getpid():x}.seg")
                writer.add("state", {"step": step}, state(step))
                writer.finish()
                manifests.commit(Manifest(version + 1, {"step": step, "segment": writer.name}))
                version += 1
                manifests.prune_before(version - 2)
                log.rotate(step + 1)
                log.drop_before(step - KEEP_STEPS)
            os.write(1, b"%d %d\n" % (step, version))


if __name__ == "__main__":
    main(sys.argv[1])
