"""The verbs, used as a person would: a script, some files, one command after another."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from xml.etree import ElementTree

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

from penstock import __version__
from penstock.cli.main import app
from penstock.errors import PenstockError

_SCRIPT = """
CREATE TABLE orders (id BIGINT PRIMARY KEY, customer STRING, amount DECIMAL(12, 2));
CREATE TABLE visits (customer STRING);
CREATE MATERIALIZED VIEW revenue AS
  SELECT customer, count(*) AS orders, sum(amount) AS total FROM orders GROUP BY customer;
CREATE MATERIALIZED VIEW visitors AS SELECT DISTINCT customer FROM visits;
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: SparkSession) -> Iterator[Path]:
    """A folder to work in, with a script and a file of rows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    (tmp_path / "shop.sql").write_text(_SCRIPT)
    (tmp_path / "orders.csv").write_text("id,customer,amount\n1,Ada,20.00\n2,Ada,5.50\n3,Grace,12.25\n")
    yield tmp_path


def _penstock(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def _succeeds(*arguments: str) -> str:
    result = _penstock(*arguments)
    assert result.exit_code == 0, result.output
    return result.output


def _fails(*arguments: str) -> str:
    result = _penstock(*arguments)
    assert result.exit_code == 1, result.output
    assert "Traceback" not in result.output
    return " ".join(result.output.split())


def _revenue(path: Path) -> dict[str, Decimal]:
    rows = pq.read_table(path).to_pylist()
    return {row["customer"]: row["total"] for row in rows}


def test_runs_go_on_from_where_the_last_one_ended(folder: Path) -> None:
    first = _succeeds("run", "shop.sql", "--input", "orders=orders.csv", "--show", "revenue", "-w", "1")
    assert "25.50" in first and "State is in shop-state" in first
    (folder / "more.jsonl").write_text('{"id": 3, "customer": "Ada", "amount": "1.00"}\n')
    (folder / "gone.csv").write_text("id\n2\n99\n")
    second = _succeeds(
        "run",
        "shop.sql",
        "-i",
        "orders=more.jsonl",
        "-d",
        "orders=gone.csv",
        "--changes",
        "revenue",
        "-o",
        "revenue=revenue.parquet",
        "-w",
        "2",
    )
    assert "1 key to delete not found" in second
    assert "Grace" in second and "-1" in second
    assert _revenue(folder / "revenue.parquet") == {"Ada": Decimal("21.00")}


def test_rows_of_a_table_without_a_key_are_added(folder: Path) -> None:
    (folder / "visits.csv").write_text("customer\nAda\nAda\nGrace\n")
    out = _succeeds("run", "shop.sql", "-i", "visits=visits.csv", "--show", "visitors", "-w", "1")
    assert "visitors 2" in out


def test_status_and_verify_need_only_the_folder(folder: Path) -> None:
    _succeeds("run", "shop.sql", "-i", "orders=orders.csv", "-w", "1")
    shown = _succeeds("status", "shop-state")
    for expected in (
        "shop",
        "the state after step 1",
        "orders",
        "id, customer, amount",
        "0 steps in the input log",
    ):
        assert expected in shown
    checked = _succeeds("verify", "shop-state", "-w", "1")
    assert checked.count("✓") == 2
    assert _succeeds("verify", "shop-state", "revenue", "-w", "1").count("✓") == 1


def test_explain_tells_and_draws_without_leaving_anything_behind(folder: Path) -> None:
    text = _succeeds("explain", "shop.sql")
    assert "view revenue" in text and "view visitors" in text and "level 0" in text
    assert "view visitors" not in _succeeds("explain", "shop.sql", "--view", "REVENUE")
    assert _succeeds("explain", "shop.sql", "--mermaid").startswith("flowchart LR")
    _succeeds("explain", "shop.sql", "--graph", "shop.svg")
    words = [element.text for element in ElementTree.parse(folder / "shop.svg").iter() if element.text]
    assert {"orders", "revenue", "visitors", "aggregate", "level 1"} <= set(words)
    _succeeds("explain", "shop.sql", "--view", "revenue", "--graph", "shop.svg")
    words = [element.text for element in ElementTree.parse(folder / "shop.svg").iter() if element.text]
    assert {"shop: revenue", "orders", "revenue"} <= set(words) and not {"visits", "visitors"} & set(words)
    assert sorted(path.name for path in folder.iterdir()) == ["orders.csv", "shop.sql", "shop.svg"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (
            ("run", "shop.sql", "-i", "ordres=orders.csv"),
            "no ordres; did you mean orders? There are: orders, visits",
        ),
        (("run", "shop.sql", "-i", "orders=absent.csv"), "there is no file or folder absent.csv"),
        (("run", "shop.sql", "--show", "sales"), "no sales; there are: revenue, visitors"),
        (("explain", "shop.sql", "--view", "sales"), "no sales"),
        (("verify", "."), "holds no pipeline"),
        (("status", "."), "holds no pipeline"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_message(
    folder: Path, arguments: tuple[str, ...], complaint: str
) -> None:
    output = _fails(*arguments)
    assert output.startswith("Error:")
    assert complaint in output


def test_bad_rows_name_table_row_and_column_and_leave_everything_as_it_was(folder: Path) -> None:
    _succeeds("run", "shop.sql", "-i", "orders=orders.csv", "-w", "1")
    (folder / "bad.jsonl").write_text('{"id": 7, "customer": "Ada", "amount": "1"}\n{"id": null}\n')
    assert "table orders, row 1, column id" in _fails("run", "shop.sql", "-i", "orders=bad.jsonl", "-w", "1")
    assert "the state after step 1" in _succeeds("status", "shop-state")


def test_a_script_with_an_error_is_quoted(folder: Path) -> None:
    (folder / "bad.sql").write_text("CREATE TABLE t (a INT); CREATE MATERIALIZED VIEW v AS SELECT b FROM t;")
    assert "`b`" in _fails("explain", "bad.sql")


def test_an_edited_script_is_shown_and_replaced_on_request(folder: Path) -> None:
    _succeeds("run", "shop.sql", "-i", "orders=orders.csv", "-w", "1")
    edited = _SCRIPT.replace("sum(amount) AS total", "max(amount) AS total")
    (folder / "shop.sql").write_text(edited)
    refused = _penstock("run", "shop.sql", "-w", "1")
    assert refused.exit_code == 1
    assert "-SELECT customer, count(*) AS orders, sum(amount)" in refused.output
    assert "+SELECT customer, count(*) AS orders, max(amount)" in refused.output
    assert "penstock run --replace" in refused.output
    out = _succeeds("run", "shop.sql", "--replace", "-w", "1", "-o", "revenue=revenue.parquet")
    assert "Replaced, to be computed anew: revenue\n" in out
    assert _revenue(folder / "revenue.parquet")["Ada"] == Decimal("20.00")
    assert "Replaced" not in _succeeds("run", "shop.sql", "--replace", "-w", "1")


def test_the_version_is_told_at_once() -> None:
    assert _succeeds("--version") == f"penstock {__version__}\n"


def test_debug_lets_the_error_through(folder: Path) -> None:
    result = _penstock("--debug", "verify", ".")
    assert isinstance(result.exception, PenstockError)


def test_a_second_demo_goes_on_from_the_first(folder: Path) -> None:
    first = _succeeds("demo", "--steps", "4", "--orders", "60", "--workers", "1")
    assert "New shop" in first and first.count("✓") == 5
    assert "step    4/4" in first and "penstock-demo" in first
    second = _succeeds("demo", "--steps", "3", "--workers", "2", "--seed", "8")
    assert "Going on from step 5" in second and second.count("✓") == 5
    assert "the state after step 8" in _succeeds("status", "penstock-demo")


def test_the_demo_prints_its_script(folder: Path) -> None:
    script = _succeeds("demo", "--sql")
    assert script.count("CREATE MATERIALIZED VIEW") == 5 and script.count("CREATE TABLE") == 4


def test_status_and_profile_tell_where_the_time_went(folder: Path) -> None:
    (folder / "empty").mkdir()
    assert "holds no pipeline" in _fails("profile", "empty")
    (folder / "empty").rmdir()
    _succeeds("run", "shop.sql", "--input", "orders=orders.csv", "-w", "1")
    state = next(path for path in folder.iterdir() if path.is_dir())
    status = _succeeds("status", str(state))
    assert "last step" in status
    assert "3 rows in" in status
    shown = _succeeds("profile", str(state), "--svg", "profile.svg")
    assert "table orders by id" in shown
    assert "input log" in shown
    picture = ElementTree.parse(folder / "profile.svg").getroot()
    texts = [text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert "table orders by id" in texts
    assert "for revenue" in texts, "an operator's views are named"
