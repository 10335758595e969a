"""What a worker's storage counts: bytes that steps add, bytes written for them, blocks."""

from __future__ import annotations

from penstock.schedule.storage_counts import StorageCounts
from penstock.storage import MemoryBackend
from tests.pipeline.story import STEPS, coordinator, live


def test_amplification_and_hits_are_shares_of_what_happened() -> None:
    counts = StorageCounts(added_bytes=10, written_bytes=25, block_hits=3, block_misses=1)
    assert counts.write_amplification == 2.5 and counts.hit_share == 0.75
    assert StorageCounts().write_amplification == 0 and StorageCounts().hit_share == 1
    assert StorageCounts.total([counts, counts]).written_bytes == 50


def test_every_commit_reports_what_steps_added_and_what_was_written_for_it() -> None:
    backend = MemoryBackend()
    driver = coordinator(backend)
    driver.open()
    live(driver)
    driver.commit()
    counts = StorageCounts.total(driver.metrics.storage)
    assert len(driver.metrics.storage) == 2 and driver.step == STEPS
    files = sum(backend.size(name) for name in backend.list("segments/"))
    assert counts.added_bytes > 0 and counts.written_bytes > 0
    assert counts.written_bytes <= 2 * files, "most of what was written is still there"
    before = counts.written_bytes
    driver.commit()
    assert StorageCounts.total(driver.metrics.storage).written_bytes == before, "nothing was new"
    driver.close()
