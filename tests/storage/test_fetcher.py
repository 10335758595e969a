"""Reading many pieces at once, and ahead of their use."""

from __future__ import annotations

import threading

import pyarrow as pa
import pytest

from penstock.errors import StorageError
from penstock.storage import Backend, Pointer
from penstock.storage import fetcher as fetcher_module
from penstock.storage.fetcher import Fetcher

CONTENT = bytes(range(256)) * 400


class Reads:
    """Counts reads, and can be told to fail or to wait."""

    def __init__(self) -> None:
        self.done: list[Pointer] = []
        self.failing = False
        self.may_go = threading.Event()
        self.may_go.set()

    def __call__(self, pointer: Pointer) -> pa.Buffer:
        self.may_go.wait(10)
        if self.failing:
            raise StorageError(f"{pointer.name} cannot be read")
        self.done.append(pointer)
        return pa.py_buffer(CONTENT[pointer.offset : pointer.offset + pointer.length])


def expected(pointers: list[Pointer]) -> list[bytes]:
    return [CONTENT[p.offset : p.offset + p.length] for p in pointers]


def scattered(number: int) -> list[Pointer]:
    return [Pointer("f", (i * 7919) % 100_000, 64) for i in range(number)]


def test_pieces_come_in_the_order_in_which_they_were_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetcher_module, "WINDOW_BYTES", 1000)
    fetcher = Fetcher(Reads(), threads=4, gap=0, most=1 << 20)
    pointers = scattered(500)
    assert [bytes(piece) for piece in fetcher.read(pointers)] == expected(pointers)


def test_what_was_prefetched_is_not_read_again() -> None:
    reads = Reads()
    fetcher = Fetcher(reads, threads=2, gap=0, most=1 << 20)
    pointers = scattered(20)
    fetcher.prefetch(pointers)
    assert [bytes(piece) for piece in fetcher.read(pointers)] == expected(pointers)
    assert len(reads.done) == 20 and fetcher.prefetched == 20
    assert [bytes(piece) for piece in fetcher.read(pointers)] == expected(pointers)
    assert len(reads.done) > 20  # staged pieces are given away once


def test_prefetching_does_not_wait() -> None:
    reads = Reads()
    reads.may_go.clear()
    fetcher = Fetcher(reads, threads=2, gap=0, most=1 << 20)
    fetcher.prefetch(scattered(10))
    assert reads.done == []
    reads.may_go.set()
    assert [bytes(piece) for piece in fetcher.read(scattered(10))] == expected(scattered(10))
    assert len(reads.done) == 10


def test_a_failed_prefetch_is_forgotten_and_a_failed_read_is_not() -> None:
    reads = Reads()
    reads.failing = True
    fetcher = Fetcher(reads, threads=2, gap=0, most=1 << 20)
    fetcher.prefetch(scattered(4))
    for piece in list(fetcher._staged.values()):
        assert piece.result.exception(timeout=10)
    reads.failing = False
    assert [bytes(piece) for piece in fetcher.read(scattered(4))] == expected(scattered(4))
    reads.failing = True
    with pytest.raises(StorageError, match="f cannot be read"):
        list(fetcher.read(scattered(4)))


def test_staged_bytes_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetcher_module, "STAGED_BYTES", 640)
    fetcher = Fetcher(Reads(), threads=2, gap=0, most=1 << 20)
    for pointer in scattered(50):
        fetcher.prefetch([pointer])
    assert len(fetcher._staged) == 10 and fetcher._staged_bytes == 640
    assert [bytes(piece) for piece in fetcher.read(scattered(50))] == expected(scattered(50))
    assert fetcher._staged_bytes == 0


def test_every_backend_reads_pointers_with_and_without_prefetching(backend: Backend) -> None:
    backend.write_new("a/f", [CONTENT])
    backend.write_new("a/g", [b"short"])
    pointers = [*scattered(30), Pointer("f", 0, 64), Pointer("f", len(CONTENT) - 64, 64)]
    pointers = [Pointer("a/f", p.offset // 64 * 64, p.length) for p in pointers]
    wanted = expected(pointers)
    for _ in range(2):
        found = list(backend.read(pointers))
        assert [bytes(piece) for piece in found] == wanted
        assert all(piece.address % 64 == 0 for piece in found)
        backend.prefetch(pointers)
    end, size = backend.read_end("a/f", 100)
    assert (bytes(end), size) == (CONTENT[-100:], len(CONTENT))
    end, size = backend.read_end("a/g", 100)
    assert (bytes(end), size) == (b"short", 5)
    [beyond, partly] = backend.read([Pointer("a/g", 64, 10), Pointer("a/g", 2, 10)])
    assert (bytes(beyond), bytes(partly)) == (b"", b"ort")
    buffer = backend.get_buffer(1000)
    memoryview(buffer).cast("B")[:4] = b"abcd"
    assert buffer.size == 1000 and buffer.address % 64 == 0
    backend.prefetch([Pointer("no/such", 0, 10)])
    with pytest.raises(StorageError, match="no/such"):
        list(backend.read([Pointer("no/such", 0, 10)]))
