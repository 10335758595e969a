"""Spark's JVM, which may be gone: killed by the system, or stopped with its session.

Ctrl-C in the middle of a call is a second way in which calls fail: Py4J closes the connection, and if that
does not work it raises an error of its own, from which nobody would guess that a key was pressed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark import SparkContext
from pyspark.errors import PySparkException

from penstock.errors import EnvironmentProblem

__all__ = ["with_jvm"]


@contextmanager
def with_jvm() -> Iterator[None]:
    """For what talks to the JVM: that nobody answers is an EnvironmentProblem, not an error of sockets, and
    what an interrupt brought about is a KeyboardInterrupt."""
    handled = sys.exception()  # what the caller is dealing with already has not brought our error about
    try:
        yield
    except Exception as error:
        if _was_interrupted(error, handled):
            raise KeyboardInterrupt from error
        if isinstance(error, Py4JNetworkError | ConnectionError) or _is_of_a_dead_jvm(error):
            raise _gone(error) from error
        raise


def _was_interrupted(error: BaseException, handled: BaseException | None) -> bool:
    at: BaseException | None = error
    while at is not None and at is not handled:
        if isinstance(at, KeyboardInterrupt):
            return True
        at = at.__context__
    return False


def _is_of_a_dead_jvm(error: Exception) -> bool:
    """Py4J has many errors for it ("Answer from Java side is empty", "… does not exist in the JVM"), and
    PySpark replaces some of them by its own, so ask the JVM something simple. (That
    somebody accepts a connection is not enough: a process that is being killed still does.) An error of Java
    itself was answered by a living one."""
    gateway = SparkContext._gateway
    known = isinstance(error, Py4JError | PySparkException) and not isinstance(error, Py4JJavaError)
    if not known or gateway is None:
        return False
    try:
        gateway.jvm.java.lang.System.nanoTime()
    except Exception:  # whatever it is, a living JVM would have answered
        return True
    return False


def _gone(error: Exception) -> EnvironmentProblem:
    return EnvironmentProblem(
        f"Spark's JVM does not answer ({type(error).__name__}: {error}): it has ended, or was "
        "killed for lack of memory. Nothing that was acknowledged is lost. Start the program again; in a "
        "notebook, restart the kernel"
    )
