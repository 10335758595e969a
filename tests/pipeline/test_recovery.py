"""Ways out for pipelines that cannot be opened: what is lost is told and given up on request."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.errors import InUse, PipelineError
from penstock.pipeline.recovery import diagnose, give_up_steps, skip_file
from penstock.storage import MemoryBackend
from tests.pipeline.story import STEPS, check, coordinator, live
from tests.pipeline.test_damage import cut_by_one_frame, log_files, whole_life


def test_a_sound_pipeline_has_nothing_to_give_up() -> None:
    found = diagnose(whole_life())
    assert (found.step, found.good, found.acknowledged, found.lost_steps) == (1, STEPS, STEPS, 0)
    assert not (found.problem or found.missing)


def test_lost_steps_are_given_up_and_the_pipeline_goes_on_before_them() -> None:
    backend = whole_life()
    cut_by_one_frame(backend, log_files(backend)[-1])
    found = diagnose(backend)
    assert (found.good, found.acknowledged, found.lost_steps) == (2, 3, 1)
    assert "ends with step 2" in found.problem
    give_up_steps(backend)
    assert diagnose(backend).lost_steps == 0
    driver = coordinator(backend)
    driver.open()
    check(driver, 2)
    live(driver)
    check(driver, STEPS)
    driver.close()
    assert backend.list("discarded/")


def test_steps_behind_a_hole_are_given_up_too() -> None:
    backend = MemoryBackend()
    driver = coordinator(backend)
    driver.open()
    live(driver, 2)
    driver.store.rotate_log()
    live(driver)
    driver.kill()
    backend.delete(next(name for name in log_files(backend) if int(name[-14:-4]) == 2))
    found = diagnose(backend)
    assert (found.good, found.acknowledged) == (1, 3)
    assert "from step 1 to step 3" in found.problem
    give_up_steps(backend)
    again = coordinator(backend)
    again.open()
    check(again, 1)
    live(again)
    check(again, STEPS)
    again.close()


def test_a_damaged_frame_takes_those_after_it_along() -> None:
    backend = whole_life()
    name = log_files(backend)[-1]
    content = np.frombuffer(backend._files[name], np.uint8).copy()
    content[200] ^= 1  # in the frame of step 2
    backend.delete(name)
    backend.write_new(name, [content.tobytes()])
    found = diagnose(backend)
    assert (found.good, found.lost_steps) == (1, 2)
    assert name in found.problem
    give_up_steps(backend)
    driver = coordinator(backend)
    driver.open()
    check(driver, 1)
    driver.kill()


def test_a_damaged_note_of_acknowledged_steps_can_be_given_up_without_a_loss() -> None:
    backend = whole_life()
    [name] = backend.list("acknowledged/")
    content = np.frombuffer(backend._files[name], np.uint8).copy()
    content[70] ^= 1
    backend.delete(name)
    backend.write_new(name, [content.tobytes()])
    found = diagnose(backend)
    assert found.lost_steps == 0 and name in found.problem
    give_up_steps(backend)
    driver = coordinator(backend)
    driver.open()
    check(driver, STEPS)
    driver.kill()


def test_nothing_is_given_up_while_the_pipeline_runs() -> None:
    backend = MemoryBackend()
    driver = coordinator(backend)
    driver.open()
    live(driver)
    with pytest.raises(InUse):
        give_up_steps(backend)
    driver.kill()


def test_only_files_that_steps_must_read_again_can_be_skipped() -> None:
    with pytest.raises(PipelineError, match="no step that must be run again has read"):
        skip_file(whole_life(), "/nowhere/rows.parquet")
