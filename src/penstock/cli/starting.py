"""Starting Spark with a spinner instead of Java's chatter.

The JVM greets everybody with three lines on standard error that mean nothing to a user and cannot be turned
off. It inherits its standard error when it is launched, so for that moment it is given a pipe; a thread
passes on every line that is not among the known ones, for as long as the JVM lives. Nothing else is hidden.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from penstock.cli.console import err

__all__ = ["is_chatter", "starting_spark"]

_CHATTER = (
    b"WARNING: Using incubator modules:",
    b"Setting default log level to",
    b"To adjust logging level use sc.setLogLevel",
)


@contextmanager
def starting_spark() -> Iterator[None]:
    """Shows that Spark is starting; wrap the call that makes the session in it."""
    from pyspark import SparkContext

    with err.status("Starting Spark (a few seconds) …"):
        if SparkContext._gateway is not None:
            yield  # the JVM is up and has said what it had to say
            return
        with _filtered_stderr():
            yield


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
