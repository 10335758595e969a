"""How a batch is stored in blocks: for each column plain, packed or not at all; and rows in a block."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.storage.block_index import Codec

__all__ = ["BLOCK_ROWS", "PLAIN_FORM", "BlockForm"]

BLOCK_ROWS = 1024
"""Rows in a block, a multiple of 8 so that bits of different blocks are in different bytes. A lookup of one
key reads and checks a block, so its cost is proportional to this; the index takes 36 bytes for each block and
buffer (decision 77)."""


@dataclass(frozen=True)
class BlockForm:
    """``codecs`` by column name, ``codec`` for the others. ``tight`` prefers small chunks to those that
    decode quickly. ``filtered`` is the column of hashes of keys over which each block has a filter."""

    codec: Codec = Codec.PLAIN
    codecs: Mapping[str, Codec] = field(default_factory=dict)
    tight: bool = False
    filtered: str = ""
    block_rows: int = BLOCK_ROWS

    def of(self, column: str) -> Codec:
        """How a column is stored."""
        return self.codecs.get(column, self.codec)


PLAIN_FORM = BlockForm()
"""Everything as it is used."""
