"""The exchange between workers at the end of a level, peer to peer.

Invariant: at every level that may have something to send (all workers know which these are) each worker sends
each peer exactly one frame (possibly empty), and continues only when it has received one from each. So a peer
can be ahead by one exchange at most, and a worker buffers at most the input of the next one, which it needs
anyway.

Every pair of workers has a line (:mod:`.line`). A small frame travels on it: written and read by the waiting
threads, which matters when a step has few rows. A large frame is announced on the line and travels over Arrow
Flight, on one stream per direction that lives as long as the gang. The receiving end of a stream is read by
its own server thread, which never waits for the worker's main thread, so a sender is never blocked by a
receiver that is itself sending: all may send large frames at once.

Frames of one peer arrive in order. One that is not the one expected next is either a leftover of an aborted
attempt (older ``sequence``: dropped) or a bug. A worker that fails sends *poison* in place of its frame, so
that nobody waits for data that will not come. A worker that aborts a step reads what has arrived for it, so
that leftovers never fill a line.

With one worker there is no server, no line and no stream, and messages to oneself stay in memory.
"""

from __future__ import annotations

import queue
import select
import socket
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

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
from penstock.spark.line import Line, answer, call
from penstock.spark.wire import CARRIER, Frame, FrameReader, begun, read_frame, write_frame

__all__ = ["FEW_BYTES", "Exchange", "Poisoned"]

FEW_BYTES = 64 << 10  # what a socket buffers without its receiver reading
_MEETING_SECONDS = 60.0
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
        self._door = None
        if workers > 1:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            self._door = socket.create_server((host, 0), family=family, backlog=workers)
        self._host = host
        self._clients: list[flight.FlightClient] = []
        self._writers: dict[int, flight.FlightStreamWriter] = {}
        self._lines: dict[int, Line] = {}

    @property
    def location(self) -> dict[str, Any] | None:
        """The address under which peers reach this worker."""
        if self._server is None or self._door is None:
            return None
        line = [self._host, self._door.getsockname()[1]]
        return {"flight": host_location(self._host, self._server.port), "line": line}

    def meet(self, locations: Sequence[Mapping[str, Any] | None]) -> None:
        """Open this worker's stream to every peer, and a line with each: a worker connects to those before it
        and accepts those after it. All workers must do this at the same time."""
        hello = {"generation": self._generation, "source": self._worker}
        for peer, location in enumerate(locations):
            if peer == self._worker or location is None:
                continue
            client = connect(location["flight"])
            self._clients.append(client)
            try:
                self._writers[peer], _ = client.do_put(
                    hello_descriptor(hello), CARRIER, call_options(self._secret)
                )
                if peer < self._worker:
                    host, port = location["line"]
                    self._lines[peer] = call((host, port), self._secret, hello)
            except (flight.FlightError, OSError) as error:
                raise self._unreachable(peer) from error
        while missing := set(range(self._worker + 1, self._workers)) - set(self._lines):
            self._let_in(missing)

    def _let_in(self, missing: set[int]) -> None:
        assert self._door is not None
        self._door.settimeout(_MEETING_SECONDS)
        try:
            connection, _ = self._door.accept()
        except OSError as error:
            raise self._unreachable(min(missing)) from error
        met = answer(connection, self._secret)
        if met is None:
            return
        line, hello = met
        if hello.get("generation") == self._generation and hello.get("source") in missing:
            self._lines[int(hello["source"])] = line
        else:
            line.close()  # of an earlier gang that is still alive somewhere

    def swap(self, sequence: int, level: int, outgoing: Sequence[Message]) -> list[Message]:
        """Send what goes to others, return what is for this worker: ordered by source, then as sent."""
        boxes: list[list[Message]] = [[] for _ in range(self._workers)]
        for message in outgoing:
            boxes[message.target].append(message)
        header = self._header(sequence, level)
        frames, large = {}, {}
        for peer in self._lines:
            encoded = [Message(m.route, m.target, m.batch) for m in boxes[peer]]
            if sum(message.batch.nbytes for message in encoded) <= FEW_BYTES:
                frames[peer] = Frame(header, encoded)
            else:
                frames[peer] = Frame(header | {"follows": True})
                large[peer] = Frame(header, encoded)
        self._send(frames)
        for peer, frame in large.items():
            try:
                write_frame(self._writers[peer], frame)
            except (flight.FlightError, OSError) as error:
                raise self._unreachable(peer) from error
        inbox: list[Message] = []
        for source in range(self._workers):
            inbox.extend(boxes[source] if source == self._worker else self._await(source, sequence, level))
        return inbox

    def poison(self, sequence: int, level: int) -> None:
        """Tell every peer that this worker's frame of this level will not come."""
        self._send(dict.fromkeys(self._lines, Frame(self._header(sequence, level) | {"poison": True})))
        self._take_in()

    def close(self) -> None:
        """Close all lines, streams and the server; never blocks for long, whatever state the peers are in."""
        closing = threading.Thread(target=self._close, daemon=True)
        closing.start()
        closing.join(_SHUTDOWN_SECONDS)

    def _close(self) -> None:
        for line in self._lines.values():
            line.close()
        if self._door is not None:
            self._door.close()
        # Own streams first: a peer's server can only shut down when its readers have ended.
        for writer in self._writers.values():
            with suppress(flight.FlightError, OSError):  # the peer is gone, and so is the stream
                writer.close()
        for client in self._clients:
            client.close()
        if self._server is not None:
            self._server.shutdown()

    def _header(self, sequence: int, level: int) -> dict[str, object]:
        return {"generation": self._generation, "sequence": sequence, "level": level, "source": self._worker}

    def _send(self, frames: Mapping[int, Frame]) -> None:
        # All are encoded before the first is sent: sending wakes a peer, which may need this core.
        for peer, chunks in [(peer, begun(frame)) for peer, frame in frames.items()]:
            try:
                self._lines[peer].send_chunks(chunks)
            except OSError as error:
                raise self._unreachable(peer) from error

    def _unreachable(self, peer: int) -> WorkerLost:
        return WorkerLost(f"worker {peer} cannot be reached by worker {self._worker}")

    def _await(self, source: int, sequence: int, level: int) -> Sequence[Message]:
        while True:
            frame = self._receive(source)
            arrived = (frame.header["sequence"], frame.header["level"])
            if arrived[0] < sequence:
                continue
            if arrived[0] == sequence and "poison" in frame.header:
                self._take_in()
                raise Poisoned
            if arrived != (sequence, level) or frame.header["source"] != source:
                raise PipelineError(
                    f"worker {self._worker} waits for sequence {sequence}, level {level} of worker {source} "
                    f"and received {arrived}; this is a bug in Penstock"
                )
            return frame.messages

    def _receive(self, source: int) -> Frame:
        """The next frame of a peer, from its line or its stream."""
        assert self._server is not None
        try:
            frame = self._lines[source].receive()
        except OSError:
            frame = None
        if frame is not None and "follows" in frame.header:
            frame = self._server.queues[source].get()
        if frame is None or frame.header["generation"] != self._generation:
            raise WorkerLost(f"worker {source} has disconnected from worker {self._worker}")
        return frame

    def _take_in(self) -> None:
        """Reads and drops what has arrived. No peer can be in the next step yet: this one is not over."""
        for source, line in self._lines.items():
            while select.select([line], [], [], 0)[0]:
                self._receive(source)
