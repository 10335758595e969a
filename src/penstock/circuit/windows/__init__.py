"""Window functions: which rows they look at, which rows a change reaches, and how they are computed.

A function is computed on *runs*: rows of a partition in order, the whole partition or a stretch of it with
what comes before the stretch known as totals. How far a change reaches decides which stretches a step
reads.
"""

from penstock.circuit.windows.aggregated import Aggregated, Extreme, Gathered
from penstock.circuit.windows.base import Reach, WindowFunction, reach_of
from penstock.circuit.windows.frame import Frame
from penstock.circuit.windows.positioned import Picked, Shifted
from penstock.circuit.windows.ranking import RANKINGS, NTile, Ranking
from penstock.circuit.windows.run import Run
from penstock.circuit.windows.stretches import Stretches, read_stretches

__all__ = [
    "RANKINGS",
    "Aggregated",
    "Extreme",
    "Frame",
    "Gathered",
    "NTile",
    "Picked",
    "Ranking",
    "Reach",
    "Run",
    "Shifted",
    "Stretches",
    "WindowFunction",
    "reach_of",
    "read_stretches",
]
