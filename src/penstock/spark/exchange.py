"""The exchange between workers at the end of a level, peer to peer over Arrow Flight.

Invariant: at every level each worker sends each peer exactly one frame (empty if it has nothing for it), and
goes on only when it holds one from each. So a peer can be ahead by one level at most, and what waits in a
worker's memory is at most the next level's input, which it needs there anyway.

Each ordered pair of workers has one stream that lives as long as the gang. The receiving end is read by a
server thread of its own that never waits for the worker's main thread, therefore a sender is never blocked
by a receiver that is itself sending: everybody may send much at once. Frames of one peer arrive in order, so
each peer has a queue, and a frame that is not the one expected next is either a leftover of an aborted
attempt (older ``sequence``: dropped) or a defect.

A worker that fails sends *poison* in place of its frame: nobody waits for data that will not come.

Cost: one Flight write for each peer and level if the messages are small. With one worker there is no
server and no stream, and messages to oneself never leave memory.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Mapping, Sequence

import pyarrow.flight as flight

from penstock.errors import PipelineError, WorkerLost
from penstock.schedule.message import Message
from penstock.spark.channel import (
    call_options,
    check_generation,
    connect,
    hello_descriptor,
    host_location,
    read_hello,
    require_secret,
)
from penstock.spark.wire import CARRIER, Frame, FrameReader, begun, read_frame, write_chunks

__all__ = ["Exchange", "Poisoned"]

_SHUTDOWN_SECONDS = 2.0


class Poisoned(Exception):  # noqa: N818 - a signal between workers, not an error of its own
    """A peer failed in this step; it reports the reason to the driver itself."""


class _PeerServer(flight.FlightServerBase):  # type: ignore[misc]
    """Receives the streams of all peers, one thread each, into one queue each."""

    def __init__(self, host: str, secret: str, generation: int, workers: int) -> None:
        super().__init__(host_location(host), middleware=require_secret(secret))
        self.generation = generation
        # None in a queue means: this peer's stream has ended.
        self.queues: list[queue.SimpleQueue[Frame | None]] = [queue.SimpleQueue() for _ in range(workers)]
        self._claimed = [threading.Lock() for _ in range(workers)]

    def do_put(
        self,
        context: flight.ServerCallContext,
        descriptor: flight.FlightDescriptor,
        reader: flight.MetadataRecordBatchReader,
        writer: flight.FlightMetadataWriter,
    ) -> None:
        hello = read_hello(descriptor)
        check_generation(hello, self.generation)
        source = int(hello["source"])
        if not self._claimed[source].acquire(blocking=False):
            raise flight.FlightUnauthorizedError(f"worker {source} is connected already")
        arrived, frames = self.queues[source], FrameReader()
        try:
            while (frame := read_frame(reader, frames)) is not None:
                check_generation(frame.header, self.generation)
                arrived.put(frame)
        finally:
            arrived.put(None)


class Exchange:
    """One worker's end of the exchange. Used by the worker's main thread only."""

    def __init__(self, worker: int, workers: int, host: str, secret: str, generation: int) -> None:
        self._worker, self._workers = worker, workers
        self._secret, self._generation = secret, generation
        self._server = _PeerServer(host, secret, generation, workers) if workers > 1 else None
        self._host = host
        self._clients: list[flight.FlightClient] = []
        self._writers: dict[int, flight.FlightStreamWriter] = {}

    @property
    def location(self) -> str | None:
        """Where peers reach this worker."""
        return None if self._server is None else host_location(self._host, self._server.port)

    def meet(self, locations: Sequence[str | None]) -> None:
        """Open this worker's stream to every peer."""
        hello = hello_descriptor({"generation": self._generation, "source": self._worker})
        for peer, location in enumerate(locations):
            if peer == self._worker or location is None:
                continue
            client = connect(location)
            self._clients.append(client)
            try:
                self._writers[peer], _ = client.do_put(hello, CARRIER, call_options(self._secret))
            except (flight.FlightError, OSError) as error:
                raise self._unreachable(peer) from error

    def swap(self, sequence: int, level: int, outgoing: Sequence[Message]) -> list[Message]:
        """Send what goes to others, return what comes to this worker: ordered by source, then as sent."""
        boxes: list[list[Message]] = [[] for _ in range(self._workers)]
        for message in outgoing:
            boxes[message.target].append(message)
        header = self._header(sequence, level)
        self._write({peer: Frame(header, boxes[peer]) for peer in self._writers})
        inbox: list[Message] = []
        for source in range(self._workers):
            inbox.extend(boxes[source] if source == self._worker else self._await(source, sequence, level))
        return inbox

    def poison(self, sequence: int, level: int) -> None:
        """Tell every peer that this worker's frame of this level will not come."""
        frame = Frame(self._header(sequence, level) | {"poison": True})
        self._write(dict.fromkeys(self._writers, frame))

    def close(self) -> None:
        """End all streams and the server; never hangs for long, whatever state the peers are in."""
        closing = threading.Thread(target=self._close, daemon=True)
        closing.start()
        closing.join(_SHUTDOWN_SECONDS)

    def _close(self) -> None:
        # Own streams first: a peer's server can only shut down when its readers have ended.
        for writer in self._writers.values():
            try:
                writer.close()
            except (flight.FlightError, OSError):
                continue  # the peer is gone, and so is the stream
        for client in self._clients:
            client.close()
        if self._server is not None:
            self._server.shutdown()

    def _header(self, sequence: int, level: int) -> dict[str, object]:
        return {"generation": self._generation, "sequence": sequence, "level": level, "source": self._worker}

    def _write(self, frames: Mapping[int, Frame]) -> None:
        for peer, chunks in [(peer, begun(frame)) for peer, frame in frames.items()]:
            try:
                write_chunks(self._writers[peer], chunks)
            except (flight.FlightError, OSError) as error:
                raise self._unreachable(peer) from error

    def _unreachable(self, peer: int) -> WorkerLost:
        return WorkerLost(f"worker {peer} cannot be reached by worker {self._worker}")

    def _await(self, source: int, sequence: int, level: int) -> Sequence[Message]:
        assert self._server is not None
        while True:
            frame = self._server.queues[source].get()
            if frame is None:
                raise WorkerLost(f"worker {source} has gone away from worker {self._worker}")
            arrived = (frame.header["sequence"], frame.header["level"])
            if arrived[0] < sequence:
                continue
            if arrived[0] == sequence and "poison" in frame.header:
                raise Poisoned
            if arrived != (sequence, level) or frame.header["source"] != source:
                raise PipelineError(
                    f"worker {self._worker} waits for sequence {sequence}, level {level} of worker {source} "
                    f"and received {arrived}; this is a defect of Penstock"
                )
            return frame.messages
