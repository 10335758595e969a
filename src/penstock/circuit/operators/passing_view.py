"""The sink of a view that is read only through its changes: its rows are not kept.

A consumer that forwards every change does not need their sum here. Storing it would be most of what such a
view costs, and for a view that maps rows to rows it is all of its state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.circuit.delta import Delta, delta_of, net_of
from penstock.circuit.normalise import normalised
from penstock.circuit.operator import Flow, Incremental, State, operator
from penstock.circuit.operators.view import View
from penstock.zset import ZSet

__all__ = ["PassingView"]


@operator("passing view", Incremental.SINK, state="nothing but the note that the view was filled")
@dataclass(frozen=True)
class PassingView(View):
    """Emits the changes of view ``name``.

    Its arrangement stays empty. That it is among the stored ones says that the view was there before: when
    something else is filled, this view must not tell its rows a second time.
    """

    @property
    def readable(self) -> bool:
        return False

    def step(self, inputs: Sequence[Flow], state: State) -> Delta:
        delta = delta_of(inputs[0])
        zset = normalised(delta.zset)
        changes = Delta(ZSet(self.schema, zset.columns, zset.weights))
        if (zset.weights > 0).all():
            return changes  # nothing can cancel out; equal rows may be separate
        return delta_of(net_of(changes, state.seed))
