"""The driver's end of the channels to its workers.

The driver runs one small Flight server for each generation of workers. A worker opens one long-lived stream
to it, introduces itself (generation, index, where peers reach it, process id), and from then on takes
commands and sends replies on it. The workers connect to the driver and not the other way round, because the
driver's address is the one thing every executor is sure to reach.

A broken stream is how the driver learns, within milliseconds, that a worker's process has died. The reverse
needs more: a worker deep in a step does not look at its stream, so it also calls ``beat`` every few seconds.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow.flight as flight

from penstock.errors import WorkerLost
from penstock.spark.channel import Hello, check_generation, host_location, read_hello, require_secret
from penstock.spark.wire import CARRIER, Chunk, Frame, FrameReader, read_frame, write_chunks

__all__ = ["Event", "Link", "Rendezvous"]


class Link:
    """The stream to one worker, and what the worker said of itself.

    Commands are written by the coordinator's thread to a stream that belongs to a server thread; the lock
    keeps the stream in being while it is written to.
    """

    def __init__(self, worker: int, hello: Hello, writer: flight.MetadataRecordBatchWriter) -> None:
        self.worker = worker
        self.location: str | None = hello["location"]
        self.process = str(hello["process"])
        self._writer: flight.MetadataRecordBatchWriter | None = writer
        self._lock = threading.Lock()

    def send(self, command: Iterable[Chunk]) -> None:
        """Write a command. Raises WorkerLost if the worker is gone."""
        with self._lock:
            if self._writer is None:
                raise WorkerLost(f"worker {self.worker} ({self.process}) is gone")
            try:
                write_chunks(self._writer, command)
            except (flight.FlightError, OSError) as error:
                raise WorkerLost(f"worker {self.worker} ({self.process}) is gone") from error

    def end(self) -> None:
        with self._lock:
            self._writer = None


@dataclass(frozen=True, slots=True)
class Event:
    """Something a worker did: joined (a link), replied (a frame), or neither: its stream ended."""

    worker: int
    link: Link | None = None
    frame: Frame | None = None


class Rendezvous(flight.FlightServerBase):  # type: ignore[misc]
    """Accepts the workers of one generation and turns all they do into one queue of events."""

    def __init__(self, address: tuple[str, str], secret: str, generation: int, workers: int) -> None:
        """``address``: where to listen, and the name by which workers reach that."""
        listen, self._host = address
        super().__init__(host_location(listen), middleware=require_secret(secret))
        self._generation, self._workers = generation, workers
        self.events: queue.SimpleQueue[Event] = queue.SimpleQueue()

    @property
    def location(self) -> str:
        return host_location(self._host, self.port)

    def do_exchange(
        self,
        context: flight.ServerCallContext,
        descriptor: flight.FlightDescriptor,
        reader: flight.MetadataRecordBatchReader,
        writer: flight.MetadataRecordBatchWriter,
    ) -> None:
        hello = read_hello(descriptor)
        check_generation(hello, self._generation)
        worker = int(hello["worker"])
        if not 0 <= worker < self._workers:
            raise flight.FlightUnauthorizedError(f"there is no worker {worker}")
        writer.begin(CARRIER)
        link = Link(worker, hello, writer)
        self.events.put(Event(worker, link=link))
        frames = FrameReader()
        try:
            while (frame := read_frame(reader, frames)) is not None:
                check_generation(frame.header, self._generation)
                self.events.put(Event(worker, frame=frame))
        except flight.FlightError:
            return  # the stream broke: the same news as its end
        finally:
            link.end()
            self.events.put(Event(worker))

    def do_action(self, context: flight.ServerCallContext, action: flight.Action) -> Iterator[Any]:
        if action.type != "beat":
            raise flight.FlightServerError(f"unknown action {action.type}")
        check_generation({"generation": int(action.body.to_pybytes())}, self._generation)
        return iter(())
