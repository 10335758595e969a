"""What is measured of a query: the sizes of the input, and what one system did with it, round after round."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from statistics import median

from bench.nexmark.files import Files, written
from bench.nexmark.systems import System

__all__ = ["Inputs", "Measured", "Round"]


@dataclass(frozen=True)
class Round:
    """One run over each of the two sizes. ``flat``: the larger took no longer, so there is no slope; in
    ``commit`` is what was measured."""

    rate: float
    peak_mb: float
    cpu_s: float
    flat: bool = False
    commit: str = ""


@dataclass
class Measured:
    """What one system did with one query. With an ``error`` it cannot run it, and is not asked again;
    ``failures`` are of later rounds."""

    rounds: list[Round] = field(default_factory=list)
    variant: str = ""
    error: str = ""
    answer: str = ""
    failures: list[str] = field(default_factory=list)

    @property
    def ran(self) -> bool:
        """Whether there is a rate."""
        return bool(self.rounds)

    @property
    def rate(self) -> float:
        """Events per second: the median."""
        return median(each.rate for each in self.rounds) if self.rounds else math.nan

    @property
    def peak_mb(self) -> float:
        """The most memory of any round."""
        return max((each.peak_mb for each in self.rounds), default=math.nan)

    @property
    def cpu_s(self) -> float:
        """Processor seconds from the smaller to the larger input: the median."""
        return median(each.cpu_s for each in self.rounds) if self.rounds else math.nan

    def beside(self, other: Measured) -> Measured:
        """Only the rounds that both were in, the last ones: those without the other come first."""
        return replace(self, rounds=self.rounds[-len(other.rounds) :]) if other.ran else self

    def line(self) -> str:
        """The last round, for people who wait."""
        if not self.rounds or self.failures:
            return (self.failures or [self.error])[-1]
        last = self.rounds[-1]
        variant = f" ({self.variant})" if self.variant else ""
        return f"{last.rate:,.0f} events/s, {last.peak_mb:,.0f} MB, {last.cpu_s:.1f} CPU s{variant}"


@dataclass(frozen=True)
class Inputs:
    """The two sizes, and how the runs go."""

    small: int
    large: int
    group: int
    timeout_s: float
    variants: int = 8

    def files(self, system: System, size: int) -> Files:
        """The events for one system, in the page cache."""
        files = written(size, system.format, group=self.group)
        files.read_ahead()
        return files
