"""The story of a pipeline on a disk that fails at one call: killed half way, opened again, and ended."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from penstock.errors import PenstockError
from penstock.pipeline.checking import check_folder
from penstock.pipeline.coordinator import Coordinator
from penstock.schedule.state import forget_segments
from penstock.storage import LocalBackend
from tests.faults.device import failing
from tests.pipeline.story import STEPS, check, coordinator, live

_Result = TypeVar("_Result")
_RETRIES = 3


def lived(folder: Path, at: int, code: int, calls: tuple[str, ...]) -> str:
    """The whole story on a disk of which call ``at`` fails; which call that was, if there were as many."""
    forget_segments()
    backend = LocalBackend(folder)
    with failing(at, code, calls) as device:
        driver = _tried(lambda: _opened(backend))
        _tried(lambda: live(driver, 2))
        _tried(lambda: check(driver, 2))
        driver.kill()
        forget_segments()
        driver = _tried(lambda: _opened(backend))
        _tried(lambda: live(driver))
        _tried(lambda: check(driver, STEPS))
        _tried(driver.commit)
        made = driver.store.version
        _tried(lambda: check(driver, STEPS))
        driver.close()
    again = coordinator(backend)
    assert again.store.version == made and again.store.step == STEPS, "a version is lost"
    again.open()
    check(again, STEPS)
    again.close()
    report = check_folder(backend)
    assert report, report.problems
    return device.failed


def _opened(backend: LocalBackend) -> Coordinator:
    driver = coordinator(backend)
    try:
        driver.open()
    except BaseException:
        driver.kill()
        raise
    return driver


def _tried(act: Callable[[], _Result]) -> _Result:
    """Does something until it works: an error of ours is expected, any other is not."""
    for _ in range(_RETRIES):
        try:
            return act()
        except PenstockError:
            continue
    return act()
