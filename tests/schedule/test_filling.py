"""New views are filled while old ones do nothing: the same bits as if all had been there from the start."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from penstock.schedule.change_log import STEP_COLUMN
from penstock.schedule.fill import plan_fill
from penstock.schedule.opening import Opening
from penstock.storage import BatchRef
from tests.schedule.driving import bits, opened, run
from tests.schedule.inline import Resident, Staged, filling, opening_of, zset_of
from tests.schedule.shop import Shop
from tests.schedule.test_fill import PLANS, added, histories, program

History = tuple[list[str], list[str]]


def states(crew: Resident, views: list[str]) -> dict[str, list[str]]:
    return {name: bits(crew.read(name)) for name in views}


def stored(crew: Resident, version: int) -> Opening:
    """What a version would name."""
    return crew.opening if isinstance(crew, Staged) else opening_of(crew.program, crew.commit(version))


def filled(
    kind: type[Resident], history: History, workers: int, crew: Resident
) -> tuple[Resident, list[dict[str, Any]]]:
    """New workers over what ``crew`` has stored, after the step that fills, and their reports of it."""
    old, new = history
    of = program(*old, *new)
    more = kind(of, workers, crew.backend)
    more.open(replace(filling(stored(crew, 100), of), version=100))
    reports = more.step(3, [])
    more.accept()
    if isinstance(more, Staged):
        more.committed(opening_of(of, more.commit(101), 101))
    return more, reports


@given(
    history=histories(),
    before=st.sampled_from([1, 3]),
    after=st.sampled_from([1, 2, 3]),
    kind=st.sampled_from([Resident, Staged]),
    seed=st.integers(0, 5),
)
@example((["counted"], ["over_counted", "count_counted"]), 3, 2, Resident, 0)
@example((["pairs"], ["pairs_again", "by_x", "deep"]), 1, 3, Staged, 1)
@example(([], list(PLANS)), 1, 2, Resident, 2)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_filled_views_are_those_that_were_there_from_the_start(
    history: History, before: int, after: int, kind: type[Resident], seed: int
) -> None:
    old, new = history
    shop, rng = Shop(), np.random.default_rng(seed)
    always, crew = opened(Resident, 1, program(*old, *new)), opened(kind, before, program(*old))

    def stepped(step: int, *crews: Resident) -> None:
        inputs = shop.random(rng, 30)
        for each in crews:
            run(each, step, inputs)

    for step in (1, 2, 3):
        stepped(step, always, crew)
    more, reports = filled(kind, history, after, crew)
    assert states(more, [*old, *new, "t", "u"]) == states(always, [*old, *new, "t", "u"])
    fill = plan_fill(more.program, set(more.program.slots) - set(crew.program.slots), after)
    ran = {int(node) for report in reports for node in report["node_ms"]}
    assert ran <= fill.computed
    for step in (4, 5):
        stepped(step, always, more)
        assert states(more, [*old, *new]) == states(always, [*old, *new]), step


@pytest.mark.parametrize("workers", [1, 3])
def test_the_first_change_of_a_new_view_is_its_content_and_old_views_have_none(workers: int) -> None:
    old, new = ["counted", "pairs"], ["count_counted", "pairs_again", "over_counted", "whole"]
    shop, rng = Shop(), np.random.default_rng(3)
    crew = opened(Resident, 2, program(*old))
    for step in (1, 2, 3):
        run(crew, step, shop.random(rng, 30))
    more, reports = filled(Resident, (old, new), workers, crew)
    for name in old:
        assert more.changes(name, -1).num_rows == 0
    for name in new:
        told = more.changes(name, -1).drop_columns([STEP_COLUMN])
        assert zset_of(told) == zset_of(more.read(name)) and len(zset_of(told))
    assert {name for report in reports for name in report["views"]} == set(new)


def test_existing_state_is_left_as_it_is_stored() -> None:
    """Not even an aggregate that has to run again, because its rows are in the wrong place, adds anything."""
    old, new = ["counted", "by_k", "deep"], ["over_counted"]
    shop, rng = Shop(), np.random.default_rng(4)
    crew = opened(Resident, 2, program(*old))
    for step in (1, 2, 3):
        run(crew, step, shop.random(rng, 60))
    before = stored(crew, 100).arrangements
    more, _ = filled(Resident, (old, new), 2, crew)
    of, fill, present = added(old, new)
    again = {node.slot(0) for node in of.circuit.nodes if node.id in fill.computed and node.operator.slots}
    assert again & present, "nothing existing was computed: this test shows nothing"
    after = stored(more, 101).arrangements
    for slot in present:
        assert rows_by_block(after[slot]) == rows_by_block(before[slot])
    assert any(rows_by_block(before[slot]) for slot in again & present)
    assert all(rows_by_block(after[slot]) for slot in fill.slots)


def rows_by_block(refs: Iterable[BatchRef]) -> Counter[tuple[str, int]]:
    """How many rows of each block of a segment are in use; workers may have cut it into other pieces."""
    found: Counter[tuple[str, int]] = Counter()
    for ref in refs:
        found[ref.segment, ref.entry] += ref.rows
    return found
