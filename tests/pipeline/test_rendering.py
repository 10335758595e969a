"""What a notebook or a console shows of a pipeline."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock import errors
from penstock.pipeline.pipeline import Pipeline
from penstock.pipeline.rendering import html_table, text_table
from penstock.pipeline.reports import StepReport, Verification, VerifyReport


def cells(html: str) -> list[str]:
    """The texts of an HTML table, which is well-formed."""
    return [
        "".join(part.itertext()) for part in ElementTree.fromstring(html).iter() if part.tag in ("th", "td")
    ]


def test_html_is_escaped_and_numbers_stand_right() -> None:
    html = html_table("a < b", ("<name>", "n"), [("x & y", 1234), ("b", 1.25)], note="<&>")
    assert cells(html) == ["<name>", "n", "x & y", "1,234", "b", "1.2"]
    assert html.count("text-align: right") == 2
    assert "a &lt; b" in html and "&lt;&amp;&gt;" in html


def test_text_stands_in_columns() -> None:
    assert text_table(("view", "rows"), []) == "view  rows"
    assert text_table(("view", "rows", "equal"), [("v", 10, True)]) == "view  rows  equal\nv       10  yes"


def test_reports_are_short_and_tables() -> None:
    report = StepReport(3, 1, {"v": 2, "w": 0}, {"step": 12.34}, {"t": 1}, committed=True)
    assert repr(report) == "<Step 3: 1 row in, 12.3 ms, in a version; rows changed: v 2>"
    assert cells(report._repr_html_()) == ["view", "rows changed", "v", "2", "w", "0"]
    assert "not there: t 1" in report._repr_html_()
    wrong = Verification([VerifyReport("v", True, 1, 1), VerifyReport("w", False, 1, 2, "one < row")], ("x",))
    assert repr(wrong).splitlines() == [
        "1 of 2 views equal to Spark's answer",
        "view  rows  Spark has  equal  difference",
        "v        1          1  yes",
        "w        1          2  no     one < row",
        "Not checked: x",
    ]
    open_ = Verification([VerifyReport("v", False, 1, 1, "order", ("collect_list",))])
    assert "left open by collect_list" in repr(open_) and open_
    assert cells(wrong._repr_html_())[-5:] == ["w", "1", "2", "no", "one < row"]


def test_pipelines_and_runs_show_themselves_whatever_their_state(spark: SparkSession, tmp_path: Path) -> None:
    def opened() -> Pipeline:
        return Pipeline("shop", tmp_path / "state", workers=1, mode="staged", spark=spark)

    pipe = opened()
    assert "no tables yet" in repr(pipe)
    pipe.sql("CREATE TABLE t (a INT PRIMARY KEY, b INT); CREATE VIEW p AS SELECT a FROM t;")
    pipe.view("v", lambda tables: tables.t.select("b"))
    with pipe.run() as run:
        assert repr(run) == "<Run of 'shop': after step 0, stepping by hand>"
        assert cells(run._repr_html_())[3:6] == ["t", "table", "a, b"]
        assert "1 worker, staged, running: t, p, v>" in repr(pipe)
        assert "alive_at" in run.status()._repr_html_()
    assert "closed" in repr(run)
    again = opened()  # not planned yet, and one view cannot be
    assert "not running: t, p, v>" in repr(again)
    assert cells(again._repr_html_())[4:] == [
        *("t", "table", "a", "a, b"),
        *("p", "view, not stored", "", "a"),
        *("v", "view", "", "b"),
    ]


@pytest.mark.parametrize("name", [name for name in errors.__all__ if name[0].isupper()])
def test_every_error_is_at_the_top(name: str) -> None:
    assert getattr(penstock, name) is getattr(errors, name)
    assert name in penstock.__all__ and name in dir(penstock)


def test_what_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nosuch'"):
        _ = penstock.nosuch  # type: ignore[attr-defined]
