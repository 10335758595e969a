"""``penstock check`` and ``penstock inspect`` on folders that a real run made."""

from __future__ import annotations

import json
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from xml.etree import ElementTree

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

import penstock as ps
from penstock.cli.main import app
from penstock.schedule.stored_version import stored_versions
from penstock.storage import LocalBackend

SCRIPT = """
CREATE TABLE orders (id BIGINT PRIMARY KEY, customer STRING, amount DECIMAL(12, 2));
CREATE MATERIALIZED VIEW revenue AS
  SELECT customer, count(*) AS orders, sum(amount) AS total FROM orders GROUP BY customer;
CREATE MATERIALIZED VIEW large AS SELECT id FROM orders WHERE amount > 15;
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Path:
    """A folder with two versions, and a step that neither has."""
    folder = tmp_path_factory.mktemp("made") / "shop-state"
    pipe = ps.Pipeline("shop", storage=folder, workers=2, spark=spark, commit_interval_s=3600)
    pipe.sql(SCRIPT)
    with pipe.run() as run:
        for step in range(4):
            rows = [{"id": step * 40 + i, "customer": f"c{i % 7}", "amount": Decimal(i)} for i in range(50)]
            run.upsert("orders", rows)
            run.step()
            if step < 3:
                run.commit()
        run.kill()
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy, to be damaged."""
    monkeypatch.setenv("COLUMNS", "200")
    subprocess.run(["cp", "-r", made, tmp_path / "shop-state"], check=True)
    return tmp_path / "shop-state"


