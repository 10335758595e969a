"""A gang: W workers that are the tasks of one barrier-mode Spark job, and the driver's connections to them.

Spark schedules the tasks, ships the code and starts all of them or none. A gang is one *generation*: it has
its own secret and rendezvous, works until it is stopped or one of its workers dies, and is never repaired.
Spark does not retry a failed barrier stage, and a lost worker's state is lost anyway: the next generation
opens the last version.

A gang that is stopped ends its job normally, so that Spark prints no errors on the console.
"""

from __future__ import annotations

import atexit
import queue
import secrets
import selectors
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial

from pyspark import InheritableThread, SparkContext
from pyspark.sql import SparkSession

from penstock.errors import EnvironmentProblem, WorkerLost
from penstock.schedule.message import Message
from penstock.spark.faults import rebuild_fault, spark_reason
from penstock.spark.member import Invitation, run_member
from penstock.spark.rendezvous import Link, Rendezvous
from penstock.spark.runtime import Crew
from penstock.spark.session import driver_address, require_slots
from penstock.spark.wire import Frame, begun
from penstock.sql.lost_jvm import with_jvm

__all__ = ["Gang", "stop_gangs"]

_START_SECONDS = 120.0
_STOP_SECONDS = 20.0

_running: set[Gang] = set()


def _task(invitation: Invitation, partition: Iterable[int]) -> Iterator[int]:
    for index in partition:
        run_member(invitation, index)
        yield index


