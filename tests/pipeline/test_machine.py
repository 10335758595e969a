"""The loop's state machine, every request in every phase."""

from __future__ import annotations

import pytest

from penstock.errors import PipelineError
from penstock.pipeline.machine import Machine, Phase

STOPPED, RUNNING, PAUSING, PAUSED, STOPPING = Phase

# phase -> what start, pause, stop and reached lead to; None: refused
TRANSITIONS: dict[Phase, tuple[Phase | None, Phase | None, Phase | None, Phase | None]] = {
    STOPPED: (RUNNING, None, STOPPED, STOPPED),
    RUNNING: (RUNNING, PAUSING, STOPPING, RUNNING),
    PAUSING: (None, PAUSING, STOPPING, PAUSED),
    PAUSED: (RUNNING, PAUSED, STOPPING, PAUSED),
    STOPPING: (None, None, STOPPING, STOPPED),
}


@pytest.mark.parametrize("phase", Phase)
@pytest.mark.parametrize("request_", ["start", "pause", "stop", "reached"])
def test_every_request_in_every_phase(phase: Phase, request_: str) -> None:
    machine = Machine(phase, 7)
    wanted = TRANSITIONS[phase][["start", "pause", "stop", "reached"].index(request_)]
    arguments = (7,) if request_ == "reached" else ()
    if wanted is None:
        with pytest.raises(PipelineError, match=phase.value):
            getattr(machine, request_)(*arguments)
    else:
        assert getattr(machine, request_)(*arguments) == Machine(wanted, 7)


def test_only_a_running_loop_steps() -> None:
    assert [Machine(phase).may_step for phase in Phase] == [phase is RUNNING for phase in Phase]


def test_a_loop_is_alive_from_start_to_stop() -> None:
    assert {phase for phase in Phase if Machine(phase).alive} == {RUNNING, PAUSING, PAUSED}


def test_steps_only_go_up() -> None:
    machine = Machine(RUNNING, 5)
    assert machine.reached(5).step == 5
    assert machine.reached(9).step == 9
    with pytest.raises(PipelineError, match="went back"):
        machine.reached(4)
