"""How the workers of a gang connect to their driver.

The driver listens on a new socket for each generation of workers. A worker connects (:mod:`.line`),
introduces itself (generation, index, its address for peers, process), and from then on receives commands and
sends replies on that connection. Workers connect to the driver and not the other way round, because the
driver's address is the one thing every executor is sure to reach.

A broken connection tells the driver, within milliseconds, that a worker's process has died, and a worker that
the driver has.
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
    """The connection to one worker, and how the worker introduced itself."""

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
        """From now on a worker that does not read or reply for this long counts as gone."""
        self._line.limit(seconds)

    def close(self) -> None:
        """Close the connection."""
        self._line.close()

    def _lost(self) -> WorkerLost:
        return WorkerLost(f"worker {self.worker} ({self.process}) died")


class Rendezvous:
    """Listens for the workers of one generation; ``arrivals`` gets the link of each that may join."""

    def __init__(self, address: tuple[str, str], secret: str, generation: int, workers: int) -> None:
        """``address``: where to listen, and the name by which workers reach that."""
        listen, host = address
        self._secret, self._generation, self._workers = secret, generation, workers
        self._closed = False
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
            # One thread per connection, so that a silent one does not block the others.
            threading.Thread(target=self._admit, args=(connection,), daemon=True).start()

    def _admit(self, connection: socket.socket) -> None:
        met = answer(connection, self._secret)
        if met is None:
            return
        line, hello = met
        if hello.get("generation") == self._generation and 0 <= int(hello["worker"]) < self._workers:
            self.arrivals.put(Link(hello, line))
            if self._closed:
                self._turn_away()
        else:
            line.close()  # of an earlier gang that is still alive somewhere

    def close(self) -> None:
        """Listen no more, and hang up on workers whose arrival nobody took notice of: they would wait for a
        command for ever, and hold their task slots. Other links stay. Safe to call again."""
        self._closed = True
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._turn_away()

    def _turn_away(self) -> None:
        with suppress(queue.Empty):
            while True:
                link = self.arrivals.get_nowait()
                if link is not None:
                    link.close()
