"""Starting a pipeline from the command line: Spark in the background, one line that says what is going on.

Most of a start is waiting for Spark's JVM, and most of what Python does meanwhile is imports; so Spark starts
in a thread while the verb imports what it needs. The line shows the phase, and what the library logs about it
(loggers ``penstock.*``, level INFO): the view being planned, the step being replayed. Where standard error is
not a terminal, only the summary is printed.

The JVM greets everybody with three lines on standard error that mean nothing to a user and cannot be turned
off. It inherits its standard error when it is launched, so for that moment it is given a pipe; a thread
passes on every line that is not among the known ones, for as long as the JVM lives. Nothing else is hidden.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import TYPE_CHECKING

from penstock.cli.console import err

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Starting", "is_chatter"]

_Tell = Callable[[str], None]

_CHATTER = (
    b"WARNING: Using incubator modules:",
    b"Setting default log level to",
    b"To adjust logging level use sc.setLogLevel",
)


class Starting:
    """Shows what a start waits for. Spark begins to start when this is entered.

    ``brief``: Spark only plans and runs workers here; see ``find_or_make_session``. ``summary``: say at the
    end how long each phase took.
    """

    def __init__(self, name: str, workers: int, *, brief: bool = False, summary: bool = True) -> None:
        self._name, self._workers, self._brief, self._summary = name, workers, brief, summary
        self._began = time.perf_counter()
        self._phases: list[tuple[str, float]] = []
        self._status = err.status("")
        self._stack = ExitStack()
        self._launch = ExitStack()
        self._spark: Future[SparkSession] = Future()

    def __enter__(self) -> Starting:
        self._stack.enter_context(self._status)
        self._stack.enter_context(_telling(self._tell))
        self.phase("Spark")
        self._stack.enter_context(self._launch)
        self._begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()
        if error is None and self._summary:
            took = zip(self._phases, [*self._phases[1:], ("", time.perf_counter())], strict=True)
            parts = ", ".join(f"{name} {after - since:.1f}" for (name, since), (_, after) in took)
            err.print(f"[dim]Ready in {time.perf_counter() - self._began:.1f} s ({parts})[/]")

    def phase(self, name: str) -> None:
        """What comes now. The last phase ends with the start."""
        self._phases.append((name, time.perf_counter()))
        self._tell("")

    def spark(self) -> SparkSession:
        """The session, once it is there."""
        with self._launch:
            spark = self._spark.result()
        spark._jvm.SparkSession.setActiveSession(spark._jsparkSession)  # type: ignore[union-attr]
        return spark

    def _begin(self) -> None:
        from pyspark import SparkContext

        if SparkContext._gateway is not None:  # the JVM is up and has said what it had to say
            self._find()
            return
        self._launch.enter_context(_filtered_stderr())
        threading.Thread(target=self._find, name="penstock-spark", daemon=True).start()

    def _find(self) -> None:
        from penstock.spark.session import find_or_make_session

        try:
            spark, _ = find_or_make_session(self._name, self._workers, brief=self._brief)
        except BaseException as error:
            self._spark.set_exception(error)
        else:
            self._spark.set_result(spark)

    def _tell(self, detail: str) -> None:
        self._status.update(f"Starting: {self._phases[-1][0]}{f', {detail}' if detail else ''} …")


@contextmanager
def _telling(tell: _Tell) -> Iterator[None]:
    """Inside, what the library logs is shown: news in the line, warnings below each other."""
    logger, handler = logging.getLogger("penstock"), _Handler(tell)
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(before)
        logger.removeHandler(handler)


class _Handler(logging.Handler):
    def __init__(self, tell: _Tell) -> None:
        super().__init__()
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno >= logging.WARNING:
            err.print(f"[yellow]{record.levelname.capitalize()}:[/] ", end="")
            err.print(record.getMessage(), markup=False, soft_wrap=True)
        else:
            self._tell(record.getMessage())


def is_chatter(line: bytes) -> bool:
    """Whether a line is one that every JVM started by PySpark prints."""
    return line.startswith(_CHATTER)


@contextmanager
def _filtered_stderr() -> Iterator[None]:
    """Gives child processes a filtered standard error; our own stays what it is."""
    own, here = sys.stderr, os.dup(2)
    reading, writing = os.pipe()
    threading.Thread(target=_pass_on, args=(reading, here), name="jvm-stderr", daemon=True).start()
    with os.fdopen(here, "w", closefd=False, buffering=1) as direct:
        os.dup2(writing, 2)
        sys.stderr = direct
        try:
            yield
        finally:
            sys.stderr = own
            os.dup2(here, 2)
            os.close(writing)


def _pass_on(reading: int, to: int) -> None:
    with os.fdopen(reading, "rb") as lines:
        for line in lines:
            if not is_chatter(line):
                os.write(to, line)
