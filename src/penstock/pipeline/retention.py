"""How a user says which versions to keep: ``retain_versions`` and ``retain_for``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta

from penstock.errors import PipelineError
from penstock.storage import Retention

__all__ = ["Retain", "RetainFor", "duration_text", "duration_us"]

RetainFor = timedelta | float | int | str
"""A time: a timedelta, a number of seconds, or a text such as "90s", "30min", "2h" or "7d"."""

_TEXT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", re.IGNORECASE)
_SECONDS = {"": 1, "s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_LONGEST_S = 100 * 366 * 86400


@dataclass(frozen=True)
class Retain:
    """What a run asks for; None leaves it as the runs before had it."""

    versions: int | None = None
    for_us: int | None = None

    @staticmethod
    def of(versions: object, retain_for: object) -> Retain:
        """From the arguments of a pipeline; a PipelineError says which values they may have."""
        if versions is not None:
            number = isinstance(versions, int) and not isinstance(versions, bool)
            if not number or versions < 2:  # type: ignore[operator] # a number by then
                raise PipelineError(
                    f"retain_versions is the number of versions to keep, at least 2, not {versions!r}"
                )
        return Retain(versions, None if retain_for is None else duration_us(retain_for))  # type: ignore[arg-type]

    def over(self, before: Retention) -> Retention:
        """What is to be kept from now on."""
        return Retention(
            before.versions if self.versions is None else self.versions,
            before.for_us if self.for_us is None else self.for_us,
        )


def duration_us(value: object) -> int:
    """A time in microseconds.

    >>> duration_us("2h") == duration_us(7200) == duration_us(timedelta(hours=2))
    True
    """
    seconds: float = -1.0
    if isinstance(value, timedelta):
        seconds = value.total_seconds()
    elif isinstance(value, str):
        match = _TEXT.fullmatch(value)
        if match is not None and match[2].lower() in _SECONDS:
            seconds = float(match[1]) * _SECONDS[match[2].lower()]
    elif isinstance(value, int | float) and not isinstance(value, bool):
        seconds = value
    if not 0 <= seconds <= _LONGEST_S:
        raise PipelineError(
            "retain_for is a time for which versions are kept: a timedelta, seconds, or a text such as "
            f'"90s", "30min", "2h" or "7d", not {value!r}'
        )
    return round(seconds * 1_000_000)


def duration_text(time_us: int) -> str:
    """A time for people, in the largest unit that divides it.

    >>> duration_text(7_200_000_000), duration_text(90_000_000)
    ('2 h', '90 s')
    """
    seconds = time_us / 1_000_000
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:g} {unit}"
    return f"{seconds:g} s"
