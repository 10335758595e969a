"""A run as a user has it: what was pushed and when it counts, reading, the loop, and the end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.errors import EvaluationError, InputError, PipelineError, StorageError
from penstock.pipeline.pipeline import Pipeline
from penstock.pipeline.run import Run
from penstock.pipeline.step_input import StepInput

SCRIPT = """
CREATE TABLE t (id BIGINT PRIMARY KEY, k STRING, n BIGINT);
CREATE TABLE events (k STRING);
CREATE MATERIALIZED VIEW totals AS SELECT k, sum(n) AS total FROM t GROUP BY k;
CREATE MATERIALIZED VIEW shares AS SELECT id, 100 DIV n AS share FROM t ORDER BY share DESC, id;
"""


@pytest.fixture
def pipe(spark: SparkSession, tmp_path: Path) -> Pipeline:
    pipe = Pipeline("run", tmp_path / "state", workers=1, spark=spark, commit_interval_s=3600)
    pipe.sql(SCRIPT)
    return pipe


@pytest.fixture
def run(pipe: Pipeline) -> Iterator[Run]:
    with pipe.run() as run:
        yield run


def rows(*ids: int, k: str = "a", n: int = 5) -> list[dict[str, object]]:
    return [{"id": i, "k": k, "n": n} for i in ids]


def totals(run: Run) -> dict[str, int]:
    return {row["k"]: row["total"] for row in run.read("totals").to_pylist()}


def until_taken(run: Run) -> None:
    """Waits until the background loop has taken all that was pushed into steps."""
    deadline = time.monotonic() + 60
    while run.status().waiting_rows:
        assert time.monotonic() < deadline, "the loop does not step"
        time.sleep(0.01)


def test_what_was_pushed_waits_for_the_next_step(run: Run) -> None:
    assert run.insert("t", rows(1, 2)) == 2
    assert run.upsert("t", rows(2, k="b", n=7)) == 1
    assert run.read("t").num_rows == 0 and run.status().waiting_rows == 3
    assert run.step().input_rows == 3
    assert totals(run) == {"a": 5, "b": 7} and run.status().waiting_rows == 0
    assert run.step().input_rows == 0  # and it is taken once
    assert totals(run) == {"a": 5, "b": 7}


def test_what_was_discarded_never_counts(run: Run) -> None:
    run.insert("t", rows(1))
    assert run.discard() == 1
    run.insert("t", rows(2, k="b"))
    run.step()
    assert totals(run) == {"b": 5}


def test_a_step_that_fails_on_its_rows_drops_them_and_the_run_goes_on(run: Run) -> None:
    run.insert("t", rows(1))
    run.step()
    run.insert("t", rows(2, n=0))
    with pytest.raises(EvaluationError, match="DIVIDE_BY_ZERO") as raised:
        run.step()
    assert raised.value.view == "shares"
    run.insert("t", rows(3, k="c"))
    assert run.step().step == 2
    assert totals(run) == {"a": 5, "c": 5}


def test_an_insert_under_a_key_that_is_there_names_the_row(run: Run) -> None:
    run.insert("t", rows(1))
    run.step()
    run.insert("t", rows(2))
    run.insert("t", rows(3, 1))
    with pytest.raises(InputError) as raised:
        run.step()
    assert (raised.value.table, raised.value.row) == ("t", 1)
    assert run.read("t")["id"].to_pylist() == [1]


def test_rows_that_cannot_be_replaced_are_refused_when_they_are_pushed(run: Run) -> None:
    with pytest.raises(InputError, match="no primary key"):
        run.upsert("events", [{"k": "x"}])
    assert run.status().waiting_rows == 0


def test_a_view_is_read_in_its_order_and_followed_step_by_step(run: Run) -> None:
    run.insert("t", [*rows(1, n=10), *rows(2, n=2), *rows(3, n=5)])
    first = run.step().step
    run.delete("t", [2])
    run.step()
    assert run.read("shares").to_pylist() == [{"id": 3, "share": 20}, {"id": 1, "share": 10}]
    assert run.changes("shares", first).to_pylist() == [
        {"id": 2, "share": 50, "_weight": -1, "_step": first + 1}
    ]
    with pytest.raises(PipelineError, match="the last step is 2"):
        run.changes("shares", 3)
    with pytest.raises(PipelineError, match="'weights' or 'change_feed'"):
        run.changes("shares", format="rows")  # type: ignore[arg-type]


def test_a_statement_comes_after_what_was_pushed_before_it(run: Run) -> None:
    run.insert("t", rows(1, 2))
    report = run.sql("UPDATE t SET n = n + id WHERE id > 1")
    assert report.step == 2 and totals(run) == {"a": 12}


def test_rows_of_many_threads_all_arrive(run: Run) -> None:
    run.start(interval_s=0.01)
    threads = [
        threading.Thread(target=lambda k=k: [run.insert("events", [{"k": str(k)}]) for _ in range(25)])
        for k in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    until_taken(run)
    last = run.stop()
    assert last == run.status().step > 0
    held = run.read("events")["k"].to_pylist()
    assert {k: held.count(k) for k in held} == {str(k): 25 for k in range(4)}


def test_an_error_of_the_background_is_raised_where_it_is_stopped(run: Run) -> None:
    run.start(interval_s=0.01)
    run.insert("t", rows(1, n=0))
    until_taken(run)
    run.pause()
    with pytest.raises(EvaluationError, match="DIVIDE_BY_ZERO"):
        run.stop()
    assert run.read("t").num_rows == 0
    with pytest.raises(PipelineError, match="call start"):
        run.stop()


def test_rows_that_wait_when_the_background_is_stopped_are_in_a_last_step(run: Run) -> None:
    run.start()
    run.pause()
    run.insert("t", rows(1))
    assert run.stop() == 1
    assert run.read("t").num_rows == 1


def test_rows_that_no_step_took_are_dropped_with_a_warning(
    pipe: Pipeline, caplog: pytest.LogCaptureFixture
) -> None:
    with pipe.run() as run:
        run.insert("t", rows(1))
    assert "dropped 1 row pushed since the last step" in caplog.text
    with pipe.run() as run:
        assert run.read("t").num_rows == 0


def test_temporary_views_are_those_that_were_asked_for(run: Run, spark: SparkSession) -> None:
    run.insert("t", rows(1))
    run.step()
    try:
        assert run.create_temp_views("totals") == ("totals",)
        assert [tuple(row) for row in spark.sql("SELECT * FROM totals").collect()] == [("a", 5)]
        assert set(run.create_temp_views()) == {"t", "events", "totals", "shares"}
    finally:
        for name in ("t", "events", "totals", "shares"):
            spark.catalog.dropTempView(name)


def test_an_error_in_the_block_ends_the_run_without_a_version_and_loses_no_step(pipe: Pipeline) -> None:
    with pytest.raises(ZeroDivisionError), pipe.run() as run:
        version = run.status().version
        run.insert("t", rows(1))
        run.step()
        run.insert("t", rows(2))  # never in a step
        raise ZeroDivisionError
    with pipe.run() as again:
        assert again.status().version == version
        assert again.read("t")["id"].to_pylist() == [1]
        assert again.commit() == version + 1


def test_a_closed_run_takes_and_gives_nothing_more(pipe: Pipeline) -> None:
    run = pipe.run()
    run.insert("t", rows(1))
    run.step()
    run.close()
    run.close()
    for use in (run.step, run.commit, run.settle, run.start):
        with pytest.raises(PipelineError, match="closed"):
            use()
    with pytest.raises(PipelineError, match="closed"):
        run.insert("t", rows(2))
    with pytest.raises(PipelineError, match="closed"):
        run.read("t")
    assert "closed" in repr(run)


def test_a_run_that_could_not_be_returned_is_released(
    pipe: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> Run:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("penstock.pipeline.pipeline.Run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            pipe.run()
    with pipe.run() as run:  # neither the log nor the workers are still held
        run.insert("t", rows(1))
        assert run.step().step == 1


def test_a_run_that_fails_while_it_is_killed_is_over(pipe: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    run = pipe.run()
    run.insert("t", rows(1))
    run.step()
    closes = run._coordinator._versions.close

    def fails() -> None:
        closes()
        raise StorageError("the disk fails")

    monkeypatch.setattr(run._coordinator._versions, "close", fails)
    with pytest.raises(StorageError, match="the disk fails"):
        run.kill()
    with pipe.run() as again:
        assert again.read("t").num_rows == 1


def test_who_reads_while_the_workers_are_replaced_waits_for_the_last_step(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        run.insert("t", rows(number))
        run.step()
    coordinator = run._coordinator
    replacing, may_go_on = threading.Event(), threading.Event()
    accept = coordinator._accept

    def slowly(step: int, inputs: StepInput) -> None:
        accept(step, inputs)
        if step == 2:  # one step of the log has not been replayed yet
            replacing.set()
            assert may_go_on.wait(60)

    monkeypatch.setattr(coordinator, "_accept", slowly)
    coordinator._certain = False  # as after an interrupt: the next operation replaces the workers
    asks: dict[str, Callable[[], object]] = {
        "read": lambda: run.read("t").num_rows,
        "changes": lambda: run.changes("totals").num_rows,
        "verify": lambda: bool(run.verify("totals")),
    }
    with ThreadPoolExecutor(len(asks) + 1) as pool:
        step = pool.submit(run.step)
        assert replacing.wait(60)
        answers = {name: pool.submit(ask) for name, ask in asks.items()}
        time.sleep(0.3)
        assert not any(answer.done() for answer in answers.values())
        may_go_on.set()
        assert step.result(120).step == 4
        found = {name: answer.result(120) for name, answer in answers.items()}
    assert found == {"read": 3, "changes": 5, "verify": True}
