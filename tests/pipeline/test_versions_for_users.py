"""Versions as a user sees them, from the first commit to a restore."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from penstock import Pipeline, PipelineError, Run, VersionInfo
from penstock.cli.main import app

SCRIPT = """
  CREATE TABLE orders (id BIGINT PRIMARY KEY, customer STRING, amount BIGINT);
  CREATE MATERIALIZED VIEW revenue AS SELECT customer, sum(amount) AS total FROM orders GROUP BY customer;
"""


def penstock(*arguments: str, code: int = 0, answer: str | None = None) -> str:
    result = CliRunner().invoke(app, list(arguments), input=answer)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return " ".join(result.output.split())


def total(run: Run) -> int:
    return sum(row["total"] for row in run.read("revenue").to_pylist())


def order(number: int) -> dict[str, object]:
    return {"id": number, "customer": f"c{number % 2}", "amount": 10**number}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COLUMNS", "160")
    return tmp_path / "state"


def test_versions_are_kept_listed_read_and_restored(folder: Path, spark: SparkSession) -> None:
    pipe = Pipeline("shop", folder, workers=1, spark=spark, retain_versions=4, retain_for="2h")
    pipe.sql(SCRIPT)
    made: dict[int, int] = {}
    with pipe.run() as run:
        for step in range(1, 4):
            run.upsert("orders", [order(step)])
            run.step()
            made[step] = run.commit()
        run.upsert("orders", [order(4)])
        run.step()
        assert [v.number for v in run.versions()][-3:] == list(made.values())
        check_read_only(folder, spark, made[2])
        assert "is being run by" in penstock(
            "restore", str(folder), "--version", str(made[2]), "--yes", code=1
        )
        run.upsert("orders", [order(5)])
        run.step()
        assert total(run) == 111110
    listed = pipe.versions()
    newest = listed[-1]
    assert newest.is_newest and newest.step == 5 and all(v.is_openable and v.workers == 1 for v in listed)
    check_listing(folder, listed)
    check_restore(folder, made[2], newest.number)
    # Neither is said again: the folder remembers.
    again = Pipeline("shop", folder, workers=1, spark=spark)
    with again.run() as run:
        assert total(run) == 110
        run.upsert("orders", [order(6)])
        assert run.step().step == 3
        assert run.verify() and total(run) == 1000110
    assert {made[1], made[2]} <= {version.number for version in again.versions()}
    assert penstock("check", str(folder)).count("is sound") == 1
    (folder / "manifest" / f"{again.versions()[-1].number:010d}.json").write_bytes(b"garbage")
    assert "cannot be opened: manifest/" in penstock("versions", str(folder))
    penstock("restore", str(folder), "--version", str(made[1]), "--yes")
    assert "the state after step 1" in penstock("status", str(folder)) and penstock("versions", str(folder))
    assert "input log" in penstock("status", str(folder))


def check_read_only(folder: Path, spark: SparkSession, number: int) -> None:
    """A version is read beside the pipeline that runs; whatever would change it is refused."""
    before = sorted(path for path in folder.rglob("*") if ".heartbeat" not in path.name)
    old = Pipeline("shop", folder, workers=1, spark=spark, version=number)
    assert f"version {number}, read-only" in repr(old)
    old.sql(SCRIPT)  # a program may declare what it always declares
    with old.run() as run:
        assert total(run) == 110 and run.view("orders").count() == 2
        assert run.verify("revenue") and run.status().step == 2
        assert run.changes("revenue", since=1).num_rows == 1
        with pytest.raises(PipelineError, match="no changes after step 3 yet"):
            run.changes("revenue", since=3)
        for change in (
            lambda: run.insert("orders", [order(7)]),
            lambda: run.upsert("orders", [order(7)]),
            lambda: run.delete("orders", [1]),
            lambda: run.load("orders", folder / "orders.csv"),
            lambda: run.sql("DELETE FROM orders WHERE id = 1"),
            run.step,
            run.commit,
            run.start,
            run.settle,
        ):
            with pytest.raises(PipelineError, match=rf"opened to be read.*restore .* --version {number}"):
                change()
    old.sql("CREATE MATERIALIZED VIEW later AS SELECT count(*) AS n FROM orders")
    with pytest.raises(PipelineError, match="lacks what was declared after it, or differently: later"):
        old.run()
    with pytest.raises(PipelineError, match="there is no version 99 to be opened"):
        Pipeline("shop", folder, workers=1, spark=spark, version=99)
    assert sorted(path for path in folder.rglob("*") if ".heartbeat" not in path.name) == before


def check_listing(folder: Path, listed: tuple[VersionInfo, ...]) -> None:
    shown = penstock("versions", str(folder))
    assert "keeps the last 4 versions, and those of the last 2 h" in shown and "newest" in shown
    found = json.loads(CliRunner().invoke(app, ["versions", str(folder), "--json"]).output)
    assert found["retain"] == {"versions": 4, "for_s": 7200.0}
    assert [(v["number"], v["own_bytes"]) for v in found["versions"]] == [
        (v.number, v.own_bytes) for v in listed
    ]


def check_restore(folder: Path, number: int, newest: int) -> None:
    command = ("restore", str(folder), "--version", str(number))
    asked = penstock(*command, code=1, answer="n\n")
    assert "3 steps will be undone: 3 to 5." in asked and "versions will be discarded" in asked
    assert f"Go back to version {number}?" in asked
    assert not (folder / "discarded").exists()
    done = penstock(*command, answer="y\n")
    assert f"Version {newest + 1} has the state of version {number}; the pipeline goes on with step 3" in done
    assert (folder / "discarded" / f"restore-{newest + 1:010d}" / "input").exists()
    assert "nothing to do" in penstock("restore", str(folder), "--version", str(newest + 1))
    assert "there is no version 77 to go back to" in penstock(
        "restore", str(folder), "--version", "77", code=1
    )


def test_nonsense_is_refused_before_anything_is_opened(folder: Path) -> None:
    for wrong in ({"retain_versions": 1}, {"retain_for": "soon"}):
        with pytest.raises(PipelineError, match="retain_"):
            Pipeline("shop", folder, **wrong)  # type: ignore[arg-type]
    assert not folder.exists()
    folder.mkdir()
    for verb in (("versions",), ("restore", "--version", "1")):
        assert "holds no pipeline" in penstock(verb[0], str(folder), *verb[1:], code=1)
