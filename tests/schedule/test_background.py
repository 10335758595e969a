"""Threads that work in passing."""

from __future__ import annotations

import os
import sys
import threading

import pytest

from penstock.schedule.background import give_way


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a thread has no priority of its own")
def test_a_thread_gives_way_and_the_others_keep_their_place() -> None:
    before = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    found: list[int] = []

    def work() -> None:
        give_way()
        found.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [min(19, before + 10)]
    assert os.getpriority(os.PRIO_PROCESS, threading.get_native_id()) == before
