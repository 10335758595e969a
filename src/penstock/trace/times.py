"""Logical times: (step, iteration), in one 64-bit word.

Outside a loop a step is the only time there is, and batches carry none. Inside a loop an update belongs to a
step and to an iteration of the loop in that step. Times are ordered as pairs: ``(s, i) <= (t, j)`` if
``s <= t`` and ``i <= j``. That is a partial order, in fact a lattice: any two times have a least upper bound
(:func:`join`) and a greatest lower bound (:func:`meet`), component by component. What a loop holds at a time
is the sum of all updates at or before it.

The word has the step in its high 40 bits and the iteration in its low 24: a thousand steps a second for 34
years, and 16 million iterations. As numbers, words extend the order of times: a time that is before another
in the lattice is the smaller word. The functions work on arrays of words, and cost one pass each.

**Advancing.** A *frontier* is a set of times such that whoever reads from now on reads at a time at or after
one of them. Two times that such a reader cannot tell apart may be stored as one, and updates at both may then
cancel. Each time ``t`` is replaced by the meet of ``join(t, f)`` over all ``f`` of the frontier, which is the
last of the times that are indistinguishable from ``t``, so all of those become the same. Pairs of numbers
form a distributive lattice, where that equals ``join(t, m)`` with ``m`` the meet of the frontier.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ITERATION_BITS",
    "STEP_BITS",
    "Time",
    "advance",
    "iterations_of",
    "join",
    "less_equal",
    "meet",
    "steps_of",
    "times_of",
]

Words = NDArray[np.uint64]

STEP_BITS, ITERATION_BITS = 40, 24

_ITERATION = np.uint64((1 << ITERATION_BITS) - 1)
_STEP = ~_ITERATION
_SHIFT = np.uint64(ITERATION_BITS)


@dataclass(frozen=True, slots=True)
class Time:
    """One time. Not ordered by ``<``: compare words with :func:`less_equal`."""

    step: int
    iteration: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.step < 1 << STEP_BITS:
            raise ValueError(f"step {self.step} does not fit the {STEP_BITS} bits that a time has for it")
        if not 0 <= self.iteration < 1 << ITERATION_BITS:
            raise ValueError(
                f"iteration {self.iteration} does not fit the {ITERATION_BITS} bits that a time has for it"
            )

    @property
    def word(self) -> np.uint64:
        """As it is stored."""
        return np.uint64(self.step << ITERATION_BITS | self.iteration)

    @staticmethod
    def of_word(word: int | np.uint64) -> Time:
        """The inverse of :attr:`word`."""
        return Time(int(word) >> ITERATION_BITS, int(word) & int(_ITERATION))


def times_of(steps: Words, iterations: Words) -> Words:
    """The words of many times. Raises ValueError if a step or an iteration is too large."""
    if len(steps):
        Time(int(steps.max()), int(iterations.max()))
    words: Words = steps << _SHIFT | iterations
    return words


def steps_of(times: Words) -> Words:
    """The step of each time."""
    steps: Words = times >> _SHIFT
    return steps


def iterations_of(times: Words) -> Words:
    """The iteration of each time."""
    iterations: Words = times & _ITERATION
    return iterations


def less_equal(left: Words, right: Words | np.uint64) -> NDArray[np.bool_]:
    """Whether each time is at or before the other in the lattice."""
    found: NDArray[np.bool_] = ((left & _STEP) <= (right & _STEP)) & (
        (left & _ITERATION) <= (right & _ITERATION)
    )
    return found


def join(left: Words, right: Words | np.uint64) -> Words:
    """The first time that is at or after both."""
    words: Words = np.maximum(left & _STEP, right & _STEP) | np.maximum(left & _ITERATION, right & _ITERATION)
    return words


def meet(left: Words, right: Words | np.uint64) -> Words:
    """The last time that is at or before both."""
    words: Words = np.minimum(left & _STEP, right & _STEP) | np.minimum(left & _ITERATION, right & _ITERATION)
    return words


def advance(times: Words, frontier: Sequence[Time]) -> Words:
    """For each time the last one that no reader at or after a time of the frontier can tell from it.

    An empty frontier says that nobody will read: then there is nothing to keep, and nothing to advance."""
    if not frontier:
        raise ValueError("an empty frontier means that nobody reads the batch: drop it instead")
    earliest = Time(min(time.step for time in frontier), min(time.iteration for time in frontier))
    return join(times, earliest.word)
