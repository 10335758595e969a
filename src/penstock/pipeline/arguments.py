"""Validates the arguments of a pipeline, before anything is opened."""

from __future__ import annotations

import re

from penstock.circuit.layout import SHARD_BITS
from penstock.errors import PipelineError
from penstock.schedule.memory import LEAST_BYTES

__all__ = ["check_arguments", "parse_memory"]

_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?\s*", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def check_arguments(
    name: object, workers: object, mode: object, commit_interval_s: object, retained_steps: object
) -> None:
    """Raises a PipelineError that says which values an argument may have."""
    if not isinstance(name, str) or not name.strip():
        raise PipelineError(f"the name of a pipeline is a text that is not empty, not {name!r}")
    if mode not in ("resident", "staged"):
        raise PipelineError(f"mode is 'resident' or 'staged', not {mode!r}")
    most = 1 << SHARD_BITS
    if not _is_whole(workers) or not 1 <= workers <= most:  # type: ignore[operator] # a number by then
        raise PipelineError(f"workers is a number from 1 to {most}, not {workers!r}")
    if not _is_whole(retained_steps) or retained_steps < 1:  # type: ignore[operator]
        raise PipelineError(f"retained_steps is at least 1 (the last step), not {retained_steps!r}")
    number = isinstance(commit_interval_s, int | float) and not isinstance(commit_interval_s, bool)
    if not number or commit_interval_s != commit_interval_s or commit_interval_s < 0:  # type: ignore[operator]
        raise PipelineError(
            f"commit_interval_s is a number of seconds, 0 for a version after every step, not "
            f"{commit_interval_s!r}"
        )


def parse_memory(memory: int | str | None) -> int | None:
    """The bytes that a user means: a number, or a text such as ``"512m"``, ``"4 GB"`` or ``"1.5g"``, in
    powers of 1,024 as everywhere in Spark."""
    if memory is None:
        return None
    size = int(memory) if _is_whole(memory) else None
    match = _SIZE.fullmatch(memory) if isinstance(memory, str) else None
    if match is not None:
        size = int(float(match[1]) * 1024 ** _POWERS[match[2].lower()])
    if size is None or size < LEAST_BYTES:
        raise PipelineError(
            "memory is what the state of one worker may take: a number of bytes or a text such as '512m' or "
            f"'4g', at least {LEAST_BYTES >> 20}m; not {memory!r}"
        )
    return size


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
