"""Lines: frames of any size arrive whole, callers must know the secret, and an end is noticed."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pytest

from penstock.schedule.message import AlongEdge, Message
from penstock.spark.line import Line, answer, call
from penstock.spark.wire import Frame


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def in_background(work: Callable[[], object]) -> list[object]:
    """Runs ``work`` beside the test; the list gets what it returned."""
    results: list[object] = []
    threading.Thread(target=lambda: results.append(work()), daemon=True).start()
    return results


def eventually(results: list[object]) -> object:
    deadline = time.monotonic() + 10
    while not results:
        assert time.monotonic() < deadline, "nothing came back"
        time.sleep(0.01)
    return results[0]


@pytest.fixture
def pair(listening: socket.socket) -> Iterator[tuple[Line, Line]]:
    answered = in_background(lambda: answer(listening.accept()[0], "secret"))
    caller = call(listening.getsockname(), "secret", {"worker": 3})
    met = eventually(answered)
    assert isinstance(met, tuple) and met[1] == {"worker": 3}
    yield caller, met[0]
    caller.close()
    met[0].close()


def test_a_line_is_ready_when_something_came_or_it_ended(pair: tuple[Line, Line]) -> None:
    assert not pair[1].ready(0.01)
    pair[0].send(Frame({"do": "step"}, ()))
    assert pair[1].ready(10)
    assert pair[1].receive() is not None and not pair[1].ready(0.01)
    pair[0].close()
    assert pair[1].ready(10) and pair[1].receive() is None


@pytest.mark.parametrize("rows", [0, 10, 300_000, 5_000_000])
def test_a_frame_arrives_as_it_was_sent(pair: tuple[Line, Line], rows: int) -> None:
    batch = pa.record_batch({"n": np.arange(rows), "s": pa.array(["é"] * rows, pa.string())})
    frame = Frame(
        {"do": "step", "ü": [1, None]},
        (Message(AlongEdge(4), 1, batch), Message(AlongEdge(5), 1, batch.slice(0, 1))),
    )
    arrived = in_background(pair[1].receive)
    pair[0].send(frame)
    received = eventually(arrived)
    assert isinstance(received, Frame) and received.header == frame.header
    assert [(m.route, m.target) for m in received.messages] == [(AlongEdge(4), 1), (AlongEdge(5), 1)]
    assert received.messages[0].batch.equals(batch)


def test_frames_come_in_order_in_both_directions(pair: tuple[Line, Line]) -> None:
    here, there = pair
    for number in range(20):
        here.send(Frame({"n": number}))
        there.send(Frame({"n": -number}))
    for number in range(20):
        heard, said = there.receive(), here.receive()
        assert heard is not None and said is not None
        assert (heard.header, said.header) == ({"n": number}, {"n": -number})


def test_a_wrong_secret_is_hung_up_on(listening: socket.socket) -> None:
    answered = in_background(lambda: answer(listening.accept()[0], "secret"))
    line = call(listening.getsockname(), "guess", {"worker": 0})
    with suppress(ConnectionResetError):
        assert line.receive() is None
    line.close()
    assert eventually(answered) is None


def test_who_hangs_up_before_answering_is_nobody(listening: socket.socket) -> None:
    answered = in_background(lambda: answer(listening.accept()[0], "secret"))
    socket.create_connection(listening.getsockname()).close()
    assert eventually(answered) is None


def test_the_end_of_a_line_is_seen_between_frames_and_within_one(pair: tuple[Line, Line]) -> None:
    here, there = pair
    here._socket.sendall(b"\x00\xff")
    here.close()
    with pytest.raises(ConnectionResetError, match="middle of a frame"):
        there.receive()


def test_watching_sees_the_other_end_go_without_reading(pair: tuple[Line, Line]) -> None:
    here, there = pair
    here.send(Frame({"do": "work"}))
    over = threading.Event()
    watching = in_background(lambda: there.watch(over, 0.05))
    time.sleep(0.2)
    assert not watching, "a frame that waits is not an end"
    gone = time.monotonic()
    here.close()
    assert eventually(watching) is True and time.monotonic() - gone < 1.0
    heard = there.receive()
    assert heard is not None and heard.header == {"do": "work"}


def test_watching_ends_when_all_is_over(pair: tuple[Line, Line]) -> None:
    over = threading.Event()
    watching = in_background(lambda: pair[1].watch(over, 0.05))
    over.set()
    assert eventually(watching) is False


def test_a_limit_ends_a_wait(pair: tuple[Line, Line]) -> None:
    pair[0].limit(0.05)
    with pytest.raises(TimeoutError):
        pair[0].receive()
