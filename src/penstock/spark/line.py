"""A line: an authenticated plain socket that carries frames, between the driver and a worker or between two
workers.

Commands, replies and small exchanges are on the critical path of every step, so they are written and read by
the waiting threads themselves, with no server, poller or queue in between (which took a third of a small
step). Exchanges of many bytes go over Arrow Flight instead (:mod:`.exchange`).

The caller must answer a challenge: thirty-two random bytes, to be returned as their HMAC under the secret of
the run. The secret itself is never sent, and nothing is read from a caller before it has authenticated
itself.

On the socket a chunk (:mod:`.wire`) is ``u8 kind | u64 length | bytes``; kind 0 is a listing, 1 a
continuation.
"""

from __future__ import annotations

import hmac
import secrets
import select
import socket
import struct
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import pyarrow as pa

from penstock.spark.wire import Chunk, Frame, FrameReader, begun

__all__ = ["Line", "answer", "call"]

_CHALLENGE_BYTES = 32
_PREFIX = struct.Struct("<BQ")
_LISTING, _CONTINUATION = 0, 1
_HANDSHAKE_SECONDS = 10.0
# A peer whose machine vanished is noticed after about ten seconds. Not every system has these options.
_KEEPALIVE = {"TCP_KEEPIDLE": 4, "TCP_KEEPINTVL": 2, "TCP_KEEPCNT": 3}


class Line:
    """One end of the connection. One thread may send and one receive; :meth:`watch` may run concurrently."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._frames = FrameReader()
        connection.settimeout(None)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _KEEPALIVE.items():
            if hasattr(socket, name):
                connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)

    def fileno(self) -> int:
        """For waiting on several lines at once."""
        return self._socket.fileno()

    def limit(self, seconds: float) -> None:
        """Set a timeout for all operations from now on: they raise TimeoutError, which is an OSError."""
        self._socket.settimeout(seconds)

    def send(self, frame: Frame) -> None:
        """Write a frame; blocks while the other end does not read. Raises OSError if it is gone."""
        self.send_chunks(begun(frame))

    def send_chunks(self, chunks: Iterable[Chunk]) -> None:
        """The same with a frame that is already cut into chunks."""
        for chunk in chunks:
            if chunk.listing is not None:
                self._socket.sendall(_PREFIX.pack(_LISTING, len(chunk.listing)) + chunk.listing)
            else:
                assert chunk.continuation is not None
                self._socket.sendall(_PREFIX.pack(_CONTINUATION, chunk.continuation.size))
                self._socket.sendall(memoryview(chunk.continuation))

    def receive(self) -> Frame | None:
        """The next frame, None at the end of the connection. Raises OSError if it breaks within a frame."""
        while True:
            prefix = bytearray(_PREFIX.size)
            if not self._fill(memoryview(prefix), may_end=True):
                return None
            kind, size = _PREFIX.unpack(prefix)
            if kind == _LISTING:
                listing = bytearray(size)
                self._fill(memoryview(listing))
                frame = self._frames.feed(Chunk(listing=bytes(listing)))
            else:
                buffer = pa.allocate_buffer(size)
                self._fill(memoryview(buffer))
                frame = self._frames.feed(Chunk(continuation=buffer))
            if frame is not None:
                return frame

    def ready(self, seconds: float) -> bool:
        """Waits up to that long for something to receive (or the end of the connection); whether there is."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def watch(self, over: threading.Event, grace_seconds: float) -> bool:
        """Waits until the other end is gone, without reading; True unless this end is closed soon after."""
        poll = select.poll()
        poll.register(self._socket, getattr(select, "POLLRDHUP", 0))
        while not over.is_set():
            if poll.poll(1000):
                return not over.wait(grace_seconds)
        return False

    def close(self) -> None:
        """Close the connection. A thread that waits on it is woken."""
        with suppress(OSError):  # the other end was faster
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _fill(self, target: memoryview, *, may_end: bool = False) -> bool:
        filled = 0
        while filled < len(target):
            got = self._socket.recv_into(target[filled:])
            if got == 0:
                if may_end and filled == 0:
                    return False
                raise ConnectionResetError("the line ended in the middle of a frame")
            filled += got
        return True


def call(address: tuple[str, int], secret: str, hello: Mapping[str, Any]) -> Line:
    """Connects, authenticates with the secret, and introduces the caller."""
    connection = socket.create_connection(address, timeout=_HANDSHAKE_SECONDS)
    try:
        challenge = _exactly(connection, _CHALLENGE_BYTES)
        connection.sendall(_proof(secret, challenge))
        line = Line(connection)
        line.send(Frame(hello))
    except BaseException:
        connection.close()
        raise
    return line


def answer(connection: socket.socket, secret: str) -> tuple[Line, Mapping[str, Any]] | None:
    """The line of an authenticated caller, and its first message; None, and closed, if authentication
    fails."""
    try:
        connection.settimeout(_HANDSHAKE_SECONDS)
        challenge = secrets.token_bytes(_CHALLENGE_BYTES)
        connection.sendall(challenge)
        if hmac.compare_digest(_exactly(connection, _CHALLENGE_BYTES), _proof(secret, challenge)):
            line = Line(connection)
            hello = line.receive()
            if hello is not None:
                return line, hello.header
    except OSError:
        pass  # it disconnected, or sent nothing for too long
    connection.close()
    return None


def _proof(secret: str, challenge: bytes) -> bytes:
    return hmac.digest(secret.encode(), challenge, "sha256")


def _exactly(connection: socket.socket, size: int) -> bytes:
    got = b""
    while len(got) < size:
        part = connection.recv(size - len(got))
        if not part:
            raise ConnectionResetError("the caller hung up")
        got += part
    return got
