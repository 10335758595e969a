"""The exchange between workers, with all of them as threads of this process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.flight as flight
import pytest

from penstock.errors import WorkerLost
from penstock.schedule.message import AlongEdge, Message
from penstock.spark.channel import call_options, connect, hello_descriptor
from penstock.spark.exchange import Exchange, Poisoned
from penstock.spark.line import call
from penstock.spark.wire import CARRIER, Frame, write_frame

SECRET, GENERATION = "the secret", 5


@contextmanager
def exchanges(workers: int) -> Iterator[list[Exchange]]:
    made = [Exchange(w, workers, "127.0.0.1", SECRET, GENERATION) for w in range(workers)]
    all_at_once(made, lambda worker, exchange: exchange.meet([other.location for other in made]))
    try:
        yield made
    finally:
        closing = [threading.Thread(target=exchange.close) for exchange in made]
        for thread in closing:
            thread.start()
        for thread in closing:
            thread.join()


def all_at_once(made: list[Exchange], work: Callable[[int, Exchange], Any]) -> list[Any]:
    with ThreadPoolExecutor(len(made)) as pool:
        return [f.result(timeout=60) for f in [pool.submit(work, w, e) for w, e in enumerate(made)]]


def message(source: int, target: int, level: int, rows: int = 3) -> Message:
    return Message(AlongEdge(level), target, pa.record_batch({"n": np.full(rows, source * 10 + target)}))


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_every_worker_gets_what_was_sent_to_it_in_order_of_source(workers: int) -> None:
    def work(worker: int, exchange: Exchange) -> list[list[tuple[int, int]]]:
        seen = []
        for step in range(20):
            for level in range(3):
                inbox = exchange.swap(step, level, [message(worker, t, level) for t in range(workers)])
                seen.append([(m.route, m.batch["n"][0].as_py()) for m in inbox])
        return seen

    with exchanges(workers) as made:
        for worker, seen in enumerate(all_at_once(made, work)):
            expected = [[(AlongEdge(level), s * 10 + worker) for s in range(workers)] for level in range(3)]
            assert seen == expected * 20


def test_one_worker_needs_no_network_and_gets_its_own_objects_back() -> None:
    exchange = Exchange(0, 1, "an address that does not exist", SECRET, GENERATION)
    assert exchange.location is None
    sent = message(0, 0, 0)
    assert exchange.swap(1, 0, [sent])[0] is sent
    exchange.close()


def test_everybody_sends_much_at_once_without_waiting_for_each_other() -> None:
    rows = 5_000_000  # 40 MB to each peer: beyond every window and every single gRPC message

    def work(worker: int, exchange: Exchange) -> int:
        inbox = exchange.swap(1, 0, [message(worker, t, 0, rows) for t in range(3) if t != worker])
        return sum(m.batch.num_rows for m in inbox)

    with exchanges(3) as made:
        assert all_at_once(made, work) == [2 * rows] * 3


def test_a_failing_worker_stops_its_peers_and_the_next_attempt_works() -> None:
    def fail(worker: int, exchange: Exchange) -> str:
        if worker == 1:
            exchange.poison(1, 0)
            return "failed"
        if worker == 2:
            time.sleep(0.2)  # sends to a peer that has given up long since
        with pytest.raises(Poisoned):
            exchange.swap(1, 0, [message(worker, t, 0) for t in range(3)])
        return "stopped"

    def work(worker: int, exchange: Exchange) -> list[int]:
        inbox = exchange.swap(2, 0, [message(worker, t, 0) for t in range(3)])
        return [m.batch["n"][0].as_py() for m in inbox]

    with exchanges(3) as made:
        assert all_at_once(made, fail) == ["stopped", "failed", "stopped"]
        assert all_at_once(made, work) == [[0, 10, 20], [1, 11, 21], [2, 12, 22]]


def test_a_peer_that_goes_away_is_a_lost_worker_and_not_a_wait() -> None:
    with exchanges(2) as made:
        made[1].close()
        with pytest.raises(WorkerLost, match="worker 1"):
            made[0].swap(1, 0, [])


def test_a_peer_that_cannot_be_reached_is_a_lost_worker() -> None:
    exchange = Exchange(1, 2, "127.0.0.1", SECRET, GENERATION)
    with pytest.raises(WorkerLost, match="worker 0 cannot be reached"):
        exchange.meet([{"flight": "grpc://127.0.0.1:1", "line": ["127.0.0.1", 1]}, None])
    exchange.close()


def test_a_peer_that_does_not_call_is_a_lost_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.spark.exchange._MEETING_SECONDS", 0.05)
    exchange = Exchange(0, 2, "127.0.0.1", SECRET, GENERATION)
    with pytest.raises(WorkerLost, match="worker 1 cannot be reached"):
        exchange.meet([None, None])
    exchange.close()


@pytest.mark.parametrize("rows", [1, 5_000], ids=["few bytes", "almost too many"])
def test_steps_that_fail_again_and_again_leave_nothing_that_piles_up(rows: int) -> None:
    attempts = 400  # far beyond what a line takes

    def fail(worker: int, exchange: Exchange) -> None:
        for step in range(attempts):
            if worker == 1:
                exchange.poison(step, 0)
            else:
                with pytest.raises(Poisoned):
                    exchange.swap(step, 0, [message(worker, t, 0, rows) for t in range(3)])
            together.wait()

    together = threading.Barrier(3, timeout=60)
    with exchanges(3) as made:
        all_at_once(made, fail)
        inboxes = all_at_once(made, lambda w, e: e.swap(attempts, 0, [message(w, t, 0) for t in range(3)]))
        assert [[m.batch["n"][0].as_py() for m in inbox] for inbox in inboxes] == [
            [0, 10, 20], [1, 11, 21], [2, 12, 22]
        ]  # fmt: skip


def test_a_caller_without_the_secret_or_of_another_generation_gets_no_line() -> None:
    server = Exchange(0, 2, "127.0.0.1", SECRET, GENERATION)
    assert server.location is not None
    host, port = server.location["line"]
    with ThreadPoolExecutor(1) as pool:
        meeting = pool.submit(server.meet, [None, None])
        for word, generation in (("guess", GENERATION), (SECRET, GENERATION - 1)):
            line = call((host, port), word, {"generation": generation, "source": 1})
            with suppress(ConnectionResetError):
                assert line.receive() is None
            line.close()
        line = call((host, port), SECRET, {"generation": GENERATION, "source": 1})
        meeting.result(timeout=10)
    line.close()
    server.close()


@pytest.mark.parametrize("secret", ["", "another"])
def test_a_stream_without_the_secret_is_refused(secret: str) -> None:
    with exchanges(2) as made:
        assert made[0].location is not None
        client = connect(made[0].location["flight"])
        with pytest.raises(flight.FlightUnauthenticatedError, match="secret"):
            write_until_refused(client, secret, GENERATION)
        client.close()


def test_a_stream_of_another_generation_is_refused() -> None:
    server = Exchange(0, 2, "127.0.0.1", SECRET, GENERATION)
    assert server.location is not None
    client = connect(server.location["flight"])
    with pytest.raises(flight.FlightError, match="generation"):
        write_until_refused(client, SECRET, GENERATION - 1)
    client.close()
    server.close()


def test_a_frame_of_another_generation_ends_its_stream() -> None:
    server = Exchange(0, 2, "127.0.0.1", SECRET, GENERATION)
    assert server.location is not None
    client = connect(server.location["flight"])
    writer, _ = client.do_put(
        hello_descriptor({"generation": GENERATION, "source": 1}), CARRIER, call_options(SECRET)
    )
    write_frame(writer, Frame({"generation": 4, "sequence": 1, "level": 0, "source": 1}))
    assert server._server is not None
    assert server._server.queues[1].get(timeout=10) is None
    with pytest.raises(flight.FlightError, match="generation"):
        writer.close()
    client.close()
    server.close()


def test_a_second_stream_of_the_same_worker_is_refused() -> None:
    with exchanges(2) as made:
        assert made[0].location is not None
        client = connect(made[0].location["flight"])
        with pytest.raises(flight.FlightError, match="already"):
            write_until_refused(client, SECRET, GENERATION)
        client.close()


def write_until_refused(client: flight.FlightClient, secret: str, generation: int) -> None:
    """A refusal arrives when it arrives: at the latest when the stream is closed."""
    hello = hello_descriptor({"generation": generation, "source": 1})
    writer, _ = client.do_put(hello, CARRIER, call_options(secret))
    writer.close()
