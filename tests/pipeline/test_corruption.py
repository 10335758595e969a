"""Random damage to any file: an error that names it, or the right answers. Never anything else.

A few hundred of the trials that ``make faults-storage`` runs by the thousand, over a folder that in-process
workers made. Here every damage comes from a fixed seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from penstock.errors import CorruptionError
from penstock.pipeline.checking import check_folder
from penstock.pipeline.recovery import diagnose, give_up_steps
from penstock.schedule.state import forget_segments
from penstock.storage import LocalBackend
from tests.faults.damage import FOREIGN, KINDS, copied
from tests.faults.trial import BUGS, DETECTED, HARMLESS, SILENT, Subject, answers_of, scratch_folder, trial
from tests.pipeline.story import PROGRAM, check, coordinator, live

TRIALS = 300


@pytest.fixture(scope="module")
def scratch() -> Iterator[Path]:
    with scratch_folder() as root:
        yield root


@pytest.fixture(scope="module")
def subject(scratch: Path) -> Subject:
    """A folder with two versions, and steps in the log that neither has."""
    root = scratch / "story"
    forget_segments()
    for folder in ("state", "other"):
        for until in (1, 2, 3):
            driver = coordinator(LocalBackend(root / folder))
            driver.open()
            live(driver, until)
            if until == 2:
                driver.commit()
            driver.kill()
    report = check_folder(LocalBackend(root / "state"))
    assert report, report.problems
    copied(root / "state", root / "opened", "")
    answers = answers_of(root / "opened", "story", PROGRAM, 2, go_on=True)
    return Subject("story", root / "state", PROGRAM, 2, answers, (root / "other",))


def test_damage_is_reported_or_harmless(subject: Subject, scratch: Path) -> None:
    outcomes = [trial(subject, seed, scratch) for seed in range(TRIALS)]
    bugs = [outcome for outcome in outcomes if outcome.verdict in BUGS]
    assert not bugs, bugs[:5]
    assert {outcome.damage.kind for outcome in outcomes} == {*KINDS, FOREIGN}
    assert {outcome.verdict for outcome in outcomes} == {DETECTED, HARMLESS}


def test_a_wrong_answer_would_be_noticed(subject: Subject, scratch: Path) -> None:
    wrong = {what: (first + 1, second) for what, (first, second) in subject.answers.items()}
    other = replace(subject, answers=wrong)
    verdicts = {trial(other, seed, scratch).verdict for seed in range(20)}
    assert SILENT in verdicts and HARMLESS not in verdicts


@pytest.mark.parametrize("steps", [1, 2])
def test_a_log_of_another_kind_in_the_place_of_the_input_is_reported(tmp_path: Path, steps: int) -> None:
    backend = LocalBackend(tmp_path / "state")
    driver = coordinator(backend)
    driver.open()
    live(driver, steps)
    driver.kill()
    taken = backend.list("input/")[-1]
    backend.delete(taken)
    backend.write_new(taken, [backend.open(backend.list("acknowledged/")[-1])])
    again = coordinator(backend)
    with pytest.raises(CorruptionError, match=taken):
        again.open()
    again.kill()
    assert taken in [problem.file for problem in check_folder(backend).problems]


@pytest.mark.parametrize("log", ["input", "acknowledged"])
def test_a_log_of_another_pipeline_of_the_same_name_is_reported(tmp_path: Path, log: str) -> None:
    for folder in ("state", "other"):
        driver = coordinator(LocalBackend(tmp_path / folder))
        driver.open()
        live(driver, 2)
        driver.kill()
    backend = LocalBackend(tmp_path / "state")
    taken = backend.list(f"{log}/")[-1]
    backend.delete(taken)
    backend.write_new(taken, [LocalBackend(tmp_path / "other").open(taken)])
    again = coordinator(backend)
    with pytest.raises(CorruptionError, match=f"{taken}: this file is from another log or another pipeline"):
        again.open()
    again.kill()
    assert [problem.file for problem in check_folder(backend).problems] == [taken]


@pytest.mark.parametrize("content", [b"", b"{}", b'{"step": 2, "pa', b"[]", b"\xff\xff"])
def test_a_damaged_decision_to_skip_a_file_is_reported(tmp_path: Path, content: bytes) -> None:
    backend = LocalBackend(tmp_path / "state")
    driver = coordinator(backend)
    driver.open()
    live(driver, 2)
    driver.kill()
    name = "skipped/0000000002-0123456789abcdef.json"
    backend.write_new(name, [content])
    again = coordinator(backend)
    with pytest.raises(CorruptionError, match=f"{name}: the decision"):
        again.open()
    again.kill()
    assert [problem.file for problem in check_folder(backend).problems] == [name]


def test_a_logged_input_that_cannot_be_read_names_the_file_and_the_step(tmp_path: Path) -> None:
    backend = LocalBackend(tmp_path / "state")
    driver = coordinator(backend)
    driver.open()
    live(driver, 1)
    driver.store.record(2, [b"not the input of a step"])
    driver.kill()
    again = coordinator(backend)
    with pytest.raises(CorruptionError, match=r"input/0000000002.log: step 2 cannot be read.*recover"):
        again.open()
    again.kill()
    [problem] = check_folder(backend).problems
    assert problem.file == "input/0000000002.log" and "step 2" in problem.what
    found = diagnose(backend)
    assert (found.good, found.acknowledged) == (1, 2) and "step 2 cannot be read" in found.problem
    give_up_steps(backend)
    recovered = coordinator(backend)
    recovered.open()
    check(recovered, 1)
    recovered.kill()
    assert check_folder(backend)
