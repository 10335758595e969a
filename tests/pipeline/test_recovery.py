"""Ways out for pipelines that cannot be opened: what is lost is shown, and given up on request."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from penstock.circuit.operation import Operation
from penstock.cli.main import app
from penstock.errors import InUse, PipelineError
from penstock.pipeline.recovery import diagnose, give_up_steps, skip_file
from penstock.pipeline.step_input import StepInput
from penstock.schedule.files import FileInput, Wanted
from penstock.storage import MemoryBackend
from tests.pipeline.story import PROGRAM, STEPS, check, coordinator, live
from tests.pipeline.test_damage import cut_by_one_frame, log_files, whole_life
from tests.schedule.shop import U


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


def life_with_a_file(path: Path) -> MemoryBackend:
    """A pipeline with a step in its log that has read a file."""
    backend = MemoryBackend()
    driver = coordinator(backend)
    driver.open()
    live(driver, 1)
    table = pa.table({"k": ["a", "b", "c"], "n": [1, 2, 3]}, schema=U.arrow_schema)
    pq.write_table(table, path, row_group_size=2)
    file = FileInput.of(path, Wanted("u", U.schema, (), "UTC"), Operation.UPSERT)
    _, checksums = file.share(0, 1).read("u", U.arrow_schema, None, driver.store.seed, {0, 1})
    logged = StepInput.of([], 2, [("u", replace(file, checksums=checksums))])
    driver.store.record(2, logged.to_parts(PROGRAM))
    driver.kill()
    return backend


def test_a_file_that_was_rewritten_alike_is_the_same_and_one_that_changed_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    backend = life_with_a_file(path)
    table = pq.read_table(path)
    pq.write_table(table, path, row_group_size=2)
    assert not diagnose(backend).missing
    for other in (table.slice(0, 2), table.set_column(1, "n", [[1, 2, 4]])):
        pq.write_table(other.cast(table.schema), path, row_group_size=2)
        [found] = diagnose(backend).missing
        assert (found.problem, found.rows, found.step) == ("changed", 3, 2)
    path.write_text("no longer Parquet")
    assert [file.problem for file in diagnose(backend).missing] == ["changed"]
    path.unlink()
    assert [file.problem for file in diagnose(backend).missing] == ["gone"]


def test_recover_says_how_many_rows_a_file_had_however_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = life_with_a_file(tmp_path / "rows.parquet")
    (tmp_path / "rows.parquet").unlink()
    for name, content in backend._files.items():
        target = tmp_path / "state" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["recover", "state", "--skip-input", "rows.parquet"], input="n\n")
    assert "gone" in result.output and "(3 rows lost)" in result.output, result.output
    assert "…" not in result.output  # the path is shown whole
