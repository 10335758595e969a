"""The end of a view that is only followed, never read: its changes are told, and its rows are not kept.

Whoever hands every change on to somewhere else has no use for the sum of them here. Keeping it would be most
of what such a view costs, and for a view that turns rows into rows it is all of its state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.circuit.delta import Delta, delta_of, net_of
from penstock.circuit.operator import Flow, Incremental, State, operator
from penstock.circuit.operators.view import View
from penstock.circuit.spelling import spelled
from penstock.zset import ZSet

__all__ = ["PassingView"]


@operator("passing view", Incremental.SINK, state="nothing but the note that the view was filled")
@dataclass(frozen=True)
class PassingView(View):
    """Tells the changes of view ``name``.

    Its arrangement stays empty. That it is among the stored ones says that the view was there before: when
    something else is filled from the tables, this view must not tell its rows a second time.
    """

    def step(self, inputs: Sequence[Flow], state: State) -> Delta:
        delta = delta_of(inputs[0])
        zset = spelled(delta.zset)
        told = Delta(ZSet(self.schema, zset.columns, zset.weights))
        if (zset.weights > 0).all():
            return told  # nothing can cancel out; equal rows may stand apart
        return delta_of(net_of(told, state.seed))
