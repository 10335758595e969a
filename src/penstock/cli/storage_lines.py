"""What the workers' storage did in the last run, in a few lines for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.cli.console import counted, size_text

__all__ = ["storage_lines"]

_NEARLY_FULL = 0.9


def storage_lines(metrics: Sequence[Mapping[str, int]]) -> list[tuple[str, str]]:
    """Names and texts: memory, blocks, and how much was written, from the counts of each worker as metrics
    have them."""
    from penstock.schedule.storage_counts import StorageCounts

    workers = [StorageCounts(**counts) for counts in metrics]
    if not workers:
        return []
    total = StorageCounts.total(workers)
    fullest = max((each.batches_bytes + each.blocks_bytes) / max(1, each.budget_bytes) for each in workers)
    memory = (
        f"{size_text(total.batches_bytes)} batches and {size_text(total.blocks_bytes)} blocks of "
        f"{size_text(total.budget_bytes)} for {counted(len(workers), 'worker')}"
    )
    if fullest >= _NEARLY_FULL:
        memory += "; [yellow]the budget is used up, the rest is on disk[/]"
    lines = [("memory", memory)]
    if total.block_hits + total.block_misses:
        dropped = counted(total.block_evictions, "block")
        found = f"{total.hit_share:.0%} of those asked for were in memory"
        lines.append(("blocks on file", f"{found}; {size_text(total.read_bytes)} read, {dropped} dropped"))
    if total.added_bytes:
        written = f"{size_text(total.written_bytes)} for {size_text(total.added_bytes)} that steps added"
        lines.append(("written", f"{written} (write amplification {total.write_amplification:.1f})"))
    return lines
