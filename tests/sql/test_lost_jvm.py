"""A JVM that is gone is said to be gone, with what to do; other errors stay what they are."""

from __future__ import annotations

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError

from penstock.errors import EnvironmentProblem
from penstock.sql.lost_jvm import with_jvm


@pytest.mark.parametrize(
    "error",
    [
        ConnectionRefusedError(111, "Connection refused"),
        Py4JNetworkError("Error while sending"),
    ],
)
def test_a_jvm_that_does_not_answer_is_a_problem_of_the_environment(error: Exception) -> None:
    with pytest.raises(EnvironmentProblem, match=r"JVM does not answer.*Start the program again"), with_jvm():
        raise error


def test_other_errors_of_java_stay_what_they_are() -> None:
    with pytest.raises(Py4JError, match="no such method"), with_jvm():
        raise Py4JError("no such method")


def raise_other() -> None:
    raise Py4JError("no such method")


def raise_interrupted() -> None:
    """What Py4J does when Ctrl-C comes in the middle of a call."""
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt:
        raise Py4JError("Gateway must be connected to send cancel cmd.") from None


def test_what_an_interrupt_brought_about_is_an_interrupt() -> None:
    with pytest.raises(KeyboardInterrupt), with_jvm():
        raise_interrupted()


def test_an_error_after_an_interrupt_that_was_dealt_with_is_an_error() -> None:
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt:
        with pytest.raises(Py4JError, match="no such method"), with_jvm():
            raise_other()
