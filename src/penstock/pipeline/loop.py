"""The thread that steps a pipeline while it runs, driven by :mod:`penstock.pipeline.machine`."""

from __future__ import annotations

import threading
from collections.abc import Callable

from penstock.errors import EvaluationError, InputError, PenstockError, PipelineError
from penstock.pipeline.machine import Machine, Phase

__all__ = ["Loop"]


class Loop:
    """Calls ``step`` whenever ``ready`` says there is something to do, until paused or stopped; calls
    ``rest`` when there was nothing to do for ``interval_s``.

    A step that fails on bad input (``InputError``, ``EvaluationError``) is reported to ``on_error`` and the
    loop continues: the step had no effect. Any other error, of Penstock or not, is reported too and ends the
    loop.
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
        """The state of the loop."""
        return self._machine.phase

    def start(self) -> None:
        """Starts or resumes the loop."""
        with self._changed:
            was_alive = self._machine.alive
            self._machine = self._machine.start()
            self._changed.notify_all()
        if not was_alive:
            self._thread = threading.Thread(target=self._run, name="penstock-loop", daemon=True)
            self._thread.start()

    def pause(self) -> int:
        """Pauses after the current step and returns the last step."""
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
        """Signals that there may be something to do."""
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
        """Runs one step, or rests; returns whether the loop can continue."""
        try:
            if not busy:
                self._rest()
                return True
            done = self._step()
        except (InputError, EvaluationError) as error:
            self._on_error(error)
            return True
        except BaseException as error:
            # Failing storage, workers that keep dying, a bug: continuing would only drop what is pushed. The
            # loop ends, and its callers get the error.
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
