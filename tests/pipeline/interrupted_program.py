"""A program under fire: inserts one row a step and survives the SIGINTs sent to its process group.

Every call that may be interrupted is one on which the caller can rely afterwards: a step that returned is
acknowledged; after one that raised, the row that was pushed for it is in the next step, or already in the
interrupted one. So at the end every row is there exactly once. Signals that come outside a step are
dropped. The program goes on until it has survived as many as it was told, and says what it does,
one word a line.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from types import FrameType

import penstock as ps

SCRIPT = """
CREATE TABLE t (id BIGINT, doubled BIGINT);
CREATE MATERIALIZED VIEW total AS SELECT count(*) AS n, sum(id) AS ids FROM t;
"""


def say(word: str) -> None:
    print(word, flush=True)


class Interrupts:
    """Hands a signal to the handler that PySpark installed while a step is taken, and drops it otherwise.
    (Blocking the signal would not do: another thread of the process would take it.)"""

    def __init__(self) -> None:
        self._taken, self._armed = signal.getsignal(signal.SIGINT), False
        assert callable(self._taken)
        signal.signal(signal.SIGINT, self._handle)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._armed:
            self._armed = False
            self._taken(number, frame)  # type: ignore[operator]

    def passes_through(self, step: Callable[[], object]) -> bool:
        """Take a step; whether it ended without an interrupt."""
        try:
            self._armed = True
            step()
            self._armed = False
        except KeyboardInterrupt:
            return False
        return True


def main(storage: str, wanted: int, commit_interval_s: float) -> None:
    pipe = ps.Pipeline("fire", storage=storage, workers=2, commit_interval_s=commit_interval_s)
    pipe.sql(SCRIPT)
    run = pipe.run()
    interrupts = Interrupts()
    say("stepping")
    rows = survived = 0
    while survived < wanted:
        rows += 1
        run.insert("t", [{"id": rows, "doubled": 2 * rows}])
        while not interrupts.passes_through(run.step):
            survived += 1
    say("stepped")
    assert run.verify("total")
    assert run.read("t").num_rows == rows, (run.read("t").num_rows, rows)
    run.kill()
    with pipe.run() as again:
        ids = sorted(again.read("t")["id"].to_pylist())
        assert ids == list(range(1, rows + 1)), ids
        assert again.verify("total")
    say("done")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
