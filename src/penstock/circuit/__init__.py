"""Circuits: streams of Z-set changes through incremental operators, cut into fragments and levels."""

from penstock.circuit.circuit import Circuit, CircuitBuilder, Node
from penstock.circuit.delta import Arranged, Delta
from penstock.circuit.layout import Layout
from penstock.circuit.operator import REGISTRY, Incremental, Operator, OperatorInfo
from penstock.circuit.program import Edge, Fragment, Program, cut

__all__ = [
    "REGISTRY",
    "Arranged",
    "Circuit",
    "CircuitBuilder",
    "Delta",
    "Edge",
    "Fragment",
    "Incremental",
    "Layout",
    "Node",
    "Operator",
    "OperatorInfo",
    "Program",
    "cut",
]
