"""Files of the state that are gone, cut or swapped: an error names them before any answer is given."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from penstock.errors import CorruptionError
from penstock.pipeline.recovery import give_up_steps
from penstock.pipeline.store import PipelineStore
from penstock.schedule.state import forget_segments
from penstock.storage import Log, MemoryBackend, read_log
from tests.pipeline.story import STEPS, check, coordinator, live


def whole_life(*, committed: bool = False) -> MemoryBackend:
    """Storage after all steps: the last two in the log only, unless all are committed."""
    backend = MemoryBackend()
    driver = coordinator(backend)
    driver.open()
    live(driver)
    if committed:
        driver.close()
    else:
        driver.kill()
    return backend


def refused(backend: MemoryBackend, message: str) -> None:
    before = dict(backend._files)
    for _ in range(2):  # nor does trying again get past it
        driver = coordinator(backend)
        with pytest.raises(CorruptionError, match=message):
            driver.open()
        driver.kill()
    kept = {name: bytes(content) for name, content in backend._files.items() if name in before}
    assert set(kept) == set(before), "nothing that was there is deleted"


def log_files(backend: MemoryBackend) -> list[str]:
    return backend.list("input/")


def cut_by_one_frame(backend: MemoryBackend, name: str) -> None:
    content = bytes(backend._files[name])
    last = content.rindex(b"PENSTFRM")
    backend._files[name] = backend._files[name].slice(0, last)


def test_a_lost_newest_log_is_noticed() -> None:
    backend = whole_life()
    backend.delete(log_files(backend)[-1])
    refused(backend, "steps 2 to 3 had been acknowledged and cannot be found.*penstock recover")


def test_a_newest_log_that_was_cut_between_two_frames_is_noticed() -> None:
    backend = whole_life()
    cut_by_one_frame(backend, log_files(backend)[-1])
    refused(backend, "step 3 had been acknowledged and cannot be found")


def test_a_damaged_last_frame_is_noticed_named_and_left_as_it_is() -> None:
    backend = whole_life()
    name = log_files(backend)[-1]
    content = bytearray(backend._files[name])
    content[-1] ^= 1
    backend._files[name] = backend._files[name].slice(0, 0)
    backend.delete(name)
    backend.write_new(name, [bytes(content)])
    driver = coordinator(backend)
    with pytest.raises(CorruptionError, match=r"step 3 had been acknowledged.*last \d+ bytes, from byte"):
        driver.open()
    assert bytes(backend.open(name)) == bytes(content)
    driver.kill()
    give_up_steps(backend)
    [kept] = [discarded for discarded in backend.list("discarded/") if discarded.endswith(name)]
    assert bytes(backend.open(kept)) == bytes(content)


def test_a_whole_input_folder_that_is_gone_is_noticed() -> None:
    backend = whole_life()
    for name in log_files(backend):
        backend.delete(name)
    refused(backend, "steps 2 to 3 had been acknowledged")


def test_steps_that_a_version_has_need_no_log() -> None:
    backend = whole_life(committed=True)
    for name in log_files(backend):
        backend.delete(name)
    driver = coordinator(backend)
    driver.open()
    check(driver, STEPS)
    driver.close()


def test_a_hole_in_the_log_is_noticed() -> None:
    backend = MemoryBackend()
    driver = coordinator(backend)
    driver.open()
    live(driver, 2)
    driver.store.rotate_log()
    live(driver)
    driver.kill()
    files = log_files(backend)
    holding = [name for name in files if int(name[-14:-4]) <= 2]
    backend.delete(holding[-1])
    refused(backend, "has step 3 where step 2 should come")


def test_an_empty_file_behind_a_hole_is_noticed_too() -> None:
    backend = whole_life(committed=True)
    backend.delete(backend.list("manifest/")[-1])
    for name in log_files(backend)[:-1]:
        backend.delete(name)
    backend.delete(backend.list("acknowledged/")[0])
    refused(backend, "steps 2 to 3 had been acknowledged")


def test_without_the_newest_version_the_log_brings_everything_back() -> None:
    backend = whole_life(committed=True)
    backend.delete(backend.list("manifest/")[-1])
    driver = coordinator(backend)
    driver.open()
    check(driver, STEPS)
    driver.close()


@pytest.mark.parametrize("left", [("input/",), ("acknowledged/",), ("segments/",), ("input/", "segments/")])
def test_without_any_version_a_pipeline_is_not_taken_for_a_new_one(left: tuple[str, ...]) -> None:
    backend = whole_life(committed=True)
    for name in backend.list():
        if not name.startswith(left):
            backend.delete(name)
    with pytest.raises(CorruptionError, match=r"manifest/ is empty or gone.*from a backup"):
        PipelineStore(backend, "story")


def test_a_pipeline_that_died_before_its_first_version_is_a_new_one() -> None:
    backend = MemoryBackend()
    backend.write_new("segments/0000000001-w0000-abc.seg", [b"never named"])
    driver = coordinator(backend)
    driver.open()
    live(driver)
    check(driver, STEPS)
    driver.close()


@pytest.mark.parametrize(
    "spoil", [lambda b: b[:100], lambda b: b[:-64]], ids=["in a frame", "between frames"]
)
def test_a_short_note_of_what_was_acknowledged_only_weakens_the_check(
    spoil: Callable[[bytes], bytes],
) -> None:
    backend = whole_life()
    [name] = backend.list("acknowledged/")
    content = spoil(bytes(backend._files[name]))
    backend.delete(name)
    backend.write_new(name, [content])
    driver = coordinator(backend)
    driver.open()
    check(driver, STEPS)
    driver.kill()


def test_what_was_acknowledged_is_noted_in_files_of_bounded_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.pipeline.store._STEPS_PER_FILE", 10)
    backend = MemoryBackend()
    driver = coordinator(backend)
    driver.open()
    for step in range(1, 36):
        driver.store.record(step, [b""])
    driver.kill()
    assert len(backend.list("acknowledged/")) == 1
    with Log(backend, "acknowledged") as log:
        assert log.last_step == 35
    assert len(list(read_log(backend, "acknowledged"))) <= 10


def test_every_segment_in_the_place_of_every_other_is_noticed() -> None:
    backend = whole_life(committed=True)
    store = PipelineStore(backend, "story")
    named = sorted(store.segments(store.version))
    assert len(named) > 3
    for taken in named:
        for other in named[:3]:
            if taken == other:
                continue
            spoiled = MemoryBackend()
            spoiled._files = {**backend._files, taken: backend._files[other]}
            forget_segments()
            driver = coordinator(spoiled)
            with pytest.raises(CorruptionError, match=f"{taken}: this is {other}"):
                driver.open()
                check(driver, STEPS)
            driver.kill()
    forget_segments()


def test_files_of_others_among_the_segments_are_left_alone() -> None:
    backend = MemoryBackend()
    backend.write_new("segments/notes.txt", [b"mine"])
    driver = coordinator(backend, commit_interval_s=0.0)
    driver.open()
    live(driver)
    driver.close()
    assert backend.exists("segments/notes.txt")