def _penstock(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def _flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 4
    path.write_bytes(content)


def _segment_of(folder: Path, operator: str) -> tuple[Path, int, str]:
    """The file, block and arrangement of some batch of an operator in the newest version."""
    newest = stored_versions(LocalBackend(folder))[-1]
    for slot, refs in newest.arrangements.items():
        if newest.owner(slot).operator.startswith(operator) and refs:
            return folder / refs[0].segment, refs[0].entry, slot
    raise AssertionError(f"no batch of {operator}")


def test_a_sound_folder(folder: Path) -> None:
    result = _penstock("check", folder)
    assert result.exit_code == 0, result.output
    assert "is sound: 2 versions of shop" in result.output
    report = json.loads(_penstock("check", folder, "--json").stdout)
    assert report["sound"] is True and report["problems"] == [] and report["rows"] > 200


def test_damage_names_file_block_arrangement_and_views(folder: Path) -> None:
    path, block, slot = _segment_of(folder, "aggregate")
    _flip(path, 64 + 300)
    result = _penstock("check", folder)
    assert result.exit_code == 1
    report = json.loads(_penstock("check", folder, "--json").stdout)
    [problem] = report["problems"]
    assert problem["file"] == f"segments/{path.name}" and problem["block"] is not None
    assert problem["what"] in result.output and "1 problem in" in result.output
    _flip(path, 64 + 300)
    _flip(path, path.stat().st_size - 1)  # the trailer: all of the file is lost
    [problem] = json.loads(_penstock("check", folder, "--json").stdout)["problems"]
    assert slot in problem["arrangements"] and "revenue" in problem["views"]
    assert "revenue" in _penstock("check", folder).output
    assert block >= 0


@pytest.mark.parametrize(
    ("spoiled", "complaint"),
    [("manifest", "is damaged: its checksum is"), ("input", "damaged"), ("segments", "cannot be read")],
)
def test_each_kind_of_file_is_read(folder: Path, spoiled: str, complaint: str) -> None:
    if spoiled == "segments":
        _segment_of(folder, "table")[0].unlink()
    else:
        path = next(path for path in sorted((folder / spoiled).iterdir()) if path.stat().st_size > 200)
        _flip(path, path.stat().st_size // 2)
    result = _penstock("check", folder)
    assert result.exit_code == 1
    assert f"{spoiled}/" in result.output and complaint in " ".join(result.output.split())


def test_acknowledged_steps_that_are_gone_are_damage(folder: Path) -> None:
    sorted((folder / "input").iterdir())[-1].unlink()
    result = _penstock("check", folder)
    assert result.exit_code == 1
    assert "step 4, which had been acknowledged, cannot be found in the input log" in result.output


def test_files_that_belong_to_nobody_are_listed_and_no_error(folder: Path) -> None:
    (folder / "segments" / "notes.txt").write_text("mine")
    (folder / "segments" / "0000000099-w0000-000000000000.seg").write_bytes(b"half a segment")
    (folder / ".tmp").mkdir(exist_ok=True)
    (folder / ".tmp" / "x.seg.0123").write_bytes(b"left")
    last = sorted((folder / "input").iterdir())[-1]
    last.write_bytes(last.read_bytes() + b"PENSTFRM half a frame")
    result = _penstock("check", folder)
    assert result.exit_code == 0, result.output
    for expected in ("notes.txt: not a file of Penstock", "no version refers to this", ".tmp/x.seg.0123"):
        assert expected in result.output
    assert "incomplete and is cut by the next step" in result.output


def test_a_folder_without_a_pipeline(tmp_path: Path) -> None:
    for verb in ("check", "inspect"):
        result = _penstock(verb, tmp_path)
        assert result.exit_code == 1 and "holds no pipeline" in result.output


def test_a_folder_whose_versions_are_gone_is_damaged(folder: Path) -> None:
    for path in (folder / "manifest").iterdir():
        path.unlink()
    assert "no version is left" in _penstock("check", folder).output


def test_inspect_shows_operators_views_batches_and_segments(folder: Path) -> None:
    shown = _penstock("inspect", folder).output
    for expected in (
        "the state after step 3",
        "table orders",
        "for revenue",
        "segments/",
        "garbage",
        "input",
    ):
        assert expected in shown, shown
    found = json.loads(_penstock("inspect", folder, "--json").stdout)
    files = list((folder / "segments").iterdir())
    assert sum(segment["size"] for segment in found["segments"]) == sum(p.stat().st_size for p in files)
    orders = next(a for a in found["arrangements"] if a["owner"]["operator"].startswith("table orders"))
    assert orders["rows"] >= 130 and set(orders["owner"]["views"]) == {"revenue", "large"}
    assert sum(batch["rows"] for batch in orders["batches"]) == orders["rows"]


def test_inspect_prints_rows_of_an_arrangement(folder: Path) -> None:
    _, _, slot = _segment_of(folder, "table orders")
    result = _penstock("inspect", folder, "--rows", slot[:20])
    assert result.exit_code == 0, result.output
    assert "table orders" in result.output and "order" in result.output and "weight" in result.output
    assert "no arrangement begins with zz" in _penstock("inspect", folder, "--rows", "zz").output


def test_inspect_draws_the_spines(folder: Path) -> None:
    picture = folder / "spines.svg"
    assert _penstock("inspect", folder, "--graph", picture).exit_code == 0
    root = ElementTree.parse(picture).getroot()
    batches = json.loads(_penstock("inspect", folder, "--json").stdout)["arrangements"]
    drawn = [e for e in root.iter() if e.tag.endswith("rect") and len(e)]
    assert len(drawn) == 4 + sum(len(found["batches"]) for found in batches)


def test_arrangements_are_shown_by_name_if_the_metrics_are_gone(folder: Path) -> None:
    newest = stored_versions(LocalBackend(folder))[-1]
    assert newest.owners
    for file in (folder / "metrics").iterdir():
        file.unlink()
    slot = next(iter(newest.arrangements))
    assert slot in _penstock("inspect", folder).output
    assert _penstock("check", folder).exit_code == 0


def test_neither_needs_a_jvm(folder: Path) -> None:
    code = (
        "import sys\nfrom penstock.cli.main import app\n"
        "for verb in ('check', 'inspect'):\n"
        "    try:\n        app([verb, sys.argv[1]])\n"
        "    except SystemExit as end:\n        assert not end.code\n"
        "from pyspark import SparkContext\nassert SparkContext._gateway is None\n"
    )
    done = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