class Gang:
    """The driver's handle on one generation of workers."""

    def __init__(self, spark: SparkSession, crew: Crew, generation: int) -> None:
        self._context: SparkContext = spark.sparkContext
        self.crew, self.workers = crew, crew.workers
        require_slots(spark, crew.workers, _held(self._context))
        self.alive = True
        self._group = f"penstock-{crew.name}-{generation}-{secrets.token_hex(4)}"
        self._sequence = 0
        self._generation = generation
        self._failure: Exception | None = None
        self._secret = secrets.token_hex(32)
        self._rendezvous: Rendezvous | None = None
        self._job: threading.Thread | None = None
        self._links: list[Link] = []
        # Readable when the Spark job itself has ended.
        self._ended, self._ending = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._ended, selectors.EVENT_READ, None)
        _running.add(self)
        try:
            self._start(driver_address(spark))
        except BaseException:
            self.stop()
            raise

    def _start(self, address: tuple[str, str]) -> None:
        rendezvous = Rendezvous(address, self._secret, self._generation, self.workers)
        self._rendezvous = rendezvous
        invitation = Invitation(rendezvous.address, self._secret, self._generation, self.crew)
        self._job = InheritableThread(target=self._run_job, args=(invitation, rendezvous), daemon=True)
        self._job.start()
        self._gather(rendezvous)

    @property
    def holds_slots(self) -> bool:
        """Whether its Spark job has not ended yet."""
        return self._job is not None and self._job.is_alive()

    def ask(
        self,
        do: str,
        fields: Mapping[str, object] | None = None,
        inputs: Sequence[Sequence[Message]] | None = None,
        meanwhile: Callable[[], None] | None = None,
    ) -> list[Frame]:
        """Send every worker the same command, with its own inputs, call ``meanwhile``, and wait for all
        replies.

        A worker's failure is raised only when every worker has replied: then all are idle.
        """
        try:
            self._send(do, fields, inputs)
            if meanwhile is not None:
                meanwhile()
            replies = self._collect()
        except BaseException:
            # Lost workers, or an interrupted exchange of messages: the gang cannot continue.
            self.alive = False
            raise
        faults = [
            (reply.header.get("level", 0), worker)
            for worker, reply in enumerate(replies)
            if "fault" in reply.header
        ]
        if faults:
            # Independent of timing: the first level that failed, its first worker.
            _, worker = min(faults)
            raise rebuild_fault(replies[worker].header["fault"], worker)
        return replies

    def tell(self, do: str, fields: Mapping[str, object] | None = None) -> None:
        """Send every worker a command without a reply; errors show up with the next command."""
        try:
            self._send(do, fields)
        except BaseException:
            self.alive = False
            raise

    def _send(
        self,
        do: str,
        fields: Mapping[str, object] | None = None,
        inputs: Sequence[Sequence[Message]] | None = None,
    ) -> None:
        if not self.alive:
            raise WorkerLost("the workers are gone")
        self._sequence += 1
        # All are encoded before the first is sent: sending wakes a worker, which may need this core.
        commands = [
            begun(self._command(do, fields, inputs[link.worker] if inputs else ())) for link in self._links
        ]
        for link, command in zip(self._links, commands, strict=True):
            link.send(command)

    def stop(self) -> None:
        """End the job: politely where a worker still listens, by cancelling it where not.

        The gang stays registered until its job has ended, so a call that was interrupted can be made again,
        by whoever finds the gang in the register."""
        self.alive = False
        self._sequence += 1
        if self.holds_slots and self._links:
            for link in self._links:
                with suppress(WorkerLost, OSError):  # the worker is gone, or an earlier call closed the link
                    link.limit(_STOP_SECONDS)
                    link.send(begun(self._command("stop")))
            self._wait_for_job()
        # Workers that joined without the gang's knowledge, or are about to, find nobody there and end.
        if self._rendezvous is not None:
            self._rendezvous.close()
        for link in self._links:
            link.close()
        if self.holds_slots:
            self._cancel()
            self._wait_for_job()
        self._selector.close()
        self._ended.close()
        if not self.holds_slots:
            _running.discard(self)

    def _wait_for_job(self) -> None:
        if self._job is not None:
            self._job.join(_STOP_SECONDS)

    def _command(
        self, do: str, fields: Mapping[str, object] | None = None, messages: Sequence[Message] = ()
    ) -> Frame:
        header = {"do": do, "sequence": self._sequence, "generation": self._generation}
        return Frame({**header, **(fields or {})}, messages)

    def _run_job(self, invitation: Invitation, rendezvous: Rendezvous) -> None:
        try:
            self._context.setJobGroup(
                self._group, f"penstock {invitation.crew.name} workers", interruptOnCancel=True
            )
            indexes = self._context.parallelize(range(self.workers), self.workers)
            indexes.barrier().mapPartitions(partial(_task, invitation)).collect()
        except Exception as error:
            self._failure = error
        finally:
            rendezvous.arrivals.put(None)
            self._ending.close()

    def _gather(self, rendezvous: Rendezvous) -> None:
        """Wait until every worker has joined, then tell each where its peers are."""
        joined: dict[int, Link] = {}
        deadline = time.monotonic() + _START_SECONDS
        while len(joined) < self.workers:
            try:
                link = rendezvous.arrivals.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise EnvironmentProblem(
                    f"only {len(joined)} of {self.workers} workers came up within {_START_SECONDS:.0f} s: "
                    "Spark has no free task slots, or the executors cannot reach the driver"
                ) from None
            if link is None:
                raise self._job_ended()
            self._links.append(link)
            joined[link.worker] = link
        self._links = [joined[worker] for worker in range(self.workers)]
        for link in self._links:
            self._selector.register(link, selectors.EVENT_READ, link)
        self.ask("meet", {"locations": [link.location for link in self._links]})

    def _collect(self) -> list[Frame]:
        replies: dict[int, Frame] = {}
        while len(replies) < self.workers:
            for key, _ in self._selector.select():
                link = key.data
                if link is None:
                    raise self._job_ended()
                frame = link.receive()
                if frame.header["sequence"] != self._sequence:
                    continue
                if "lost" in frame.header:
                    raise WorkerLost(frame.header["lost"])
                replies[link.worker] = frame
        return [replies[worker] for worker in range(self.workers)]

    def _job_ended(self) -> WorkerLost:
        reason = f": {spark_reason(self._failure)}" if self._failure is not None else ""
        return WorkerLost(f"the Spark job of the workers has ended{reason}")

    def _cancel(self) -> None:
        # If the SparkContext has been stopped, the job has been with it.
        with suppress(Exception), with_jvm():
            self._context.cancelJobGroup(self._group)


def _held(context: SparkContext) -> int:
    """How many task slots the gangs of a Spark context hold."""
    return sum(gang.workers for gang in _running if gang._context is context and gang.holds_slots)


def stop_gangs(crew: Crew) -> None:
    """Stop every gang of a crew that holds task slots, also one that was lost sight of: an interrupt may come
    before whoever starts a gang can remember it, or while one is being stopped."""
    for gang in list(_running):
        if gang.crew is crew:
            gang.stop()


@atexit.register
def _stop_all() -> None:
    """A program that forgets to close its pipelines still ends without stack traces."""
    for gang in list(_running):
        gang.stop()
