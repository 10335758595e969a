"""The operation to apply for a row that was pushed to a table."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["Operation"]


class Operation(IntEnum):
    """An operation by key. The numbers are stored in the input log and must never change.

    A table without a key has no operations, only rows that are inserted and deleted: :attr:`weight`."""

    UPSERT = 1
    """Insert the row, replacing the one with its key, if there is one."""
    DELETE = -1
    """Remove the row with this key, if there is one; the other columns are NULL."""
    INSERT = 2
    """Add the row; an error if there is one with its key."""

    @property
    def weight(self) -> int:
        """The equivalent for a table without a key: one row more, or one less."""
        return -1 if self is Operation.DELETE else 1
