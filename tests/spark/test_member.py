"""A worker's side of a gang, with the driver's side played by the test over a real socket."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from penstock.schedule.message import Message
from penstock.schedule.opening import Opening, Written
from penstock.spark.exchange import Exchange
from penstock.spark.line import Line
from penstock.spark.member import Invitation, _Member
from penstock.spark.rendezvous import Rendezvous
from penstock.spark.runtime import Crew
from penstock.spark.wire import Frame
from tests.spark.toy import FAILS_AT_1, LEVELS, Toy, numbers, opening_of

GENERATION = 3


class Moody(Toy):
    """A toy whose next acceptance can be made to fail."""

    fails_to_accept = False

    def accept(self) -> None:
        if self.fails_to_accept:
            raise OSError("out of memory")
        super().accept()


class Driver:
    """The other end of the line."""

    def __init__(self, folder: Path) -> None:
        self.made: list[Moody] = []
        crew = Crew("toy", 1, LEVELS, lambda index: self._make(folder, index))
        invitation = Invitation(("127.0.0.1", 0), "secret", GENERATION, crew)
        with socket.create_server(("127.0.0.1", 0)) as server:
            mine = socket.create_connection(server.getsockname())
            theirs, _ = server.accept()
        self.line, self._theirs = Line(mine), Line(theirs)
        self.line.limit(20)
        member = _Member(invitation, 0, Exchange(0, 1, "127.0.0.1", "secret", GENERATION))
        self.thread = threading.Thread(target=member.serve, args=(self._theirs,), daemon=True)
        self.thread.start()
        self.sequence = 0

    def _make(self, folder: Path, index: int) -> Moody:
        self.made.append(Moody(folder, index, 1))
        return self.made[-1]

    def tell(
        self, do: str, generation: int = GENERATION, *, inputs: Sequence[Message] = (), **fields: Any
    ) -> None:
        self.sequence += 1
        header = {"do": do, "sequence": self.sequence, "generation": generation, **fields}
        self.line.send(Frame(header, tuple(inputs)))

    def ask(self, do: str, *, inputs: Sequence[Message] = (), **fields: Any) -> Frame:
        self.tell(do, inputs=inputs, **fields)
        reply = self.line.receive()
        assert reply is not None
        assert (reply.header["sequence"], reply.header["generation"]) == (self.sequence, GENERATION)
        return reply

    def step(self, number: int, values: list[int]) -> dict[str, Any]:
        fields = {"step": number, "first": 0, "routes": ["edge:0"]}
        return dict(self.ask("step", inputs=[numbers(values, 0)], **fields).header)

    def counts(self) -> dict[int, int]:
        [message] = self.ask("read", name="counts", low=[0]).messages
        return {row["key"]: row["value"] for row in message.batch.to_pylist()}

    def hang_up(self) -> None:
        self.line.close()
        self.thread.join(20)
        self._theirs.close()


@pytest.fixture
def driver(tmp_path: Path) -> Iterator[Driver]:
    driver = Driver(tmp_path)
    yield driver
    driver.hang_up()
    assert not driver.thread.is_alive()


def test_a_step_runs_through_all_levels_and_counts_once_it_is_accepted(driver: Driver) -> None:
    driver.ask("open", opening=Opening().to_json())
    assert driver.step(1, [1, 1, 12])["result"]["views"] == {"counts": 2, "totals": 2}
    driver.tell("accept")
    driver.step(2, [1])
    driver.tell("abort")
    assert driver.counts() == {1: 2, 12: 1}


def test_a_worker_that_was_not_opened_says_so(driver: Driver) -> None:
    fault = driver.ask("read", name="counts", low=[0]).header["fault"]
    assert "not been opened" in str(fault)
    fault = driver.ask("finish_commit").header["fault"]
    assert "no commit was begun" in str(fault)


def test_a_step_that_fails_is_told_with_its_level_and_forgotten(driver: Driver) -> None:
    driver.ask("open", opening=Opening().to_json())
    reply = driver.step(1, [5, FAILS_AT_1])
    assert reply["level"] == 1 and "UNLUCKY" in str(reply["fault"])
    assert driver.made[0].pending == []
    driver.step(1, [5])
    driver.tell("accept")
    assert driver.counts() == {5: 1}


def test_opening_again_makes_a_new_worker(driver: Driver) -> None:
    driver.ask("open", opening=Opening().to_json())
    driver.step(1, [5])
    driver.tell("accept")
    driver.ask("open", opening=Opening().to_json())
    assert driver.counts() == {}
    assert len(driver.made) == 2


def test_an_accepted_step_that_could_not_be_added_makes_the_worker_lost(driver: Driver) -> None:
    driver.ask("open", opening=Opening().to_json())
    driver.step(1, [5])
    driver.made[0].fails_to_accept = True
    driver.tell("accept")  # nobody waits for an answer, so the next command gets it
    assert "could not accept a step: out of memory" in driver.ask("settle").header["lost"]
    driver.thread.join(20)
    assert not driver.thread.is_alive()


def test_after_such_a_failure_only_opening_anew_helps(driver: Driver) -> None:
    driver.ask("open", opening=Opening().to_json())
    driver.step(1, [5])
    driver.made[0].fails_to_accept = True
    driver.tell("accept")
    driver.ask("open", opening=Opening().to_json())
    assert driver.counts() == {}


def test_a_commit_is_written_beside_the_steps_and_holds_what_was_there_when_it_began(driver: Driver) -> None:
    driver.ask("open", opening=Opening().to_json())
    driver.step(1, [5])
    driver.tell("accept")
    driver.tell("write", version=1)
    driver.step(2, [6])
    driver.tell("accept")
    written = driver.ask("finish_commit").header["result"]
    driver.ask("open", opening=opening_of([Written.from_json(written)]).to_json())
    assert driver.counts() == {5: 1}


def test_a_command_of_another_generation_ends_the_worker(driver: Driver) -> None:
    driver.ask("open", opening=Opening().to_json())
    driver.tell("settle", generation=GENERATION + 1)
    driver.thread.join(20)
    assert not driver.thread.is_alive()


def test_a_worker_that_is_told_to_stop_says_so_and_stops(driver: Driver) -> None:
    driver.ask("stop")
    driver.thread.join(20)
    assert not driver.thread.is_alive()


BODY = """
import sys
from penstock.spark.member import Invitation, run_member
from penstock.spark.runtime import Crew

host, port, secret = sys.argv[1], int(sys.argv[2]), sys.argv[3]
run_member(Invitation((host, port), secret, 1, Crew("toy", 1, 3, None)), 0)
"""


def test_a_worker_does_not_outlive_its_driver() -> None:
    rendezvous = Rendezvous(("127.0.0.1", "127.0.0.1"), "secret", 1, 1)
    host, port = rendezvous.address
    process = subprocess.Popen([sys.executable, "-c", BODY, host, str(port), "secret"])
    try:
        link = rendezvous.arrivals.get(timeout=60)
        assert link is not None and link.worker == 0 and str(process.pid) in link.process
        assert process.poll() is None
        link.close()
        process.wait(20)
    finally:
        process.kill()
        process.wait()
        rendezvous.close()
