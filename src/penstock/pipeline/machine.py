"""The running loop as a pure state machine: what to do next, given what was asked and what happened.

::

            start                 pause                reached
   STOPPED ───────▶ RUNNING ───────────────▶ PAUSING ──────────▶ PAUSED
      ▲                │  ▲                                        │  │
      │     stop       │  └───────────────── start ────────────────┘  │
      └── STOPPING ◀───┴──────────────────── stop ────────────────────┘

No I/O and no clock in here: the loop asks :meth:`Machine.may_step` before each step and reports
:meth:`Machine.reached` after it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from penstock.errors import PipelineError

__all__ = ["Machine", "Phase"]


class Phase(Enum):
    """The state of the loop."""

    STOPPED = "stopped"
    RUNNING = "running"
    PAUSING = "pausing"
    PAUSED = "paused"
    STOPPING = "stopping"


@dataclass(frozen=True)
class Machine:
    """The loop's phase and the last step it finished."""

    phase: Phase = Phase.STOPPED
    step: int = 0

    @property
    def may_step(self) -> bool:
        """Whether the loop may begin another step."""
        return self.phase is Phase.RUNNING

    @property
    def alive(self) -> bool:
        """Whether the loop is running."""
        return self.phase not in (Phase.STOPPED, Phase.STOPPING)

    def start(self) -> Machine:
        """Start or resume."""
        if self.phase in (Phase.STOPPED, Phase.PAUSED, Phase.RUNNING):
            return replace(self, phase=Phase.RUNNING)
        raise PipelineError(f"the loop is {self.phase.value}; wait for it before starting it again")

    def pause(self) -> Machine:
        """Pause after the current step."""
        if self.phase in (Phase.RUNNING, Phase.PAUSING):
            return replace(self, phase=Phase.PAUSING)
        if self.phase is Phase.PAUSED:
            return self
        raise PipelineError(f"the loop is {self.phase.value}; only a running one can be paused")

    def stop(self) -> Machine:
        """End after the current step."""
        if self.phase is Phase.STOPPED:
            return self
        return replace(self, phase=Phase.STOPPING)

    def reached(self, step: int) -> Machine:
        """The loop is between two steps, after ``step``: requests to pause or stop take effect here."""
        if step < self.step:
            raise PipelineError(f"the loop went back from step {self.step} to step {step}")
        rest = {Phase.PAUSING: Phase.PAUSED, Phase.STOPPING: Phase.STOPPED}
        return Machine(rest.get(self.phase, self.phase), step)
