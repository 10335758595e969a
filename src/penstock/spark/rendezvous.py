"""Where the workers of a gang find their driver.

The driver listens for each generation of workers anew. A worker calls (:mod:`.line`), introduces itself
(generation, index, where peers reach it, process), and from then on takes commands and sends replies on that
line. The workers call the driver and not the other way round, because the driver's address is the one thing
every executor is sure to reach.

A broken line is how the driver learns, within milliseconds, that a worker's process has died, and how a
worker learns it of the driver.
"""

from __future__ import annotations

import queue
import socket
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from penstock.errors import WorkerLost
from penstock.spark.line import Line, answer
from penstock.spark.wire import Chunk, Frame

__all__ = ["Link", "Rendezvous"]


class Link:
    """The line to one worker, and what the worker said of itself."""

    def __init__(self, hello: Mapping[str, Any], line: Line) -> None:
        self.worker = int(hello["worker"])
        self.location: Mapping[str, Any] | None = hello["location"]
        self.process = str(hello["process"])
        self._generation = hello["generation"]
        self._line = line

    def fileno(self) -> int:
        """For waiting for whichever worker replies first."""
        return self._line.fileno()

    def send(self, command: Iterable[Chunk]) -> None:
        """Write a command. Raises WorkerLost if the worker is gone."""
        try:
            self._line.send_chunks(command)
        except OSError as error:
            raise WorkerLost(f"worker {self.worker} ({self.process}) is gone") from error

    def receive(self) -> Frame:
        """The next reply. Raises WorkerLost if the worker is gone."""
        try:
            frame = self._line.receive()
        except OSError as error:
            raise self._lost() from error
        if frame is None or frame.header["generation"] != self._generation:
            raise self._lost()
        return frame

    def limit(self, seconds: float) -> None:
        """From now on a worker that does not read or reply for so long counts as gone."""
        self._line.limit(seconds)

    def close(self) -> None:
        """Hang up."""
        self._line.close()

    def _lost(self) -> WorkerLost:
        return WorkerLost(f"worker {self.worker} ({self.process}) died")


class Rendezvous:
    """Listens for the workers of one generation; ``arrivals`` gets the link of each that may join."""

    def __init__(self, address: tuple[str, str], secret: str, generation: int, workers: int) -> None:
        """``address``: where to listen, and the name by which workers reach that."""
        listen, host = address
        self._secret, self._generation, self._workers = secret, generation, workers
        family = socket.AF_INET6 if ":" in listen else socket.AF_INET
        self._listening = socket.create_server((listen, 0), family=family, backlog=workers + 8)
        self.address: tuple[str, int] = (host, self._listening.getsockname()[1])
        self.arrivals: queue.SimpleQueue[Link | None] = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return  # closed
            # Each caller has a thread of its own: one that says nothing must not keep the others waiting.
            threading.Thread(target=self._admit, args=(connection,), daemon=True).start()

    def _admit(self, connection: socket.socket) -> None:
        met = answer(connection, self._secret)
        if met is None:
            return
        line, hello = met
        if hello.get("generation") == self._generation and 0 <= int(hello["worker"]) < self._workers:
            self.arrivals.put(Link(hello, line))
        else:
            line.close()  # of an earlier gang that is still alive somewhere

    def close(self) -> None:
        """Listen no more. Links that were made stay."""
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
