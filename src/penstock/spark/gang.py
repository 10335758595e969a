"""A gang: W workers that are the tasks of one barrier-mode Spark job, and the driver's channels to them.

Spark places the tasks, ships the code and starts all of them or none. A gang is one *generation*: it has a
secret and a rendezvous of its own, works until it is stopped or one of its workers dies, and is never mended.
Spark does not retry a failed barrier stage, and a lost worker's state is lost anyway: the next generation
opens the last version.

A gang that is stopped ends its job normally, so Spark has nothing to complain about on the console.
"""

from __future__ import annotations

import atexit
import queue
import secrets
import selectors
import socket
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from pyspark import InheritableThread, SparkContext
from pyspark.sql import SparkSession

from penstock.errors import EnvironmentProblem, WorkerLost
from penstock.schedule.message import Message
from penstock.spark.faults import rebuild_fault, spark_reason
from penstock.spark.member import Invitation, take_part
from penstock.spark.rendezvous import Link, Rendezvous
from penstock.spark.runtime import Crew
from penstock.spark.session import driver_address, require_slots
from penstock.spark.wire import Frame, begun

__all__ = ["Gang"]

_START_SECONDS = 120.0
_STOP_SECONDS = 5.0

_running: weakref.WeakSet[Gang] = weakref.WeakSet()


def _task(invitation: Invitation, partition: Iterable[int]) -> Iterator[int]:
    for index in partition:
        take_part(invitation, index)
        yield index


class Gang:
    """The driver's handle on one generation of workers."""

    def __init__(self, spark: SparkSession, crew: Crew, generation: int) -> None:
        self._context: SparkContext = spark.sparkContext
        self.workers: int = crew.workers
        held = sum(gang.workers for gang in _running if gang._context is self._context)
        require_slots(spark, crew.workers, held)
        self.alive = True
        self._group = f"penstock-{crew.name}-{generation}-{secrets.token_hex(4)}"
        self._sequence = 0
        self._generation = generation
        self._failure: Exception | None = None
        self._secret = secrets.token_hex(32)
        self._rendezvous = Rendezvous(driver_address(spark), self._secret, generation, crew.workers)
        self._links: list[Link] = []
        # Readable when the Spark job itself has ended.
        self._ended, self._ending = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._ended, selectors.EVENT_READ, None)
        invitation = Invitation(self._rendezvous.address, self._secret, generation, crew)
        self._job = InheritableThread(target=self._run_job, args=(invitation,), daemon=True)
        _running.add(self)
        try:
            self._job.start()
            self._gather()
        except BaseException:
            self.stop()
            raise

    def ask(
        self,
        do: str,
        fields: Mapping[str, object] | None = None,
        inputs: Sequence[Sequence[Message]] | None = None,
        meanwhile: Callable[[], None] | None = None,
    ) -> list[Frame]:
        """Give every worker the same command, with its own inputs, do something meanwhile, and wait for all
        replies.

        A worker's failure is raised only when every worker has replied: then all stand still.
        """
        try:
            self._send(do, fields, inputs)
            if meanwhile is not None:
                meanwhile()
            replies = self._collect()
        except BaseException:
            # Lost workers, or a conversation that was broken off: nobody can go on from here.
            self.alive = False
            raise
        faults = [
            (reply.header.get("level", 0), worker)
            for worker, reply in enumerate(replies)
            if "fault" in reply.header
        ]
        if faults:
            # The same choice whatever the timing: the first level that failed, its first worker.
            _, worker = min(faults)
            raise rebuild_fault(replies[worker].header["fault"], worker)
        return replies

    def tell(self, do: str, fields: Mapping[str, object] | None = None) -> None:
        """Give every worker a command that it does not reply to; what goes wrong shows with the next one."""
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
        # All are made before the first is sent: it wakes a worker, which may need this core.
        commands = [
            begun(self._command(do, fields, inputs[link.worker] if inputs else ())) for link in self._links
        ]
        for link, command in zip(self._links, commands, strict=True):
            link.send(command)

    def stop(self) -> None:
        """End the job: politely where a worker still listens, by cancelling it where not."""
        self.alive = False
        self._sequence += 1
        for link in self._links:
            link.limit(_STOP_SECONDS)
            try:
                link.send(begun(self._command("stop")))
            except WorkerLost:
                continue
        if self._links:
            self._job.join(_STOP_SECONDS)
        if self._job.is_alive():
            self._cancel()
            self._job.join(_STOP_SECONDS)
        self._rendezvous.close()
        self._selector.close()
        self._ended.close()
        for link in self._links:
            link.close()
        _running.discard(self)

    def _command(
        self, do: str, fields: Mapping[str, object] | None = None, messages: Sequence[Message] = ()
    ) -> Frame:
        header = {"do": do, "sequence": self._sequence, "generation": self._generation}
        return Frame({**header, **(fields or {})}, messages)

    def _run_job(self, invitation: Invitation) -> None:
        try:
            self._context.setJobGroup(
                self._group, f"penstock {invitation.crew.name} workers", interruptOnCancel=True
            )
            indexes = self._context.parallelize(range(self.workers), self.workers)
            indexes.barrier().mapPartitions(partial(_task, invitation)).collect()
        except Exception as error:
            self._failure = error
        finally:
            self._rendezvous.arrivals.put(None)
            self._ending.close()

    def _gather(self) -> None:
        """Wait until every worker has joined, then tell each where its peers are."""
        joined: dict[int, Link] = {}
        deadline = time.monotonic() + _START_SECONDS
        while len(joined) < self.workers:
            try:
                link = self._rendezvous.arrivals.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise EnvironmentProblem(
                    f"only {len(joined)} of {self.workers} workers came up within {_START_SECONDS:.0f} s: "
                    "Spark has no free task slots, or the executors cannot reach the driver"
                ) from None
            if link is None:
                raise self._job_ended()
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
        try:
            self._context.cancelJobGroup(self._group)
        except Exception:
            return  # the SparkContext has been stopped, and the job with it


@atexit.register
def _stop_all() -> None:
    """A program that forgets to close its pipelines still ends without stack traces."""
    for gang in list(_running):
        gang.stop()
