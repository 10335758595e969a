"""Whole programs, step by step: the right contents, the same bits for any number of workers and both ways."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from penstock.circuit.operation import Operation
from penstock.errors import PipelineError
from penstock.schedule import levels
from penstock.schedule.change_log import STEP_COLUMN, read_changes
from penstock.schedule.opening import Opening, Written
from penstock.schedule.state import open_segment
from penstock.storage import MemoryBackend
from penstock.zset import ReferenceZSet
from tests.schedule.driving import PROGRAM, bits, check, opened, run
from tests.schedule.inline import Resident, Staged, filling, opening_of, zset_of
from tests.schedule.shop import EXPECTED, VIEWS, Shop, T, program


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("kind", [Resident, Staged])
def test_every_view_is_right_after_every_step(kind: type[Resident], workers: int) -> None:
    shop, rng = Shop(), np.random.default_rng(workers)
    crew = opened(kind, workers)
    check(crew, shop)
    for step in range(1, 7):
        run(crew, step, shop.random(rng) if step != 4 else shop.input())
        check(crew, shop)


def test_the_same_bits_come_out_for_any_number_of_workers_and_both_ways() -> None:
    found = {}
    for kind, workers in [(Resident, 1), (Resident, 2), (Resident, 3), (Resident, 8), (Staged, 2)]:
        shop, rng = Shop(), np.random.default_rng(42)
        crew = opened(kind, workers)
        for step in range(1, 6):
            run(crew, step, shop.random(rng, 40))
        found[kind.__name__, workers] = {name: bits(crew.read(name)) for name in VIEWS}
    first = found["Resident", 1]
    assert all(views == first for views in found.values())
    assert any(first["by_k"]) and any(first["pairs"]) and any(first["deep"])


@pytest.mark.parametrize("workers", [1, 3])
def test_changes_add_up_to_the_view_and_say_their_step(workers: int) -> None:
    shop, rng = Shop(), np.random.default_rng(7)
    crew = opened(Resident, workers)
    after: list[dict[str, ReferenceZSet]] = [{name: shop.contents(name) for name in VIEWS}]
    for step in range(1, 7):
        reports = run(crew, step, shop.random(rng))
        after.append({name: shop.contents(name) for name in VIEWS})
        for name in VIEWS:
            changed = crew.changes(name, step - 1)
            assert set(changed[STEP_COLUMN].to_pylist()) <= {step}
            assert zset_of(changed.drop_columns([STEP_COLUMN])) == after[step][name].subtract(
                after[step - 1][name]
            )
            assert sum(report["views"].get(name, 0) for report in reports) == changed.num_rows
    for name in VIEWS:
        for since in (-1, 0, 3, 6):
            part = zset_of(crew.changes(name, since).drop_columns([STEP_COLUMN]))
            before = after[since][name] if since >= 0 else ReferenceZSet({})
            assert part == after[6][name].subtract(before)


@pytest.mark.parametrize("kind", [Resident, Staged])
def test_an_aborted_step_leaves_no_trace(kind: type[Resident]) -> None:
    shop, rng = Shop(), np.random.default_rng(1)
    crew = opened(kind, 2)
    run(crew, 1, shop.random(rng))
    before = {name: bits(crew.read(name)) for name in EXPECTED}
    other = Shop(t=dict(shop.t), u=list(shop.u))
    crew.step(2, other.random(rng, 30).messages(crew.program, crew.layout))
    crew.abort()
    assert {name: bits(crew.read(name)) for name in EXPECTED} == before
    assert all(crew.changes(name, 1).num_rows == 0 for name in VIEWS)
    run(crew, 2, shop.random(rng))
    check(crew, shop)


def test_an_aborted_opening_step_can_be_run_again() -> None:
    crew = Resident(PROGRAM, 2)
    crew.open(filling(Opening(), PROGRAM))
    crew.step(0, [])
    crew.abort()
    run(crew, 0, None)
    shop = Shop()
    check(crew, shop)
    run(crew, 1, shop.random(np.random.default_rng(1)))
    check(crew, shop)


@pytest.mark.parametrize("kind", [Resident, Staged])
def test_reopening_with_another_number_of_workers_goes_on_where_it_was(kind: type[Resident]) -> None:
    shop, rng = Shop(), np.random.default_rng(11)
    backend = MemoryBackend()
    stored = filling(Opening(), PROGRAM)
    step = 0
    for generation, workers in enumerate([1, 3, 8] if kind is Resident else [3, 2]):
        crew = kind(PROGRAM, workers, backend)
        crew.open(stored)
        if generation == 0:
            run(crew, 0, None)
        check(crew, shop)
        for _ in range(2):
            step += 1
            run(crew, step, shop.random(rng, 25))
        check(crew, shop)
        if kind is Resident:
            stored = opening_of(PROGRAM, crew.commit(generation + 1))
            check(crew, shop)  # a commit changes nothing for those who go on
        else:
            stored = crew.opening  # type: ignore[attr-defined]


def test_a_commit_writes_only_what_is_new() -> None:
    shop, rng = Shop(), np.random.default_rng(5)
    crew = opened(Resident, 2)
    for step in range(1, 6):
        run(crew, step, shop.random(rng, 60))
    first = crew.commit(1)
    run(crew, 6, shop.input())
    second = crew.commit(2)
    assert [reply.arrangements for reply in second] == [reply.arrangements for reply in first]
    assert not any(reply.changes for reply in second)
    assert len(crew.backend.list("segments/")) == 4  # of each worker one with batches, one with changes


def test_asking_for_changes_that_are_not_there_does_not_spoil_the_commit() -> None:
    crew = opened(Resident, 2)
    crew.commit(1)
    for name in VIEWS:
        assert crew.changes(name, 0).num_rows == 0
    assert not any(reply.changes for reply in crew.commit(2))


def test_a_commit_that_was_not_published_is_made_again_with_all_its_changes() -> None:
    shop, rng = Shop(), np.random.default_rng(9)
    crew = opened(Resident, 2)
    crew.commit(1)
    run(crew, 1, shop.random(rng))
    lost = crew.commit(2)
    assert any(reply.changes for reply in lost)
    before = {name: shop.contents(name) for name in VIEWS}
    assert zset_of(crew.changes("by_k", 0).drop_columns([STEP_COLUMN])) == before["by_k"]
    run(crew, 2, shop.random(rng))
    again = crew.commit(2)  # the same version: nobody published the first attempt
    written = written_changes(crew, again, "by_k")
    assert zset_of(written.drop_columns([STEP_COLUMN])) == shop.contents("by_k")
    run(crew, 3, shop.input())
    assert not any(reply.changes for reply in crew.commit(3))  # the next version: what was written is known
    reopened = Resident(PROGRAM, 2, crew.backend)
    reopened.open(opening_of(PROGRAM, again))
    check(reopened, shop)


def written_changes(crew: Resident, replies: list[Written], view: str) -> pa.Table:
    return pa.Table.from_batches(
        [
            read_changes(open_segment(crew.backend, reply.changes.segment), block.entry)
            for reply in replies
            if reply.changes is not None
            for block in reply.changes.blocks
            if block.view == view
        ]
    )


@pytest.mark.parametrize("kind", [Resident, Staged])
@pytest.mark.parametrize("workers", [1, 3])
def test_new_views_are_filled_from_the_tables_and_old_ones_stay(kind: type[Resident], workers: int) -> None:
    shop, rng = Shop(), np.random.default_rng(2)
    few = program("big", "by_k")
    crew = opened(kind, workers, few)
    for step in range(1, 4):
        run(crew, step, shop.random(rng, 30))
    stored = opening_of(few, crew.commit(3)) if kind is Resident else crew.opening  # type: ignore[attr-defined]
    fresh = filling(stored, PROGRAM)
    assert fresh.missing and len(fresh.missing) < len(PROGRAM.slots)
    more = kind(PROGRAM, workers, crew.backend)
    more.open(fresh)
    more.step(3, [])
    more.accept()
    if kind is Resident:
        for name in VIEWS:  # the first change of a new view is its content; old views have none
            expected = ReferenceZSet({}) if name in ("big", "by_k") else shop.contents(name)
            assert zset_of(more.changes(name, 2).drop_columns([STEP_COLUMN])) == expected
    else:
        replies = more.commit(4)
        more.committed(opening_of(PROGRAM, replies, 4))
    check(more, shop)
    for step in range(4, 7):
        run(more, step, shop.random(rng, 30))
        check(more, shop)


def test_a_step_that_opens_takes_no_input() -> None:
    crew = Resident(PROGRAM, 1)
    crew.open(filling(Opening(), PROGRAM))
    with pytest.raises(PipelineError, match="takes no input"):
        crew.step(0, Shop().random(np.random.default_rng(0)).messages(PROGRAM, crew.layout))


def test_all_views_together_have_as_many_levels_as_the_deepest() -> None:
    assert PROGRAM.levels == max(program("pairs", "by_n").levels, program("deep").levels)


def test_reports_tell_times_and_absent_keys() -> None:
    crew = opened(Resident, 3)
    reports = run(crew, 1, Shop().input((T, [(key, None, None) for key in range(20)], Operation.DELETE)))
    assert sum(report["counters"].get("absent_keys:t", 0) for report in reports) == 20
    assert [report["worker"] for report in reports] == [0, 1, 2]
    assert all(ms >= 0 for report in reports for ms in report["node_ms"].values())
    assert not any(report["views"] for report in reports)


class Remote(MemoryBackend):
    """Storage that it takes long to wait for."""

    @property
    def is_remote(self) -> bool:
        return True


def test_what_incoming_rows_will_be_matched_with_is_read_ahead_from_remote_storage(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    announced: list[int] = []
    monkeypatch.setattr(levels, "prefetch", lambda batches, keys: announced.append(len(batches)))
    for backend, expected in ((Remote(), True), (MemoryBackend(), False)):
        announced.clear()
        shop, rng = Shop(), np.random.default_rng(5)
        crew = Resident(PROGRAM, 2, backend)
        crew.open(filling(Opening(), PROGRAM))
        run(crew, 0, None)
        assert announced == []  # nothing is there yet
        for step in range(1, 4):
            run(crew, step, shop.random(rng))
            check(crew, shop)
        assert any(announced) is expected
