"""A worker's side of a gang: the body of one barrier task.

A member joins the driver's rendezvous, connects to its peers, then executes commands one at a time until it
is told to stop or its driver is gone. It never outlives the driver: a second thread watches the connection
and ends the process when it breaks. It owns no durable state: what is not in a published manifest is
replayed.

Everything that uses gRPC or sockets starts inside the task, after Spark forked the process, and ends with it,
because Spark may run other tasks in the same process later.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.errors import PipelineError, WorkerLost
from penstock.schedule.message import Answer, Message, parse_route
from penstock.schedule.opening import Opening
from penstock.schedule.state import forget_segments
from penstock.spark.allocation import (
    collect_rarely,
    give_back_excess,
    keep_freed_memory,
    release_memory,
)
from penstock.spark.exchange import Exchange, Poisoned
from penstock.spark.faults import describe_fault
from penstock.spark.line import Line, call
from penstock.spark.runtime import Crew, StepWorker
from penstock.spark.wire import Frame
from penstock.spark.writer import CommitWriter

__all__ = ["Invitation", "run_member"]

_GRACE_SECONDS = 3.0
_TOLD = ("accept", "abort", "write")  # commands without a reply
_SWITCH_SECONDS = 0.0005
_IDLE_SECONDS = 0.25

Reply = tuple[dict[str, Any], Sequence[Message]]


@dataclass(frozen=True, slots=True)
class Invitation:
    """Everything a task needs to join its gang."""

    address: tuple[str, int]
    secret: str
    generation: int
    crew: Crew


def run_member(invitation: Invitation, index: int) -> None:
    """Run as worker ``index`` of the gang until it ends."""
    keep_freed_memory(invitation.crew.memory)
    exchange = Exchange(
        index,
        invitation.crew.workers,
        _address_towards(invitation.address),
        invitation.secret,
        invitation.generation,
    )
    over = threading.Event()
    line: Line | None = None
    try:
        hello = {
            "generation": invitation.generation,
            "worker": index,
            "location": exchange.location,
            "process": f"process {os.getpid()} on {socket.gethostname()}",
        }
        line = call(invitation.address, invitation.secret, hello)
        threading.Thread(target=_watch, args=(line, over), daemon=True).start()
        # Make a commit that is being written yield the GIL to a step sooner than by default.
        sys.setswitchinterval(_SWITCH_SECONDS)
        _Member(invitation, index, exchange).serve(line)
    except OSError:
        return  # the driver is gone or does not know this generation: either way nothing waits for us
    finally:
        over.set()
        exchange.close()
        if line is not None:
            line.close()
        forget_segments()
        release_memory()


def _address_towards(driver: tuple[str, int]) -> str:
    """This machine's address on the route to the driver: the one under which peers reach it."""
    with socket.socket(socket.AF_INET6 if ":" in driver[0] else socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(driver)  # sends nothing: it only selects the route
        return str(probe.getsockname()[0])


def _watch(line: Line, over: threading.Event) -> None:
    """When the driver is gone, end this process. If the driver has just told us to stop, its disconnection is
    expected: then the main thread may finish normally."""
    if line.watch(over, _GRACE_SECONDS):
        os._exit(1)


class _Member:
    """Executes commands on the worker object. One method for each command, with the command's name."""

    def __init__(self, invitation: Invitation, index: int, exchange: Exchange) -> None:
        self._generation = invitation.generation
        self._crew = invitation.crew
        self._index = index
        self._exchange = exchange
        self._opened: StepWorker | None = None
        self._undecided: WorkerLost | None = None
        self._writer: CommitWriter | None = None
        self._restless = False  # whether the worker may have background work left
        self._commands: dict[str, Callable[[Mapping[str, Any], Sequence[Message]], Reply]] = {
            "meet": self._meet,
            "open": self._open,
            "step": self._step,
            "settle": self._settle,
            "commit": self._commit,
            "finish_commit": self._finish_commit,
            "read": self._read,
            "changes": self._changes,
            "stop": lambda header, messages: ({}, ()),
        }

    def serve(self, line: Line) -> None:
        """Run until the end. Afterwards nothing is being written any more, into a folder that may be deleted
        soon."""
        try:
            self._obey(line)
        finally:
            if self._writer is not None:
                self._writer.wait()

    def _obey(self, line: Line) -> None:
        while (command := self._next(line)) is not None:
            header = command.header
            if header["generation"] != self._generation:
                return
            if header["do"] in _TOLD:
                self._follow(header)
                continue
            try:
                if self._undecided is not None and header["do"] != "open":
                    raise self._undecided
                reply, messages = self._commands[header["do"]](header, command.messages)
            except WorkerLost as loss:
                reply, messages = {"lost": str(loss)}, ()
            except Exception as error:  # whatever it is, the driver must know
                reply, messages = {"fault": describe_fault(error)}, ()
            envelope = {"generation": self._generation, "sequence": header["sequence"]}
            line.send(Frame(reply | envelope, messages))
            if header["do"] == "stop" or "lost" in reply:
                return

    def _next(self, line: Line) -> Frame | None:
        """The next command. While none comes, the worker does its background work."""
        while self._restless and not line.ready(_IDLE_SECONDS):
            try:
                self._restless = self._worker.continue_merging()
            except Exception as error:
                self._restless = False
                self._undecided = WorkerLost(
                    f"worker {self._index} could not merge in the background: {error}"
                )
        return line.receive()

    @property
    def _worker(self) -> StepWorker:
        if self._opened is None:
            raise PipelineError("the worker has not been opened")
        return self._opened

    def _follow(self, header: Mapping[str, Any]) -> None:
        """The driver's decision about the last step, or a request to write the state. There is no reply, so a
        failure is kept for the next command: if an accepted step cannot be added to the state, the state is
        lost."""
        do = header["do"]
        try:
            if do == "accept":
                self._worker.accept()
                give_back_excess(self._crew.memory)
                self._restless = True
            elif do == "write":
                self._begin_writing(header["version"])
            elif self._opened is not None:
                self._opened.abort()
        except Exception as error:
            self._undecided = WorkerLost(f"worker {self._index} could not {do} a step: {error}")

    def _begin_writing(self, version: int) -> None:
        if self._writer is not None:
            self._writer.wait()
        self._writer = CommitWriter(self._worker, self._index, version, self._crew.memory)

    def _meet(self, header: Mapping[str, Any], messages: Sequence[Message]) -> Reply:
        self._exchange.meet(header["locations"])
        return {}, ()

    def _open(self, header: Mapping[str, Any], messages: Sequence[Message]) -> Reply:
        # A new object each time: nothing of an earlier attempt can survive in it.
        if self._writer is not None:
            self._writer.wait()
        self._opened = self._undecided = self._writer = None
        self._restless = False
        worker = self._crew.factory(self._index)
        worker.merge_in_passing()
        worker.open(Opening.from_json(header["opening"]))
        collect_rarely()
        self._opened = worker
        return {}, ()

    def _step(self, header: Mapping[str, Any], inputs: Sequence[Message]) -> Reply:
        worker, sequence, last = self._worker, header["sequence"], self._crew.levels - 1
        level = first = header["first"]
        exchanged_s = 0.0
        try:
            worker.begin(header["step"], inputs)
            exchanging = worker.exchanging([parse_route(text) for text in header["routes"]])
            inbox: list[Message] = []
            for level in range(first, self._crew.levels):
                outgoing = worker.run_level(level, inbox)
                if level < last and level not in exchanging:
                    self._check_own(outgoing)
                    inbox = outgoing
                elif level < last:
                    started = time.perf_counter()
                    inbox = self._exchange.swap(sequence, level, outgoing)
                    exchanged_s += time.perf_counter() - started
                elif outgoing:
                    raise PipelineError("the last level has nobody to send to; this is a bug in Penstock")
            reply: dict[str, Any] = {
                "result": worker.finish() | {"exchange_ms": round(exchanged_s * 1000, 3)}
            }
            if self._writer is not None and (news := self._writer.news()) is not None:
                reply["written"] = news
            return reply, ()
        except Poisoned:
            worker.abort()
            return {"poisoned": True}, ()
        except WorkerLost:
            raise
        except Exception as error:
            worker.abort()
            if level < last:
                self._exchange.poison(sequence, level)
            return {"fault": describe_fault(error), "level": level}, ()

    def _settle(self, header: Mapping[str, Any], messages: Sequence[Message]) -> Reply:
        self._worker.settle()
        return {}, ()

    def _check_own(self, messages: Sequence[Message]) -> None:
        if any(message.target != self._index for message in messages):
            raise PipelineError("a message would have been lost; this is a bug in Penstock")

    def _commit(self, header: Mapping[str, Any], messages: Sequence[Message]) -> Reply:
        self._begin_writing(header["version"])
        return self._finish_commit(header, messages)

    def _finish_commit(self, header: Mapping[str, Any], messages: Sequence[Message]) -> Reply:
        if self._writer is None:
            raise PipelineError("no commit was begun")
        outcome = self._writer.wait()
        return {"fault": outcome["fault"]} if "fault" in outcome else {"result": outcome}, ()

    def _read(self, header: Mapping[str, Any], messages: Sequence[Message]) -> Reply:
        low = header["low"][self._index]
        if low is None:
            return {"next_low": None}, ()
        reading = self._worker.read(header["name"], low)
        return {"next_low": reading.next_low}, self._parts(reading.batches)

    def _changes(self, header: Mapping[str, Any], messages: Sequence[Message]) -> Reply:
        return {}, self._parts(self._worker.changes(header["view"], header["since"]))

    def _parts(self, batches: Sequence[pa.RecordBatch]) -> tuple[Message, ...]:
        return tuple(Message(Answer(), self._index, batch) for batch in batches)
