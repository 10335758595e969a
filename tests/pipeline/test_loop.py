"""The loop: steps when there is something to do, rests and ends when asked, survives bad input."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from penstock.errors import InputError, PenstockError, PipelineError
from penstock.pipeline.loop import Loop
from penstock.pipeline.machine import Phase

WAIT_S = 20.0  # never waited for, unless something is broken


class Work:
    """Something to do, and how far it has come."""

    def __init__(self) -> None:
        self.waiting = 0
        self.step = self.rests = 0
        self.errors: list[PenstockError] = []
        self.fail: Callable[[], BaseException] | None = None
        self.done = threading.Condition()

    def loop(self, interval_s: float = WAIT_S) -> Loop:
        return Loop(self._step, lambda: self.waiting > 0, self._rest, self.errors.append, interval_s)

    def _rest(self) -> None:
        with self.done:
            self.rests += 1
            self.done.notify_all()

    def push(self, loop: Loop) -> None:
        with self.done:
            self.waiting += 1
        loop.wake()

    def _step(self) -> int:
        with self.done:
            self.waiting -= 1
            self.done.notify_all()
            if self.fail is not None:
                fail, self.fail = self.fail, None
                raise fail()
            self.step += 1
            return self.step

    def wait_until(self, condition: Callable[[], bool]) -> None:
        with self.done:
            assert self.done.wait_for(condition, WAIT_S)


def test_a_push_wakes_the_loop_at_once() -> None:
    work = Work()
    loop = work.loop()
    loop.start()
    for expected in range(1, 4):
        work.push(loop)
        work.wait_until(lambda expected=expected: work.step == expected)  # type: ignore[misc]
    assert loop.stop() == 3
    assert loop.phase is Phase.STOPPED


def test_a_paused_loop_does_nothing_until_it_is_started_again() -> None:
    work = Work()
    loop = work.loop()
    loop.start()
    work.push(loop)
    work.wait_until(lambda: work.step == 1)
    assert loop.pause() == 1
    assert loop.phase is Phase.PAUSED
    assert loop.pause() == 1
    work.push(loop)
    assert work.step == 1
    loop.start()
    work.wait_until(lambda: work.step == 2)
    assert loop.stop() == 2


def test_a_stopped_loop_can_be_started_again() -> None:
    work = Work()
    loop = work.loop()
    for expected in range(1, 4):
        loop.start()
        loop.start()  # running already: nothing happens
        work.push(loop)
        work.wait_until(lambda expected=expected: work.step == expected)  # type: ignore[misc]
        assert loop.stop() == expected
        assert loop.stop() == expected
    assert threading.active_count() < 10


def test_stopping_from_a_pause_ends_the_thread() -> None:
    loop = Work().loop()
    loop.start()
    loop.pause()
    loop.stop()
    assert not any(thread.name == "penstock-loop" for thread in threading.enumerate())


def test_pausing_what_does_not_run_is_refused() -> None:
    with pytest.raises(PipelineError, match="only a running one"):
        Work().loop().pause()


def test_bad_input_is_reported_and_the_loop_goes_on() -> None:
    work = Work()
    loop = work.loop()
    loop.start()
    work.fail = lambda: InputError("t", "no such row")
    work.push(loop)
    work.push(loop)
    work.wait_until(lambda: work.step == 1)
    assert loop.stop() == 1
    assert [str(error) for error in work.errors] == ["table t: no such row"]


@pytest.mark.parametrize("ask", ["pause", "stop"])
def test_an_unexpected_error_ends_the_loop_and_nobody_waits_for_ever(ask: str) -> None:
    work = Work()
    loop = work.loop()
    loop.start()
    work.fail = lambda: ZeroDivisionError("in the engine")
    work.push(loop)
    work.wait_until(lambda: work.waiting == 0)
    answer: list[object] = []

    def asking() -> None:
        try:
            answer.append(getattr(loop, ask)())
        except PipelineError as error:  # the loop had ended before it was asked to pause
            answer.append(error)

    thread = threading.Thread(target=asking)
    thread.start()
    thread.join(WAIT_S)
    assert answer
    loop.stop()
    assert loop.phase is Phase.STOPPED
    (error,) = work.errors
    assert "ZeroDivisionError: in the engine" in str(error)
    assert isinstance(error.__cause__, ZeroDivisionError)
    loop.start()  # and it can run again
    work.push(loop)
    work.wait_until(lambda: work.step == 1)
    loop.stop()


def test_a_step_under_way_is_finished_before_the_loop_rests() -> None:
    entered, leave = threading.Event(), threading.Event()
    steps: list[int] = []

    def slow() -> int:
        entered.set()
        assert leave.wait(WAIT_S)
        steps.append(1)
        return len(steps)

    loop = Loop(slow, lambda: not steps, lambda: None, lambda error: None, WAIT_S)
    loop.start()
    assert entered.wait(WAIT_S)
    threading.Timer(0.05, leave.set).start()
    assert loop.pause() == 1
    assert steps == [1]
    loop.stop()


def test_a_loop_with_nothing_to_do_rests_again_and_again() -> None:
    work = Work()
    loop = work.loop(interval_s=0.01)
    loop.start()
    with work.done:
        assert work.done.wait_for(lambda: work.rests >= 3, WAIT_S)
    loop.stop()
    assert work.step == 0 and not work.errors
