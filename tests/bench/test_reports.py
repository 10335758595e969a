"""A report says where, when and how well; pages follow from the figures, and the index from all reports."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.bounds import BOUNDS
from bench.machine import load_average, machine, versions
from bench.pages import (
    FOLDER,
    Report,
    index_page,
    pictures,
    read_reports,
    report_page,
    write_pages,
    write_report,
)
from bench.report import Result, agreement, result_from_json, result_to_json, spread
from bench.sketch import Bars, Stack, Stacks

ROWS = [{"view": "q01", "ms": 1.234, "x Spark": 60.0}, {"view": "q02", "ms": 5.0, "x Spark": 0.5}]
MEAN = Result(
    "toy", "A toy", 5.5, 50.0, "x Spark", ROWS, at_least=True, notes=["a note"], spread=spread([5, 6, 7])
)
SLOWEST = Result("toy-slowest", "A toy", 0.5, 0.25, "x Spark", ROWS, at_least=True)


def _report(name: str = "toy", *results: Result) -> Report:
    return Report(
        benchmark=name,
        about="Is it a toy?",
        date="2026-01-02 03:04 UTC",
        seconds=90.0,
        commit="abc1234",
        machine={"cpu": "A processor", "cores": 2, "memory_gib": 23.4},
        versions={"python": "3.11", "java": "17"},
        load={"start": 0.5, "end": 1.5},
        results=results or (MEAN, SLOWEST),
    )


def test_a_goal_is_met_at_its_bound_and_the_verdict_says_when_not() -> None:
    assert Result("a", "", 1.5, 1.5, "x", ()).met and Result("a", "", 1.5, 1.5, "x", (), at_least=True).met
    assert (
        Result("a", "", 1.4, 1.5, "x", (), at_least=True).verdict() == "a: 1.40x (goal at least 1.5x) MISSED"
    )
    assert Result("a", "", 1.4, 1.5, " ms", ()).verdict() == "a: 1.40 ms (goal at most 1.5 ms)"


def test_a_report_says_by_how_much_a_goal_was_missed_and_what_bounds_it() -> None:
    assert MEAN.shortfall == 50 / 5.5 and SLOWEST.shortfall <= 1
    assert Result("a", "", 15.0, 10.0, " ms", ()).shortfall == 1.5
    assert Result("a", "", 0.0, 10.0, "x", (), at_least=True).shortfall == float("inf")
    page = report_page(_report())
    assert "**toy** was missed by a factor of 9.09." in page and "**toy-slowest**" not in page
    known = Result("tpch-duckdb", "A toy", 2.5, 5.0, "x DuckDB", ROWS, at_least=True)
    assert f"missed by a factor of 2.00. {BOUNDS['tpch-duckdb']}" in report_page(_report("toy", known))


def test_one_answer_that_differs_misses_the_goal() -> None:
    assert agreement("toy-answers", 22, []).met
    wrong = agreement("toy-answers", 22, ["q01 differs"])
    assert wrong.verdict() == "toy-answers: 1 different (goal at most 0 different) MISSED"
    page = report_page(_report("toy", MEAN, wrong))
    assert "**toy-answers** was missed.\n" in page and "- q01 differs" in page


def test_what_bounds_a_goal_is_told_of_goals_that_there_are() -> None:
    names = {result.name for report in read_reports() for result in report.results}
    assert names >= BOUNDS.keys()


def test_small_figures_are_not_rounded_to_nothing() -> None:
    assert "0.0012" in Result("a", "", 0.0012, 1.0, "", [{"figure": 0.0012}]).table()


def test_few_runs_are_told_by_their_extremes_and_many_by_percentiles() -> None:
    assert spread([3.0, 1.0, 2.0]) == {"min": 1.0, "median": 2.0, "max": 3.0}
    assert spread([float(value) for value in range(101)]) == {"p10": 10.0, "median": 50.0, "p90": 90.0}


@pytest.mark.parametrize("result", [MEAN, SLOWEST, Result("bare", "", 1, 2, "", ())], ids=lambda r: r.name)
def test_a_result_survives_being_kept_as_json(result: Result) -> None:
    kept = json.loads(json.dumps(result_to_json(result)))
    assert result_to_json(result_from_json(kept)) == kept
    assert kept["met"] == result.met and result_from_json(kept).table() == result.table()


def test_without_a_sketch_the_ratio_of_the_goals_unit_is_drawn() -> None:
    rows = [
        {"view": "q01", "x Spark": 3.0, "x DuckDB": 2.0},
        {"view": "q02", "x Spark": 3.0, "x DuckDB": "-"},
    ]
    sketch = Result("toy-duckdb", "", 2.0, 5.0, "x DuckDB", rows, at_least=True).picture()
    assert isinstance(sketch, Bars) and sketch.unit == "times DuckDB"
    assert [(bar.label, bar.value) for bar in sketch.bars] == [("q01", 2.0)]
    peer = Result(
        "toy-flink", "", 2.0, 2.0, "x PyFlink", [{"query": "q01", "ratio": 2.0}], at_least=True
    ).picture()
    assert isinstance(peer, Bars) and peer.unit == "times PyFlink"
    assert Result("bare", "", 1.0, 2.0, "x", [{"rows": 1, "ms": 2.0}]).picture() is None


def test_a_message_in_a_table_does_not_break_it() -> None:
    assert "| a \\| b c |" in Result("a", "", 1.0, 1.0, "", [{"error": "a | b\n  c"}]).table()


def test_the_same_bars_with_two_goals_are_one_picture() -> None:
    [(name, svg)] = pictures(_report()).items()
    assert name == "toy.svg" and "toy: at least 50x" in svg and "toy-slowest: at least 0.25x" in svg


def test_different_pictures_of_a_benchmark_have_names_of_their_own() -> None:
    other = Result("toy", "", 1, 2, "", ROWS, sketch=Stacks("t", "MB", [Stack("a", {"b": 1.0})]))
    assert list(pictures(_report("toy", MEAN, other))) == ["toy.svg", "toy-2.svg"]


def test_a_page_tells_figures_spread_machine_load_versions_commit_and_date() -> None:
    page = report_page(_report())
    for told in (
        "Measured on 2026-01-02.",
        "- missed: toy: 5.50x Spark (goal at least 50x Spark)\n",
        "- met: toy-slowest: 0.50x Spark",
        "![toy](toy.svg)",
        "| q01  | 1.23 | 60.00   |",
        "- a note",
        "toy over repeated runs: min 5, median 6.00, max 7",
        "- commit: abc1234",
        "- took: 1.5 minutes",
        "- cpu: A processor",
        "- memory (GiB): 23.4",
        "- load average: 0.5 at the start, 1.5 at the end",
        "- versions: python 3.11, java 17",
    ):
        assert told.replace("min 5,", "min 5.00,").replace("max 7", "max 7.00") in page
    assert page.count("| view") == 1, "a table with two goals is shown once"


def test_the_index_lists_every_goal_with_a_link_and_all_pictures() -> None:
    page = index_page([_report(), _report("other", SLOWEST)])
    assert (
        "| toy | A toy | at least 50x Spark | 5.50x Spark | **missed** | 2026-01-02 | [toy](toy.md) |" in page
    )
    assert (
        "| toy-slowest | A toy | at least 0.25x Spark | 0.50x Spark | met | 2026-01-02 | [other](other.md) |"
        in page
    )
    assert "![toy](toy.svg)" in page and "![other](other.svg)" in page


def test_written_reports_are_read_again_and_pages_are_made_anew(tmp_path: Path) -> None:
    page = write_report(_report(), tmp_path)
    write_report(_report("other", SLOWEST), tmp_path)
    (tmp_path / "not-ours.json").write_text('{"name": "older"}')
    names = [
        "README.md",
        "not-ours.json",
        "other.json",
        "other.md",
        "other.svg",
        "toy.json",
        "toy.md",
        "toy.svg",
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    assert [report.benchmark for report in read_reports(tmp_path)] == ["other", "toy"]
    assert page.read_text() == report_page(_report())
    page.unlink()
    write_pages(tmp_path)
    assert page.read_text() == report_page(_report())


def test_the_pages_in_the_repository_are_those_of_the_figures_beside_them() -> None:
    reports = read_reports()
    assert (FOLDER / "README.md").read_text() == index_page(reports), "run python -m bench pages"
    for report in reports:
        assert (FOLDER / f"{report.benchmark}.md").read_text() == report_page(report), (
            "run python -m bench pages"
        )
        for name, svg in pictures(report).items():
            assert (FOLDER / name).read_text() == svg, "run python -m bench pages"


def test_the_machine_is_described() -> None:
    found = machine()
    assert found["cores"] >= 1 and found["memory_gib"] > 0 and found["cpu"]
    assert set(versions()) == {"python", "java", "pyspark", "pyarrow", "numpy", "numba"}
    assert load_average() >= 0
