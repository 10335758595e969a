"""Ctrl-C at every line of recording, accepting, committing, closing and recovering: what was acknowledged is
there, every step happened once or not at all, and the same process goes on."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
import pytest

from penstock.circuit.operation import Operation
from penstock.pipeline.coordinator import Coordinator
from penstock.pipeline.run import Run
from penstock.sql import Catalog
from penstock.storage import LocalBackend, Log, MemoryBackend
from penstock.zset import HashSeed
from tests.pipeline.interrupting import Interrupting
from tests.pipeline.story import STEPS, check, coordinator, inputs, live
from tests.schedule.inline import Resident, Staged, zset_of
from tests.schedule.shop import U

FILES = {
    *(f"pipeline/{name}.py" for name in ("coordinator", "store", "versions", "static_tables")),
    *(f"storage/{name}.py" for name in ("change_pages", "log", "manifest", "sealed_json", "version_store")),
}
STRIDE = 1 if os.environ.get("PENSTOCK_INTERRUPTS") == "full" else 5
SEED = HashSeed(0x0F1E2D3C4B5A6978, 0x1122334455667788)


@pytest.fixture(autouse=True)
def same_every_time(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(HashSeed, "random", staticmethod(lambda: SEED))
    caplog.set_level(logging.CRITICAL)


def step(driver: Coordinator) -> None:
    driver.run_step(inputs(driver.store.seed)[driver.step])


def recover(driver: Coordinator) -> None:
    driver._certain = False
    driver.find_out()


def begin_and_finish_a_version(driver: Coordinator) -> None:
    driver._begin_version()
    driver.rest()


OPERATIONS: dict[str, Callable[[Coordinator], None]] = {
    "step": step,
    "commit": Coordinator.commit,
    "version in the background": begin_and_finish_a_version,
    "recover": recover,
}


def lines(run: Callable[[], None]) -> range:
    """Which lines of ``run`` to interrupt: all of them, or in the quick form every fifth."""
    with Interrupting(FILES) as counting:
        run()
    assert counting.lines > 10
    return range(1 + counting.lines % STRIDE, counting.lines + 1, STRIDE)


@lru_cache(maxsize=2)
def life(kind: type[Resident]) -> MemoryBackend:
    """Storage with a version at step 1, and (unless every step is committed) step 2 in the log."""
    backend = MemoryBackend()
    driver = coordinator(backend, kind)
    driver.open()
    live(driver, 1)
    if kind is Resident:
        driver.run_step(inputs(driver.store.seed)[1])
    driver.kill()
    return backend


def opened(kind: type[Resident]) -> Coordinator:
    """The same life, to go on with."""
    backend = MemoryBackend()
    backend._files = dict(life(kind)._files)
    driver = coordinator(backend, kind)
    driver.open()
    return driver


@pytest.mark.parametrize(
    ("kind", "name"), [*((Resident, name) for name in OPERATIONS), (Staged, "step"), (Staged, "recover")]
)
def test_an_interrupt_at_any_line_of(name: str, kind: type[Resident]) -> None:
    operation = OPERATIONS[name]
    for at in lines(lambda: operation(opened(kind))):
        driver = opened(kind)
        before = driver.step
        where = f"line {at} of {name}"
        try:
            with Interrupting(FILES, at):
                operation(driver)
        except KeyboardInterrupt as interrupt:
            where = f"{where}, {interrupt}"
        driver.find_out()
        assert driver.step in {before, before + (name == "step")}, where
        live(driver)
        check(driver, STEPS)
        driver.kill()
        again = coordinator(driver.store.backend, kind)  # type: ignore[arg-type]
        again.open()
        check(again, STEPS)
        again.kill()


@pytest.mark.parametrize("name", ["close", "kill"])
def test_an_interrupt_while_closing_lets_go_at_the_second_try(name: str) -> None:
    for at in lines(getattr(opened(Resident), name)):
        driver = opened(Resident)
        try:
            with Interrupting(FILES, at):
                getattr(driver, name)()
        except KeyboardInterrupt:
            driver.kill()
        again = coordinator(driver.store.backend)  # type: ignore[arg-type]
        again.open()
        check(again, 2)
        again.kill()


def test_an_interrupt_while_opening_leaves_the_log_to_the_next() -> None:
    backend = MemoryBackend()
    backend._files = dict(life(Resident)._files)
    driver = coordinator(backend)

    def open_and_kill() -> None:
        driver.open()
        driver.kill()

    for at in lines(open_and_kill):
        driver = coordinator(backend)
        try:
            with Interrupting(FILES, at):
                driver.open()
        except KeyboardInterrupt:
            pass
        driver.kill()
    last = coordinator(backend)
    last.open()
    check(last, 2)
    last.kill()


def run_over(driver: Coordinator) -> Run:
    """A run that steps a coordinator over in-process workers; nothing of it needs Spark."""
    return Run(
        None,  # type: ignore[arg-type] # the session is for reading DataFrames
        Catalog(),
        {},
        driver,
        backend=driver.store.backend,
        describe=lambda: {"storage": "memory://"},
        on_close=lambda: None,
    )


def test_an_interrupt_at_any_line_of_a_run_neither_loses_nor_doubles_what_was_pushed() -> None:
    """A row is pushed and stepped until a step returns, as a program does that survives Ctrl-C."""
    files = {f"pipeline/{name}.py" for name in ("coordinator", "pushes", "run", "store")}
    first, second = (pa.record_batch({"k": ["new"], "n": [n]}, schema=U.arrow_schema) for n in (101, 102))

    def pushed_run() -> Run:
        run = run_over(opened(Resident))
        run._pushes.add(U, first, Operation.INSERT)
        return run

    counted = pushed_run()
    with Interrupting(files) as counting:
        counted.step()
    assert counting.lines > 50
    for at in range(1 + counting.lines % STRIDE, counting.lines + 1, STRIDE):
        run = pushed_run()
        before = run._coordinator.step
        with Interrupting(files, at), suppress(KeyboardInterrupt):
            run.step()
        run._pushes.add(U, second, Operation.INSERT)
        run.step()
        assert run._pushes.empty and run._coordinator.step in {before + 1, before + 2}, at
        rows = zset_of(run._coordinator.read("u"))
        assert [rows[("new", n)] for n in (101, 102)] == [1, 1], at
        run.kill()


# What an interrupted call had open is closed when its traceback goes.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_at_any_line_of_an_append_to_a_file(tmp_path: Path) -> None:
    files = {"storage/log.py", "storage/frames.py", "storage/local.py"}

    def append(log: Log) -> None:
        log.append(2, [b"two"])
        log.rotate(3)
        log.append(3, [b"three"])

    def log_of(folder: str) -> Log:
        log = Log(LocalBackend(tmp_path / folder), "input")
        log.append(1, [b"one"])
        return log

    with log_of("counted") as log, Interrupting(files) as counting:
        append(log)
    assert counting.lines > 50
    for at in range(1, counting.lines + 1):
        with log_of(str(at)) as log:
            with pytest.raises(KeyboardInterrupt), Interrupting(files, at):
                append(log)
            last = log.last_step
            assert last in (1, 2, 3)
            log.append(last + 1, [b"after"])
            expected = [(n, word) for n, word in ((1, b"one"), (2, b"two"), (3, b"three")) if n <= last]
            found = [(number, bytes(payload)) for number, payload in log.read()]
            assert found == [*expected, (last + 1, b"after")], at
        with Log(LocalBackend(tmp_path / str(at)), "input") as log:
            assert log.last_step == last + 1 and not log.cut
