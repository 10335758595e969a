"""Memory of a worker's process: kept for the next step, given back when it is too much or all is over."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

PROGRAM = """
import gc, sys
import numpy as np
from penstock.spark.allocation import *
from penstock.spark.allocation import free_bytes

def resident_mb():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) // 1024 for line in status if line.startswith("VmRSS"))

keep_freed_memory()
usual = gc.get_threshold()
collect_rarely()
kept = [np.ones(3 << 20) for _ in range(int(sys.argv[1]))]  # 24 MB each
pins = [np.ones(100) for _ in range(10)]
full = resident_mb()
del kept
freed = resident_mb(), free_bytes() >> 20
give_back_excess()
given = resident_mb()
release_memory()
print(full, *freed, given, resident_mb(), gc.get_threshold() == usual, gc.get_freeze_count())
"""


def run(arrays: int) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(arrays)], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc's allocator")
def test_much_is_given_back_and_little_is_kept() -> None:
    full, freed, held, given, released = map(int, run(10)[:5])
    assert freed > full - 50 and held > 200, "freed memory stays"
    assert given > full - 50, "240 MB are wanted again soon"
    assert released < full - 200, "and are nobody's when the worker is gone"
    full, _, _, given, released = map(int, run(60)[:5])
    assert given < full - 900, "1.4 GB are more than steps want"
    assert released < full - 1200


def test_the_garbage_collector_is_as_it_was_afterwards() -> None:
    assert run(1)[5:] == ["True", "0"]
    assert gc.get_freeze_count() == 0, "this process was left alone"
