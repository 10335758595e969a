"""The thread that steps a pipeline while it runs, driven by :mod:`penstock.pipeline.machine`."""

from __future__ import annotations

import threading
from collections.abc import Callable

from penstock.errors import EvaluationError, InputError, PenstockError, PipelineError
from penstock.pipeline.machine import Machine, Phase

__all__ = ["Loop"]


class Loop:
    """Calls ``step`` whenever ``ready`` says there is something to do, until paused or stopped; ``rest`` when
    there was nothing to do for ``interval_s``.

    A step that fails on bad input is given to ``on_error`` and the loop goes on: the step did not happen. Any
    other failure ends the loop.
    After an error that is not one of Penstock's own the loop ends.
    """

    def __init__(
        self,
        step: Callable[[], int],
        ready: Callable[[], bool],
        rest: Callable[[], None],
        on_error: Callable[[PenstockError], None],
        interval_s: float,
    ) -> None:
        self._step, self._ready, self._rest = step, ready, rest
        self._on_error, self._interval_s = on_error, interval_s
        self._machine = Machine()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    @property
    def phase(self) -> Phase:
        """Where the loop is."""
        return self._machine.phase

    def start(self) -> None:
        """Runs, or runs on."""
        with self._changed:
            was_alive = self._machine.alive
            self._machine = self._machine.start()
            self._changed.notify_all()
        if not was_alive:
            self._thread = threading.Thread(target=self._run, name="penstock-loop", daemon=True)
            self._thread.start()

    def pause(self) -> int:
        """Comes to rest and returns the last step."""
        with self._changed:
            self._machine = self._machine.pause()
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._machine.phase is not Phase.PAUSING)
            return self._machine.step

    def stop(self) -> int:
        """Ends the loop and returns the last step."""
        with self._changed:
            self._machine = self._machine.stop()
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        return self._machine.step

    def wake(self) -> None:
        """There may be something to do."""
        with self._changed:
            self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._machine = self._machine.reached(self._machine.step)
                self._changed.notify_all()
                if self._machine.phase is Phase.STOPPED:
                    return
                busy = self._machine.may_step and self._ready()
                if not busy and self._changed.wait(self._interval_s):
                    continue
            if not self._go_on(busy):
                return

    def _go_on(self, busy: bool) -> bool:
        """One step, or a rest; whether the loop can go on after it."""
        try:
            if not busy:
                self._rest()
                return True
            done = self._step()
        except (InputError, EvaluationError) as error:
            self._on_error(error)
            return True
        except BaseException as error:
            # Storage that fails, workers that keep dying, a defect: going on would only drop what is pushed.
            # The loop ends, and whoever waits for it learns why.
            self._on_error(error if isinstance(error, PenstockError) else _ended(error))
            with self._changed:
                self._machine = self._machine.stop().reached(self._machine.step)
                self._changed.notify_all()
            return False
        with self._changed:
            self._machine = self._machine.reached(done)
            self._changed.notify_all()
        return True


def _ended(error: BaseException) -> PipelineError:
    problem = PipelineError(f"the loop ended with an unexpected error: {type(error).__name__}: {error}")
    problem.__cause__ = error
    return problem
