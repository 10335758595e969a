"""Reads many pieces of files at once, and ahead of their use.

For backends that read piece by piece. A call for many pointers is cut into windows of bounded size; the reads
of a window run in a few threads, and those of the next window start before the first is used up. So a disk or
an object store has several requests to work on, and memory is bounded whatever is asked for.

What was prefetched is *staged*: kept until somebody asks for the same pointer, or until newer requests need
the space. A prefetch that fails is forgotten; whoever asks for the bytes reads them again and gets the error.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import pyarrow as pa

from penstock.storage.interface import Pointer
from penstock.storage.ranges import Run, runs_of, windows_of

__all__ = ["Fetcher"]

WINDOW_BYTES = 16 << 20
STAGED_BYTES = 64 << 20

ReadPiece = Callable[[Pointer], pa.Buffer]


@dataclass(frozen=True, slots=True, eq=False)
class _Piece:
    """Where the bytes of one pointer will be: in the result of a read, from ``start`` on."""

    result: Future[pa.Buffer]
    start: int
    length: int

    def bytes(self) -> pa.Buffer:
        whole = self.result.result()
        return whole.slice(min(self.start, whole.size), max(0, min(self.length, whole.size - self.start)))


class Fetcher:
    """Reads pieces with ``read_piece``, which may run in several threads. ``gap`` and ``most`` are those of
    :func:`runs_of`."""

    def __init__(self, read_piece: ReadPiece, *, threads: int, gap: int, most: int) -> None:
        self._read_piece, self._threads, self._gap, self._most = read_piece, threads, gap, most
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="penstock-read")
        self._staged: OrderedDict[Pointer, _Piece] = OrderedDict()
        self._staged_bytes = 0
        self._lock = threading.Lock()
        self.prefetched = self.waits = 0

    def read(self, pointers: Sequence[Pointer]) -> Iterator[pa.Buffer]:
        """The bytes at each pointer, in order."""
        windows = windows_of(pointers, WINDOW_BYTES)
        started = [self._start(window) for window in _first(windows)]
        while started:
            started += [self._start(window) for window in _first(windows)]
            for piece in started.pop(0):
                if not piece.result.done():
                    self.waits += 1
                yield piece.bytes()

    def prefetch(self, pointers: Sequence[Pointer]) -> None:
        """Starts to read, up to what may be staged."""
        with self._lock:
            missing = [pointer for pointer in dict.fromkeys(pointers) if pointer not in self._staged]
        wanted = next(windows_of(missing, STAGED_BYTES), ())
        pieces = self._pieces(wanted, runs_of(wanted, gap=self._gap, most=self._most), inline=False)
        with self._lock:
            for pointer, piece in zip(wanted, pieces, strict=True):
                self._staged[pointer] = piece
                self._staged_bytes += pointer.length
            self.prefetched += len(wanted)
            while self._staged_bytes > STAGED_BYTES:
                forgotten, _ = self._staged.popitem(last=False)
                self._staged_bytes -= forgotten.length

    def _start(self, pointers: Sequence[Pointer]) -> list[_Piece]:
        """Starts to read what is not staged."""
        found = self._taken(pointers)
        missing = [pointer for pointer, piece in zip(pointers, found, strict=True) if piece is None]
        runs = runs_of(missing, gap=self._gap, most=self._most)
        inline = len(runs) == 1 and len(missing) == len(pointers)
        self.waits += len(missing) if inline else 0
        read = iter(self._pieces(missing, runs, inline=inline))
        return [next(read) if piece is None else piece for piece in found]

    def _taken(self, pointers: Sequence[Pointer]) -> list[_Piece | None]:
        """What is staged, which is then no longer staged. Failed reads are left out."""
        with self._lock:
            found = [self._staged.pop(pointer, None) for pointer in pointers]
            self._staged_bytes -= sum(piece.length for piece in found if piece is not None)
        return [None if piece is None or _has_failed(piece.result) else piece for piece in found]

    def _pieces(self, pointers: Sequence[Pointer], runs: Sequence[Run], *, inline: bool) -> list[_Piece]:
        """Starts the reads; ``inline`` means in this thread, which saves handing a single one over."""
        results: list[Future[pa.Buffer]] = [Future() for _ in runs]
        jobs = [(run.whole, result) for run, result in zip(runs, results, strict=True)]
        if inline:
            self._read_jobs(jobs)
        else:  # every thread takes its share at once: handing a read over costs as much as the read
            for number in range(min(self._threads, len(jobs))):
                self._executor.submit(self._read_jobs, jobs[number :: self._threads])
        pieces: list[_Piece | None] = [None] * len(pointers)
        for run, result in zip(runs, results, strict=True):
            for number in run.members:
                start = pointers[number].offset - run.whole.offset
                pieces[number] = _Piece(result, start, pointers[number].length)
        return [piece for piece in pieces if piece is not None]

    def _read_jobs(self, jobs: Sequence[tuple[Pointer, Future[pa.Buffer]]]) -> None:
        for pointer, result in jobs:
            try:
                result.set_result(self._read_piece(pointer))
            except BaseException as error:
                result.set_exception(error)


def _first(windows: Iterator[Sequence[Pointer]]) -> Iterator[Sequence[Pointer]]:
    """The next one, if there is one."""
    window = next(windows, None)
    if window is not None:
        yield window


def _has_failed(result: Future[pa.Buffer]) -> bool:
    return result.done() and result.exception() is not None
