"""What is measured of a query: the sizes of the input, and what one system did with it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from bench.nexmark.files import Files, written
from bench.nexmark.systems import System

__all__ = ["Inputs", "Measured"]


@dataclass
class Measured:
    """What one system did with one query."""

    rate: float = math.nan
    peak_mb: float = math.nan
    cpu_s: float = math.nan
    variant: str = ""
    error: str = ""
    answer: str = ""
    estimated: bool = False

    @property
    def ran(self) -> bool:
        """Whether there is a rate."""
        return not self.error

    def line(self) -> str:
        """For people who wait."""
        if self.error:
            return self.error
        variant = f" ({self.variant})" if self.variant else ""
        answer = f", answer {self.answer}" if self.answer else ""
        return f"{self.rate:,.0f} events/s, {self.peak_mb:,.0f} MB, {self.cpu_s:.1f} CPU s{variant}{answer}"


@dataclass(frozen=True)
class Inputs:
    """The two sizes, and how the runs go."""

    small: int
    large: int
    group: int
    repeats: int
    timeout_s: float
    variants: int = 8

    def files(self, system: System, size: int) -> Files:
        """The events for one system."""
        return written(size, system.format, group=self.group)
