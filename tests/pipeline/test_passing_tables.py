"""Tables that let their rows go: views are the same as over rows that are kept, through crashes and
rescaling; what would need the rows again is refused."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from penstock import Pipeline
from penstock.cli.main import app
from penstock.errors import InputError, PipelineError, SqlError

VIEWS = """
CREATE MATERIALIZED VIEW totals AS
  SELECT k, count(*) AS n, sum(x) AS total, max(x) AS most FROM {0} GROUP BY k;
CREATE MATERIALIZED VIEW top AS SELECT k, x FROM {0} ORDER BY x DESC, k LIMIT 3;
CREATE MATERIALIZED VIEW pairs AS SELECT a.k, a.x, b.x AS y FROM {0} AS a JOIN {0} AS b ON a.x = b.x + 1;
CREATE MATERIALIZED VIEW positive AS SELECT * FROM {0} WHERE x > 0;
"""
PASSING = (
    "CREATE TABLE {0} (k INT, x INT) TBLPROPERTIES ('appendOnly' = 'true', 'keepRows' = 'false');" + VIEWS
)
KEPT = "CREATE TABLE {0} (k INT, x INT) TBLPROPERTIES ('appendOnly' = 'true');" + VIEWS
NAMES = ("totals", "top", "pairs", "positive")


def rows(step: int) -> list[dict[str, int]]:
    return [{"k": n % 3, "x": (7 * n + step) % 11 - 3} for n in range(step, step + 8)]


def contents(run: object) -> dict[str, list[dict[str, object]]]:
    found = {name: run.read(name).to_pylist() for name in NAMES}  # type: ignore[attr-defined]
    return {name: sorted(lines, key=str) for name, lines in found.items()}


@pytest.mark.parametrize("mode", ["resident", "staged"])
def test_views_over_rows_that_pass_by_are_those_over_rows_that_are_kept(
    mode: str, tmp_path: Path, spark: SparkSession
) -> None:
    kept = Pipeline("kept", storage=tmp_path / "kept", workers=1, spark=spark)
    kept.sql(KEPT.format("t"))
    with kept.run() as reference:
        for step, workers in enumerate([2, 1, 3] if mode == "resident" else [2]):
            pipe = Pipeline("p", storage=tmp_path / "p", workers=workers, mode=mode, spark=spark)
            if step == 0:
                pipe.sql(PASSING.format("t"))
            run = pipe.run()
            for number in (2 * step, 2 * step + 1):
                for each in (run, reference):
                    each.insert("t", rows(number))
                    each.step()
            path = tmp_path / f"{step}.parquet"
            pq.write_table(
                pa.Table.from_pylist(rows(100 + step)).cast(pa.schema([("k", "i4"), ("x", "i4")])), path
            )
            for each in (run, reference):
                each.load("t", path)
                each.step()
            assert contents(run) == contents(reference)
            run.kill()  # the next one replays what no version has
        assert reference.verify()


def test_the_rows_are_not_stored(tmp_path: Path, spark: SparkSession) -> None:
    sizes = {}
    for name, script in (("kept", KEPT), ("passing", PASSING)):
        pipe = Pipeline(name, storage=tmp_path / name, workers=2, spark=spark)
        pipe.sql(script.format("t"))
        with pipe.run() as run:
            run.insert("t", rows(0))
            run.step()
            run.commit()
            sizes[name] = run.status().stored_rows
    assert sizes["kept"] - sizes["passing"] == len(rows(0))


def test_what_needs_the_rows_again_is_refused_and_harms_nothing(tmp_path: Path, spark: SparkSession) -> None:
    pipe = Pipeline("p", storage=tmp_path / "p", workers=2, spark=spark)
    pipe.sql(PASSING.format("t") + "CREATE TABLE other (k INT PRIMARY KEY);")
    pipe.sql("CREATE MATERIALIZED VIEW others AS SELECT count(*) AS n FROM other")
    with pipe.run() as run:
        run.insert("t", rows(0))
        run.insert("other", [{"k": 1}, {"k": 2}])
        run.step()
        before = contents(run)
        with pytest.raises(PipelineError, match="table t does not keep its rows; read a view over it"):
            run.read("t")
        with pytest.raises(PipelineError, match=r"view top cannot be computed from scratch.*of t"):
            run.verify("top")
        checked = run.verify()
        assert checked and [report.view for report in checked] == ["others"]
        assert checked.unchecked == NAMES
    pipe.sql("CREATE MATERIALIZED VIEW late AS SELECT min(x) AS least FROM t")
    with pytest.raises(PipelineError, match="late: cannot be filled, because table t does not keep its rows"):
        pipe.run()
    pipe.sql("DROP MATERIALIZED VIEW late")
    pipe.sql(
        PASSING.format("u").replace("VIEW ", "VIEW u_")
    )  # a new table with its views may come at any time
    pipe.sql("CREATE MATERIALIZED VIEW late AS SELECT max(k) AS last FROM other")
    with pipe.run() as run:
        assert contents(run) == before and run.read("late").to_pylist() == [{"last": 2}]
        run.insert("u", rows(0))
        run.step()
        assert run.read("u_top").to_pylist() == run.read("top").to_pylist()
    driver = CliRunner().invoke(app, ["verify", str(tmp_path / "p")])
    assert driver.exit_code == 0
    assert "because rows of theirs or of their tables are not kept: totals" in driver.output


def test_only_append_only_tables_can_let_rows_go(tmp_path: Path, spark: SparkSession) -> None:
    pipe = Pipeline("p", storage=tmp_path / "p", workers=1, spark=spark)
    with pytest.raises(SqlError, match="table t: only an append-only table can discard its rows"):
        pipe.sql("CREATE TABLE t (k INT PRIMARY KEY) TBLPROPERTIES ('keepRows' = 'false')")
        pipe.run()


def test_of_files_only_columns_that_views_use_are_read(tmp_path: Path, spark: SparkSession) -> None:
    columns = "(k INT, x INT NOT NULL, note STRING NOT NULL) TBLPROPERTIES ('appendOnly' = 'true'"
    pipe = Pipeline("p", storage=tmp_path / "p", workers=2, spark=spark)
    pipe.sql(
        f"CREATE TABLE t {columns}, 'keepRows' = 'false'); CREATE TABLE kept {columns});"
        "CREATE MATERIALIZED VIEW big AS SELECT k FROM t WHERE x > 1;"
        "CREATE MATERIALIZED VIEW n AS SELECT count(*) AS n FROM t;"
    )
    circuit = pipe.program().circuit
    assert circuit.columns_read(circuit.tables["t"]) == {0, 1}
    assert circuit.columns_read(circuit.tables["kept"]) == {0, 1, 2}
    path = tmp_path / "rows.parquet"
    schema = pa.schema([("k", "i4"), ("x", "i4"), ("note", pa.string())])
    with pq.ParquetWriter(path, schema) as writer:
        for x in range(4):
            writer.write_table(pa.table([[x, x], [x, x], ["a", None]], schema=schema))
    with pipe.run() as run:
        assert run.load("t", path) == 8
        run.insert("t", [{"k": 9, "x": 9, "note": "pushed"}])
        run.step()
        assert run.read("n").to_pylist() == [{"n": 9}]
        assert sorted(run.read("big")["k"].to_pylist()) == [2, 2, 3, 3, 9]
        run.load("kept", path)
        with pytest.raises(InputError, match="column note"):
            run.step()
        pq.write_table(pa.table([[1], [None], ["a"]], schema=schema), path)
        run.load("t", path)
        with pytest.raises(InputError, match="column x"):
            run.step()
        assert run.read("n").to_pylist() == [{"n": 9}]
