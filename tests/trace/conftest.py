"""Fixtures that several tests of batches use."""

from tests.trace.layers import small_blocks

__all__ = ["small_blocks"]
