"""A short life of a pipeline, told by a coordinator over in-process workers, to be interrupted anywhere."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.pipeline.coordinator import Coordinator
from penstock.pipeline.step_input import StepInput
from penstock.pipeline.store import PipelineStore
from penstock.schedule.change_log import STEP_COLUMN, read_changes
from penstock.schedule.state import open_segment
from penstock.storage import MemoryBackend
from penstock.zset import HashSeed, ReferenceZSet
from tests.schedule.inline import Resident, zset_of
from tests.schedule.shop import Shop, program

NAMES = ("by_k", "pairs")
PROGRAM = program(*NAMES)
STEPS = 3
COMMIT_AFTER = (1,)  # the end of the story commits once more


@lru_cache(maxsize=4)
def inputs(seed: HashSeed) -> tuple[StepInput, ...]:
    """The input of each step; the first is step 1."""
    shop, rng = Shop(seed), np.random.default_rng(8)
    return tuple(shop.random(rng, 14, at_us=1_000_000 + step) for step in range(STEPS))


def _contents() -> list[dict[str, ReferenceZSet]]:
    shop, rng = Shop(), np.random.default_rng(8)
    found = [{name: shop.contents(name) for name in (*NAMES, "t", "u")}]
    for step in range(STEPS):
        shop.random(rng, 14, at_us=1_000_000 + step)
        found.append({name: shop.contents(name) for name in (*NAMES, "t", "u")})
    return found


CONTENTS = _contents()  # after each number of steps


def coordinator(
    backend: MemoryBackend,
    kind: type[Resident] = Resident,
    *,
    workers: int = 2,
    of: Any = PROGRAM,
    **options: Any,
) -> Coordinator:
    """A coordinator over the state in ``backend``, not opened yet. Commits when it is told to."""
    store = PipelineStore(backend, "story")
    runtime = kind(of, workers, backend, store.seed)
    settings = {"commit_interval_s": 1e9, "retained_steps": 100, **options}
    return Coordinator(
        of, runtime.layout, store, runtime, catalog={"views": sorted(of.circuit.views)}, **settings
    )


def live(driver: Coordinator, until: int = STEPS) -> None:
    """Runs the steps that are missing, with a commit after some of them."""
    for number, step_input in enumerate(inputs(driver.store.seed), start=1):
        if driver.step < number <= until:
            report = driver.run_step(step_input)
            assert report.step == driver.step == number
            if number in COMMIT_AFTER:
                driver.settle()
                driver.commit()


def changes(driver: Coordinator, view: str, since: int = -1) -> pa.Table:
    """All changes of a view, stored and recent, as a run puts them together."""
    parts = [
        pa.Table.from_batches([read_changes(open_segment(driver.store.backend, segment), block.entry)])
        for segment, block in driver.store.changes_of(view, since)
    ]
    table = pa.concat_tables([*parts, driver.recent_changes(view, since)])
    return table.filter(pc.greater(table[STEP_COLUMN], since))


def check(driver: Coordinator, steps: int) -> None:
    """Contents are those after ``steps`` steps, and every step's changes are there exactly once."""
    assert driver.step == steps
    for name in (*NAMES, "t", "u"):
        assert zset_of(driver.read(name)) == CONTENTS[steps][name], name
    for view in NAMES:
        table = changes(driver, view)
        for step in range(1, steps + 1):
            part = table.filter(pc.equal(table[STEP_COLUMN], step)).drop_columns([STEP_COLUMN])
            assert zset_of(part) == CONTENTS[step][view].subtract(CONTENTS[step - 1][view]), (view, step)
        assert not table.num_rows or max(table[STEP_COLUMN].to_pylist()) <= steps
    assert [driver.times[step] for step in range(1, steps + 1)] == [1_000_000 + step for step in range(steps)]
