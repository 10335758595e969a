"""A disk that fails at any one call: nothing is lost, and the run goes on in the same process.

``make faults-storage`` tries every call; here it is every seventh write and every read.
"""

from __future__ import annotations

import errno

import pytest

from tests.faults.device import READS, WRITES
from tests.faults.failing_story import lived
from tests.faults.trial import scratch_folder


@pytest.mark.parametrize(
    ("code", "calls", "first", "stride"),
    [(errno.EIO, WRITES, 1, 7), (errno.ENOSPC, WRITES, 4, 7), (errno.EIO, READS, 1, 1)],
    ids=["EIO at a write", "ENOSPC at a write", "EIO at a read"],
)
def test_a_disk_that_fails_at_a_call_loses_nothing(
    code: int, calls: tuple[str, ...], first: int, stride: int
) -> None:
    met: set[str] = set()
    with scratch_folder() as scratch:
        for at in range(first, 2000, stride):
            failed = lived(scratch / str(at), at, code, calls)
            if not failed:
                break
            met.add(failed)
    assert met >= {"writev", "fsync", "link"} if calls is WRITES else met == set(READS)
