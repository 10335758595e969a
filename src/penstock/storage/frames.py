"""The bytes of a log file: writing one frame, and reading frames back while distinguishing a torn tail from
damage.

A file is a sealed header (format, a random salt, first step, owner) and frames; a frame is a sealed header
(salt, its own offset, step, payload length and checksum) and the payload, padded to 64 bytes.

A frame is written only after the one before it was synced. So a crash can leave at most one bad frame and
nothing after it: that is a torn tail, which was never acknowledged. A bad frame with something valid behind
it is damage. Valid frames are recognised by the salt, which no payload can imitate: if a frame's own header
is damaged, its length is unknown, and the rest of the file is searched for a header that carries this file's
salt and its own position.

Reading uses bounded windows of positional reads, never a mapping, because a log may be truncated while it is
read.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.errors import CorruptionError, StorageError
from penstock.storage.checksum import HEADER_SIZE, crc32c, padding, seal, unseal
from penstock.storage.interface import Backend, Part, to_buffer

__all__ = ["LOG_FORMAT", "Frame", "LogFile", "frame_parts", "log_header"]

LOG_FORMAT = 1
_FILE_MAGIC = b"PENSTLOG"
_FRAME_MAGIC = b"PENSTFRM"
_FILE = struct.Struct("<8sI4xQQQ")  # magic, format version, salt, first step, owner
_FRAME = struct.Struct("<8sQQQQI")  # magic, salt, offset, step, payload length, payload crc
_WINDOW = 1 << 20


@dataclass(frozen=True)
class Frame:
    """A checked frame. ``end`` is where the next one starts."""

    step: int
    payload: pa.Buffer
    end: int


def log_header(salt: int, first_step: int, owner: int = 0) -> bytes:
    """What a new log file starts with. ``owner`` says whose log it is (0: nobody's in particular)."""
    return seal(_FILE.pack(_FILE_MAGIC, LOG_FORMAT, salt, first_step, owner))


def frame_parts(salt: int, offset: int, step: int, parts: Sequence[Part]) -> list[pa.Buffer]:
    """The frame that belongs at ``offset``, as parts to be written one after the other. Copies nothing."""
    payload = [to_buffer(part) for part in parts]
    length = sum(part.size for part in payload)
    payload.append(padding(length))
    header = seal(_FRAME.pack(_FRAME_MAGIC, salt, offset, step, length, crc32c(payload)))
    return [to_buffer(header), *payload]


class LogFile:
    """One file of a log as it was when opened: later appends are not seen."""

    def __init__(self, backend: Backend, name: str) -> None:
        self.name = name
        self.size = backend.size(name)
        self.torn = ""  # after frames(): why the tail is bad, or nothing
        self.end = HEADER_SIZE  # after frames(): where the valid frames end
        self._backend = backend
        self._window = (0, pa.py_buffer(b""))
        fields = unseal(self._bytes(0, HEADER_SIZE))
        if fields is None or not fields.startswith(_FILE_MAGIC):
            raise CorruptionError(f"{name}: the log file's header is damaged or the file is not a log")
        _, version, self.salt, self.first_step, self.owner = _FILE.unpack_from(fields)
        if version != LOG_FORMAT:
            raise StorageError(
                f"{name}: log format {version} is not known to this version of Penstock "
                f"(it reads {LOG_FORMAT}); a newer one wrote the file"
            )

    def expect(self, owner: int) -> None:
        """Raises if the file is from another log. Files of earlier releases do not say whose they are."""
        if owner and self.owner and owner != self.owner:
            raise CorruptionError(
                f"{self.name}: this file is from another log or another pipeline; restore the right one"
            )

    def frames(self, *, last: bool) -> Iterator[Frame]:
        """All valid frames. Only a log's last file may end in a torn one; ``torn`` and ``end`` say so."""
        offset, previous, number = HEADER_SIZE, self.first_step, 0
        self.torn = ""
        while offset < self.size:
            frame, reason = self._frame(offset)
            if frame is None:
                if not last or self._anything_after(offset):
                    where = f"frame {number} at byte {offset} (after step {previous})"
                    raise CorruptionError(f"{self.name}: {where} is damaged: {reason}")
                self.torn = reason
                break
            if frame.step < previous:
                where = f"frame {number} at byte {offset}"
                raise CorruptionError(f"{self.name}: {where} is of step {frame.step}, after step {previous}")
            yield frame
            offset, previous, number = frame.end, frame.step, number + 1
        self.end = offset

    def _frame(self, offset: int) -> tuple[Frame | None, str]:
        """The frame at an offset, or the reason why it is not valid."""
        fields = self._header(self._bytes(offset, HEADER_SIZE), offset)
        if fields is None:
            return None, "its header is not what was written"
        step, length, crc = fields
        padded = length + padding(length).size
        body = self._bytes(offset + HEADER_SIZE, padded)
        if body.size < padded:
            return None, f"it held step {step}, {length} bytes, of which {body.size} are there"
        found = crc32c([body])
        if found != crc:
            held = f"it held step {step}, {length} bytes"
            return None, f"{held}; its checksum is {found:08x}, {crc:08x} was written"
        return Frame(step, body.slice(0, length), offset + HEADER_SIZE + padded), ""

    def _header(self, raw: pa.Buffer, offset: int) -> tuple[int, int, int] | None:
        fields = unseal(raw)
        if fields is None:
            return None
        magic, salt, position, step, length, crc = _FRAME.unpack_from(fields)
        return (step, length, crc) if (magic, salt, position) == (_FRAME_MAGIC, self.salt, offset) else None

    def _anything_after(self, offset: int) -> bool:
        """Whether a later append was started, which implies that the frame at ``offset`` had been synced."""
        header = self._header(self._bytes(offset, HEADER_SIZE), offset)
        if header is not None:
            return bool(offset + HEADER_SIZE + header[1] + padding(header[1]).size < self.size)
        mark = np.frombuffer(_FRAME_MAGIC + self.salt.to_bytes(8, "little"), dtype=np.uint8)
        for start in range(offset + HEADER_SIZE, self.size, _WINDOW):
            raw = self._backend.read_at(self.name, start, min(_WINDOW, self.size - start))
            whole = raw.slice(0, raw.size // HEADER_SIZE * HEADER_SIZE)
            rows = np.frombuffer(whole, dtype=np.uint8).reshape(-1, HEADER_SIZE)
            for row in np.flatnonzero((rows[:, : len(mark)] == mark).all(axis=1)).tolist():
                at = row * HEADER_SIZE
                if self._header(raw.slice(at, HEADER_SIZE), start + at) is not None:
                    return True
        return False

    def _bytes(self, offset: int, length: int) -> pa.Buffer:
        """Bytes of the file as it was, fewer at its end, from the current window or one that starts here."""
        length = max(0, min(length, self.size - offset))
        start, window = self._window
        if not start <= offset <= offset + length <= start + window.size:
            size = min(max(length, _WINDOW), self.size - offset)
            start, window = offset, self._backend.read_at(self.name, offset, size)
            self._window = (start, window)
        return window.slice(offset - start, min(length, window.size - (offset - start)))
