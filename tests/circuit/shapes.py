"""Circuits of a given shape, for everything that looks at the graph and not at what operators compute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from penstock.circuit.circuit import Circuit, CircuitBuilder
from penstock.circuit.operator import Flow, Operator, OperatorInfo, State
from penstock.circuit.operator import Incremental as Kind

SCHEMA = pa.schema([("n", pa.int64())])


@dataclass(frozen=True)
class Thing(Operator):
    """An operator that only has a name."""

    label: int

    def step(self, inputs: Sequence[Flow], state: State) -> Flow:
        raise AssertionError("a shape is never run")


Thing.info = OperatorInfo("thing", Kind.LINEAR, "")


def circuit(*inputs: str) -> Circuit:
    """Node i has the inputs listed in the i-th string; ``2!`` means input 2 through an exchange."""
    builder = CircuitBuilder()
    for label, text in enumerate(inputs):
        edges = text.split()
        builder.add(
            Thing(SCHEMA, label),
            tuple(int(edge.rstrip("!")) for edge in edges),
            tuple(edge.endswith("!") for edge in edges),
        )
    return builder.build()
