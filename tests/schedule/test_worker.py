"""One worker: what a step changes, and when; what a snapshot holds; when workers have to exchange."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.circuit.layout import Layout
from penstock.circuit.operation import Operation
from penstock.errors import PipelineError
from penstock.schedule.message import FILE_LEVEL, InputFiles, PushedRows, Route
from penstock.schedule.opening import Opening
from penstock.schedule.worker import Worker, make_worker
from penstock.storage import MemoryBackend, open_backend
from tests.schedule.driving import PROGRAM, check, opened, run
from tests.schedule.inline import SEED, Resident, Staged, filling, opening_of, zset_of
from tests.schedule.shop import EXPECTED, Shop, T, U

TABLES = {name: PROGRAM.circuit.tables[name] for name in ("t", "u")}


def everything(crew: Resident) -> dict[str, object]:
    return {name: zset_of(crew.read(name)) for name in EXPECTED}


@pytest.mark.parametrize("workers", [1, 3])
def test_nothing_of_a_step_shows_before_it_is_accepted(workers: int) -> None:
    shop, rng = Shop(), np.random.default_rng(1)
    crew = opened(Resident, workers)
    run(crew, 1, shop.random(rng, 30))
    before = everything(crew)
    crew.step(2, shop.random(rng, 30).messages(crew.program, crew.layout))
    assert everything(crew) == before
    assert all(crew.changes(view, 1).num_rows == 0 for view in PROGRAM.circuit.views)
    crew.accept()
    check(crew, shop)
    assert everything(crew) != before


@pytest.mark.parametrize("workers", [1, 3])
def test_an_aborted_step_leaves_no_trace(workers: int) -> None:
    shop, rng = Shop(), np.random.default_rng(2)
    crew = opened(Resident, workers)
    run(crew, 1, shop.random(rng, 30))
    before = everything(crew)
    lost = Shop(t=dict(shop.t), u=list(shop.u)).random(np.random.default_rng(3), 30)
    crew.step(2, lost.messages(crew.program, crew.layout))
    crew.abort()
    assert everything(crew) == before
    run(crew, 2, shop.random(rng, 30))  # under the same number
    check(crew, shop)


def test_the_step_that_fills_new_arrangements_takes_no_input() -> None:
    shop = Shop()
    crew = Resident(PROGRAM, 1)
    crew.open(filling(Opening(), PROGRAM))
    rows = shop.input((U, [("a", 1)], 1))
    with pytest.raises(PipelineError, match="takes no input"):
        crew.step(0, rows.messages(crew.program, crew.layout))
    run(crew, 0, None)
    run(crew, 1, rows)
    check(crew, shop)


def test_a_snapshot_is_not_touched_by_later_steps() -> None:
    shop, rng = Shop(), np.random.default_rng(4)
    crew = opened(Resident, 2)
    run(crew, 1, shop.random(rng, 30))
    then = everything(crew)
    snapshots = [worker.snapshot(1) for worker in crew.workers]
    for step in (2, 3):
        run(crew, step, shop.random(rng, 30))
    assert everything(crew) != then
    stored = opening_of(crew.program, [snapshot.write() for snapshot in snapshots])
    for workers in (1, 3):
        again = Resident(PROGRAM, workers, crew.backend)
        again.open(stored)
        assert everything(again) == then


def test_what_one_level_kept_can_be_written_without_the_others() -> None:
    shop = Shop()
    crew = opened(Staged, 1)
    run(crew, 1, shop.input((T, [(1, "a", 1.5)], Operation.UPSERT)))
    worker = crew.make_worker(0)
    worker.open(crew.opening)
    rows = shop.input((T, [(2, "b", 2.5)], Operation.UPSERT)).messages(crew.program, crew.layout)
    worker.begin(2, rows)
    worker.run_level(0, [])
    written = worker.flush_level(3, 0).arrangements
    level_of = {
        node.slot(i): PROGRAM.level_of[node.id]
        for node in PROGRAM.circuit.nodes
        for i in range(node.operator.slots)
    }
    assert {level_of[slot] for slot, refs in written.items() if refs} == {0}
    table = PROGRAM.circuit.nodes[TABLES["t"]].slot(0)
    assert written[table]


def test_levels_that_the_input_cannot_reach_need_no_exchange() -> None:
    crew = opened(Resident, 2)
    nothing: set[Route] = set()
    t, u = {PushedRows(TABLES["t"])}, {PushedRows(TABLES["u"])}
    for worker in crew.workers:
        assert worker.exchanging(nothing) == frozenset()
        assert worker.exchanging(t) == PROGRAM.exchanging([TABLES["t"]])
        assert worker.exchanging(t | u) == worker.exchanging(t) | worker.exchanging(u)
        files = worker.exchanging({InputFiles(TABLES["t"])})
        assert files == worker.exchanging(t) | {FILE_LEVEL}  # rows of a keyed table belong to someone


def test_while_new_arrangements_are_filled_workers_meet_after_every_level_but_the_last() -> None:
    crew = Resident(PROGRAM, 2)
    crew.open(filling(Opening(), PROGRAM))
    assert {worker.exchanging(set()) for worker in crew.workers} == {frozenset(range(PROGRAM.levels - 1))}


def test_an_empty_view_is_read_as_one_empty_batch_with_its_columns() -> None:
    crew = opened(Resident, 1)
    [batch] = crew.workers[0].read("by_k").batches
    assert batch.num_rows == 0
    assert batch.num_columns == len(PROGRAM.circuit.nodes[PROGRAM.circuit.views["by_k"]].operator.schema) + 1


def test_a_worker_is_made_from_what_can_be_shipped() -> None:
    backend = open_backend("memory://test_worker")
    assert isinstance(backend, MemoryBackend)
    shop = Shop()
    crew = Resident(PROGRAM, 2, backend)
    crew.open(filling(Opening(), PROGRAM))
    run(crew, 0, None)
    run(crew, 1, shop.random(np.random.default_rng(5), 30))
    stored = opening_of(PROGRAM, crew.commit(1))
    made: list[Worker] = [
        make_worker(PROGRAM, Layout.even(2), backend.url, SEED, False, None, 10, number)
        for number in range(2)
    ]
    for worker in made:
        worker.open(stored)
    again = Resident(PROGRAM, 2, backend)
    again.workers = made
    assert [worker.worker for worker in made] == [0, 1]
    check(again, shop)
