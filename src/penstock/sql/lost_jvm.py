"""Spark's JVM, which may be gone: killed by the system, or stopped with its session.

Ctrl-C in the middle of a call is a second way in which calls fail: Py4J closes the connection, and if that
does not work it raises an error of its own, from which nobody would guess that a key was pressed.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark import SparkContext

from penstock.errors import EnvironmentProblem

__all__ = ["with_jvm"]

_PROBE_SECONDS = 5.0


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
    """Py4J has many errors for it ("Answer from Java side is empty", "… does not exist in the JVM"), so ask
    whether anybody still listens where the JVM did. An error of Java itself was answered by a living one."""
    gateway = SparkContext._gateway
    if not isinstance(error, Py4JError) or isinstance(error, Py4JJavaError) or gateway is None:
        return False
    parameters = gateway.gateway_parameters
    try:
        socket.create_connection((parameters.address, parameters.port), timeout=_PROBE_SECONDS).close()
    except OSError:
        return True
    return False


def _gone(error: Exception) -> EnvironmentProblem:
    return EnvironmentProblem(
        f"Spark's JVM does not answer ({type(error).__name__}: {error}): it has ended, or was "
        "killed for lack of memory. Nothing that was acknowledged is lost. Start the program again; in a "
        "notebook, restart the kernel"
    )
