"""BIT_AND, BIT_OR and BIT_XOR, from the number of values that have each bit set, which is linear."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.circuit.accumulators.base import Linear, Sums, Weights, masked, number
from penstock.circuit.accumulators.totals import Bits, Total, counted
from penstock.expr.types import to_arrow

__all__ = ["BitFunction"]


@dataclass(frozen=True)
class BitFunction(Linear):
    """``function`` is ``and``, ``or`` or ``xor``. NULL for a group without values."""

    function: str

    @property
    def totals(self) -> tuple[Total, ...]:
        return Bits(self.args, self.filter), *counted(self.args, self.filter)

    def result(self, rows: Weights, totals: Sequence[Sums]) -> pa.Array:
        count = number(rows, totals[1] if len(totals) > 1 else None)
        kind = to_arrow(self.data_type)
        bits = np.zeros(len(rows), np.uint64)
        for name, having in totals[0].items():
            if self.function == "and":
                holds = having == count
            else:
                holds = having > 0 if self.function == "or" else having % 2 == 1
            bits |= holds.astype(np.uint64) << np.uint64(int(name.removeprefix("b")))
        value = bits.astype(f"u{kind.bit_width // 8}").view(f"i{kind.bit_width // 8}")
        return masked(value, count > 0, kind)

    @property
    def title(self) -> str:
        return f"bit_{self.function}"
