"""What benchmarks make of their measurements, without measuring anything: figures, tables, pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from bench import growth, memory, scale, startup
from bench.latency import steps
from bench.latency.views import changed_lines
from bench.picture import draw
from bench.report import Result, result_to_json


def _drawn(result: Result) -> str:
    sketch = result.picture()
    assert sketch is not None
    return draw(sketch)


class TestScale:
    @pytest.fixture
    def timings(self) -> dict[str, dict[int, scale.Timing]]:
        one, two = scale.Timing([4.0, 9.0, 3.0], [0.0] * 3), scale.Timing([2.0, 3.0, 2.0], [0.5] * 3)
        return {name: {1: one, 2: two} for name in scale.SCRIPTS}

    def test_the_figure_is_the_median_of_the_ratios_of_each_round(
        self, timings: dict[str, dict[int, scale.Timing]]
    ) -> None:
        grouped, join = scale.results(1_000_000, timings)
        assert (grouped.name, join.name) == ("scale-grouped", "scale-join")
        assert grouped.figure == 2.0 and grouped.met and grouped.at_least
        assert grouped.spread == {"min": 1.5, "median": 2.0, "max": 3.0}

    def test_the_table_has_rates_speed_ups_and_the_time_in_exchanges(
        self, timings: dict[str, dict[int, scale.Timing]]
    ) -> None:
        rows = scale.results(1_000_000, timings)[0].rows
        assert [(row["workers"], row["rows/s"], row["speed-up"]) for row in rows[:2]] == [
            (1, 250_000, 1.0),
            (2, 500_000, 2.0),
        ]
        assert rows[1]["in exchange ms"] == 500.0 and rows[1]["max"] == 3000.0
        assert "goal for two workers" in _drawn(scale.results(1, timings)[0])


class TestLatency:
    def test_the_goals_are_for_query_3_with_100_rows_at_its_slower_pace_and_better_crew(self) -> None:
        pushes = np.array([0.1])
        times = [
            steps.Times("small", 2, 100, "idle", np.array([500.0]), pushes),
            steps.Times("q03", 2, 1, "idle", np.array([500.0]), pushes),
            steps.Times("q03", 2, 100, "idle", np.array([4.0, 5.0, 6.0]), pushes),
            steps.Times("q03", 2, 100, "tight loop", np.array([6.0, 8.0, 40.0]), pushes),
            steps.Times("q03", 1, 100, "idle", np.array([1.0, 1.0, 1.0]), pushes),
            steps.Times("q03", 1, 100, "tight loop", np.array([9.0, 9.0, 9.0]), pushes),
        ]
        middle, far = steps.results("Steps", times, {"empty job": np.array([20.0])})
        assert (middle.name, middle.figure, middle.goal) == ("latency-q3-p50", 8.0, 10.0)
        assert far.name == "latency-q3-p99" and not far.met and 39 < far.figure < 40
        assert [row["view"] for row in middle.rows][-1] == "empty job"
        assert middle.table() and "1 row, idle" in _drawn(middle) and _drawn(middle) == _drawn(far)

    def test_changed_lines_are_different_lines_with_other_values(self) -> None:
        count = 50
        columns = {
            "l_orderkey": np.arange(count),
            "l_quantity": np.arange(count),
            "l_extendedprice": np.arange(count),
            "l_discount": np.arange(count),
        }
        contents = {"lineitem": pa.RecordBatch.from_pydict(columns)}
        changed = changed_lines(np.random.default_rng(1), contents, 40)
        keys, prices = changed["l_orderkey"].to_numpy(), changed["l_extendedprice"].to_numpy()
        assert len(set(keys)) == 40 and changed.schema == contents["lineitem"].schema
        assert np.array_equal(prices, changed["l_quantity"].to_numpy()) and np.mean(keys == prices) < 0.2
        with pytest.raises(SystemExit, match="larger --scale"):
            changed_lines(np.random.default_rng(1), contents, 51)


class TestMemory:
    def test_state_is_compared_with_arrow_and_all_files_with_parquet(self) -> None:
        sizes = memory.Sizes(
            1000, 100_000, 20_000, {"t": 120_000, "v": 20_000}, {"t": 21_000}, 1_000, 200_000
        )
        compact = memory.Sizes(1000, 100_000, 20_000, {"t": 10**9}, {"t": 22_000}, 1_000, None)
        joined = memory.Sizes(1000, 1, 1, {"t": 10**9}, {"t": 10**9}, 0, None)
        found = {"q01": sizes, "q01, compact": compact, "joined": joined}
        held, disk = memory.results("State", found)
        assert (held.name, held.figure, held.met) == ("memory", 1.4, True)
        assert (disk.name, disk.figure, disk.met) == ("memory-disk", 1.15, True)
        parts = {row["part"]: row for row in held.rows if row["pipeline"] == "q01"}
        assert parts["t"]["bytes a row in memory"] == 120.0 and parts["t"]["x plain on disk"] == 1.05
        assert parts["all"]["x plain in memory"] == 1.4 and parts["v"]["MB on disk"] == ""
        assert held.table() and "state on disk" in _drawn(held) and "on disk, compact" in _drawn(held)


def _start(first_step: float, files: float = 0.0) -> dict[str, float]:
    parts = {"session": 3.0, "planning": 1.0, "workers": 1.0, "restore": 0.0, "first step": first_step}
    return {**parts, "second step": 9.0, "read": files / 100, "files": files}


STARTS = {
    "cold start": [_start(1.0)] * 3,
    "reopen, 8,000 MB": [_start(2.5, 8e9)] * 3,
    "reopen, 1,000 MB": [_start(last, 1e9) for last in (1.0, 6.0, 2.0)],
}


class TestStartup:
    def test_the_parts_of_a_script_are_what_it_says_of_itself(self) -> None:
        parts = startup.script_parts(5.0, "Ready in 4.6 s (Spark 2.9, views 1.2, workers 0.5)\n", 5.25)
        assert parts["Python and imports"] == pytest.approx(0.4)
        assert (parts["session"], parts["planning"], parts["workers"]) == (2.9, 1.2, 0.5)
        assert parts["first step"] == 0.25

    def test_the_figure_is_the_median_reopening_up_to_the_first_step(self) -> None:
        result, _, _ = startup.results(STARTS)
        assert result.figure == 7.0 and result.met
        assert result.spread == {"min": 6.0, "median": 7.0, "max": 11.0}
        assert [row["all s (median)"] for row in result.rows] == [6.0, 7.5, 7.0]
        assert "second step" in result.table() and "second step" not in _drawn(result)

    def test_a_large_state_is_compared_with_the_small_one_and_by_what_is_read_of_it(self) -> None:
        _, longer, read = startup.results(STARTS)
        assert (longer.name, longer.figure) == ("startup-large", 4.5 / 4.0) and longer.met
        assert (read.name, read.figure) == ("startup-read", 0.01) and read.met

    def test_a_copy_of_state_shares_its_segments_and_nothing_that_grows(self, tmp_path: Path) -> None:
        state, copy = tmp_path / "state", tmp_path / "copy"
        for name in ("segments/1.seg", "input/1.log", "manifest/1.json"):
            (state / name).parent.mkdir(parents=True, exist_ok=True)
            (state / name).write_text(name)
        startup.linked_copy(state, copy)
        assert (copy / "segments/1.seg").samefile(state / "segments/1.seg")
        for name in ("input/1.log", "manifest/1.json"):
            assert (copy / name).read_text() == name and not (copy / name).samefile(state / name)


def test_growth_is_drawn_with_its_goal_as_a_multiple_of_the_first_size() -> None:
    rows = [
        {"rows": size, "step ms (median)": ms, "p10": ms / 2, "p90": ms * 2}
        for size, ms in ((10, 4.0), (99, 5.0))
    ]
    sketch = growth.sketch(rows, 1.5)
    assert sketch.marks[0].value == 6.0 and sketch.lines[0].points[1] == (99, 5.0, 2.5, 10.0)
    assert (
        result_to_json(Result("growth", "", 1.25, 1.5, "x", rows, sketch=sketch))["sketch"]["kind"] == "lines"
    )
