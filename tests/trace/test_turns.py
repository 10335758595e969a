"""Steps go before merges, and merges never stop."""

from __future__ import annotations

import threading
import time

import pytest

import penstock.trace.turns as module
from penstock.trace.turns import Turns


def merging(turns: Turns, pieces: int) -> tuple[threading.Thread, list[float]]:
    """A merge of so many pieces in another thread, and when each was done."""
    done: list[float] = []

    def merge() -> None:
        for _ in range(pieces):
            turns.give_way()
            done.append(time.monotonic())

    thread = threading.Thread(target=merge)
    thread.start()
    return thread, done


def test_without_a_step_a_merge_does_not_wait() -> None:
    turns = Turns()
    turns.step_began()
    turns.step_ended()
    thread, done = merging(turns, 1000)
    thread.join(10)
    assert len(done) == 1000


def test_a_merge_waits_for_a_step_but_gets_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST_WAIT_S", 0.2)
    turns = Turns()
    turns.step_began()
    began = time.monotonic()
    thread, done = merging(turns, 2)
    thread.join(10)
    assert len(done) == 2 and done[0] - began >= 0.19 and done[1] - done[0] >= 0.19


def test_a_merge_that_somebody_waits_for_does_not_wait_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST_WAIT_S", 30.0)
    turns = Turns()
    turns.step_began()
    thread, done = merging(turns, 3)
    with turns.hurried():
        thread.join(10)
    assert len(done) == 3
    later, undone = merging(turns, 1)
    time.sleep(0.05)
    assert not undone, "the step is still running"
    turns.step_ended()
    later.join(10)
    assert len(undone) == 1
