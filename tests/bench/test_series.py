"""All benchmarks in a row: the time is estimated, a failure does not stop the others, goals are summed up."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import pytest

import bench.__main__
from bench.__main__ import BENCHMARKS, main
from bench.pages import Report
from bench.report import Result
from bench.series import DEFAULT_MINUTES, Outcome, estimates, in_own_process, run_series, summary


def _report(name: str, figure: float = 1.0, seconds: float | None = 60.0) -> Report:
    return Report(name, "", "2026-01-02", seconds, "", {}, {}, {}, [Result(name, "", figure, 2.0, "x", ())])


def test_a_run_is_estimated_by_the_last_one_then_by_the_benchmark_itself() -> None:
    own = ModuleType("own")
    own.MINUTES = 7.0  # type: ignore[attr-defined]
    benchmarks = {"ran": own, "says": own, "silent": ModuleType("silent"), "old": own}
    reports = [_report("ran", seconds=90.0), _report("old", seconds=None)]
    assert estimates(benchmarks, reports) == {"ran": 1.5, "says": 7.0, "silent": DEFAULT_MINUTES, "old": 7.0}


@pytest.mark.parametrize("more", [[], ["--resume"]])
def test_only_a_whole_run_tells_how_long_the_next_will_take(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, more: list[str]
) -> None:
    monkeypatch.setattr(BENCHMARKS["nexmark"], "run", lambda options: _report("nexmark").results)
    assert main(["nexmark", "--json", str(tmp_path / "found.json"), *more]) == 0
    found = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert (found["seconds"] is None) == bool(more)


def test_progress_tells_the_number_the_time_and_what_is_left() -> None:
    told: list[str] = []
    run_series({"growth": 4.0, "scale": 17.0, "quick": 0.5}, _report, told.append)
    assert [line for line in told if line.startswith("[")] == [
        "[1/3] growth, about 4 min, 22 min left in all",
        "[2/3] scale, about 17 min, 18 min left in all",
        "[3/3] quick, about 30 s, 30 s left in all",
    ]


def test_one_that_fails_is_shown_and_the_others_go_on() -> None:
    told: list[str] = []

    def run_one(name: str) -> Outcome:
        return "it broke" if name == "second" else _report(name)

    outcomes = run_series(dict.fromkeys(("first", "second", "third"), 1.0), run_one, told.append)
    assert list(outcomes) == ["first", "second", "third"] and "second failed: it broke" in told
    lines, well = summary(outcomes)
    assert lines == ["first: 1.00x (goal at most 2x)", "second: FAILED", "third: 1.00x (goal at most 2x)"]
    assert not well


def test_all_is_well_only_when_every_goal_is_met() -> None:
    assert summary({"a": _report("a")})[1]
    assert not summary({"a": _report("a"), "b": _report("b", 3.0)})[1]


def test_the_command_runs_all_and_exits_1_when_a_goal_is_missed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []

    def run_one(name: str) -> Outcome:
        asked.append(name)
        return _report(name, 3.0 if name == "growth" else 1.0)

    monkeypatch.setattr(bench.__main__, "in_own_process", run_one)
    assert main(["all"]) == 1
    assert asked == list(BENCHMARKS)
    printed = capsys.readouterr().out
    assert f"[1/{len(BENCHMARKS)}] {asked[0]}, about " in printed
    assert printed.endswith("".join(f"{_verdict(name)}\n" for name in BENCHMARKS))


def _verdict(name: str) -> str:
    return _report(name, 3.0 if name == "growth" else 1.0).results[0].verdict()


def test_a_process_that_ends_without_figures_has_failed(capfd: pytest.CaptureFixture[str]) -> None:
    outcome = in_own_process("no-such-benchmark")
    assert isinstance(outcome, str) and "exit code 2" in outcome
    assert "invalid choice" in capfd.readouterr().err
