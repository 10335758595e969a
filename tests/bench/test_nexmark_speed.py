"""Nexmark's measurement: what it feeds, how it reads and compares answers, and what its tables say."""

from __future__ import annotations

import json
import math
import sys
import time
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from bench.nexmark.answers import EQUAL, compared, from_batches, from_debezium, from_diffs
from bench.nexmark.data import columns, queries
from bench.nexmark.files import Files, written
from bench.nexmark.kept import Kept, commits
from bench.nexmark.measured import Inputs, Measured, Round
from bench.nexmark.ours import measured
from bench.nexmark.rounds import run_round, slope
from bench.nexmark.speed import results
from bench.nexmark.systems import PEER_SYSTEMS
from bench.peers.watch import PeerFailedError, Watched, watch
from penstock.oracle import difference
from penstock.sql.session import active_session_kept

START = datetime(2015, 7, 15, tzinfo=UTC)
SCHEMA = pa.schema([("k", pa.int64()), ("at", pa.timestamp("us", "UTC")), ("p", pa.decimal128(12, 3))])


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return written(2000, "parquet", group=600, root=tmp_path_factory.mktemp("events"))


@pytest.mark.parametrize("query", ["q12", "q20"])
def test_all_events_reach_the_view(spark: SparkSession, files: Files, tmp_path: Path, query: str) -> None:
    request = {
        "query": query,
        "tables": {name: [str(path) for path in files.of(name)] for name in columns(query)},
        "workers": 2,
        "answer": str(tmp_path / "answer.parquet"),
    }
    found = measured(request)
    assert len(found["steps"]) == 4 and found["seconds"] == pytest.approx(sum(found["steps"]))
    with active_session_kept(spark):
        beside = spark.newSession()  # others find their catalogue as they left it
        for name in columns(query):
            beside.read.parquet(str(files.folder_of(name))).createOrReplaceTempView(name)
        expected = beside.sql(next(each.sql for each in queries() if each.name == query)).toArrow()
    answer = pq.read_table(tmp_path / "answer.parquet")
    assert len(answer) and difference(answer, expected.cast(answer.schema)) is None


def test_queries_read_tables_and_not_columns_of_the_same_name() -> None:
    assert list(columns("q00")) == ["bid"]
    assert columns("q13")["side_input"] == {"key": "BIGINT", "value": "STRING"}
    assert {name: len(found) for name, found in columns("q08").items()} == {"person": 8, "auction": 10}


def test_a_smaller_input_is_the_beginning_of_a_larger_one(files: Files, tmp_path: Path) -> None:
    less = written(600, "parquet", group=600, root=tmp_path)
    assert pq.read_table(less.of("bid")[0]) == pq.read_table(files.of("bid")[0])
    assert [len(files.of(name)) for name in ("person", "auction", "bid", "side_input")] == [4, 4, 4, 1]


def test_a_log_of_changes_is_folded(tmp_path: Path) -> None:
    first = {"a": 1, "b": "2015-07-15 00:00:00.5", "c": 0.5}
    second = {"a": 2, "b": "2015-07-15 00:00:01", "c": 1}
    lines = [(None, first, "c"), (first, None, "d"), (None, second, "c")]
    (tmp_path / "part").write_text(
        "\n".join(json.dumps({"before": before, "after": after, "op": op}) for before, after, op in lines)
    )
    assert compared(_rows((2, 1_000_000, 1)), from_debezium(tmp_path, SCHEMA)) == EQUAL
    assert compared(_rows((2, 1_000_000, 2)), from_debezium(tmp_path, SCHEMA)).startswith("DIFFERS")


def test_floating_point_prices_are_rounded_to_decimals(tmp_path: Path) -> None:
    path = tmp_path / "answer.jsonl"
    start = int(START.timestamp() * 1e6)
    path.write_text(json.dumps({"k": 1, "at": start, "p": 0.1 + 0.2, "diff": 1, "time": 0}) + "\n")
    assert pa.types.is_decimal(from_diffs(path, SCHEMA)[0].schema.field("p").type)
    assert str(from_diffs(path, SCHEMA)[0]["p"][0]) == "0.300"


def test_the_newest_batch_of_a_key_counts(tmp_path: Path) -> None:
    for batch, rows in enumerate([_rows((1, 0, 1), (2, 0, 1)), _rows((1, 5, 9))]):
        numbered = rows.append_column("_batch", pa.array(np.full(len(rows), batch)))
        pq.write_table(numbered, tmp_path / f"{batch}.parquet")
    assert compared(_rows((1, 5, 9), (2, 0, 1)), from_batches(tmp_path, SCHEMA, ["k"])) == EQUAL
    assert compared(_rows((1, 5, 9)), from_batches(tmp_path, SCHEMA, ["k"])) != EQUAL


def test_windows_held_back_are_not_missed_but_others_are(tmp_path: Path) -> None:
    ours = _rows((1, 0, 1), (2, 100_000_000, 1), (3, 170_000_000, 1))
    for kept, equal in ((2, True), (1, False)):
        pq.write_table(
            ours.slice(0, kept).append_column("_batch", pa.array([0] * kept)), tmp_path / "0.parquet"
        )
        answer = compared(ours, from_batches(tmp_path, SCHEMA, []), held_back="at")
        assert answer.startswith(EQUAL) is equal


def _rows(*rows: tuple[int, int, int]) -> pa.Table:
    """Keys, microseconds and prices."""
    made = [{"k": k, "at": START + timedelta(microseconds=us), "p": Decimal(price)} for k, us, price in rows]
    return pa.Table.from_pylist(made, schema=SCHEMA)


def test_starting_up_drops_out_of_the_slope() -> None:
    assert slope(100, 10.1, 1100, 11.1) == (1000.0, False)
    assert slope(100, 10.1, 1100, 10.0) == (110.0, True)


def _ran(*rates: float, variant: str = "", answer: str = EQUAL, flat: bool = False) -> Measured:
    return Measured([Round(rate, 1, 1, flat) for rate in rates], variant, answer=answer)


def test_the_slowest_query_that_both_run_decides() -> None:
    inputs = {
        "q00": Inputs(100, 1000, 10, 60),
        "q01": Inputs(10, 100, 10, 60),
        "q06": Inputs(10, 100, 10, 60),
    }
    found = {
        "q00": {
            "penstock": _ran(1000.0, 1000.0, 900.0, 5000.0),
            "flink": _ran(100.0, 300.0, 50.0, variant="heap", flat=True),
        },
        "q01": {"penstock": _ran(1000.0), "flink": _ran(400.0, answer="DIFFERS: 1 row")},
        "q06": {"penstock": _ran(10.0), "flink": Measured(error="not done after 60 s")},
    }
    result, answers = results(found, {"flink": PEER_SYSTEMS["flink"]}, inputs)
    assert result.figure == 2.5 and result.met
    assert "between 10 and 100 events (q00: between 100 and 1,000). PyFlink" in result.what
    assert answers.figure == 1 and not answers.met and answers.what.endswith("of 2")
    assert answers.notes == ["q01, PyFlink: DIFFERS: 1 row"]
    assert [row["ratio"] for row in result.rows] == [10.0, 2.5, "-"]
    assert [(row["from"], row["to"], row["rounds"]) for row in result.rows] == [
        (3.0, 100.0, 3),
        (2.5, 2.5, 1),
        ("-", "-", 0),
    ]
    assert [row["answers"] for row in result.rows] == [EQUAL, "DIFFERS", "not done after 60 s"]
    assert "q00: PyFlink took no longer for the larger input in 3 of 3 rounds" in result.table()
    assert "q01: DIFFERS: 1 row" in result.table() and result.rows[0]["variant"] == "heap"


def test_a_query_that_only_the_peer_runs_misses_the_goal() -> None:
    found = {"q00": {"penstock": Measured(error="refused"), "spark": _ran(5.0)}}
    result, _ = results(found, {"spark": PEER_SYSTEMS["spark"]}, {"q00": Inputs(10, 100, 10, 60)})
    assert result.figure == 0 and not result.met


def test_a_peer_that_runs_nothing_proves_nothing() -> None:
    found = {"q00": {"penstock": _ran(5.0), "spark": Measured(error="no")}}
    result, _ = results(found, {"spark": PEER_SYSTEMS["spark"]}, {"q00": Inputs(10, 100, 10, 60)})
    assert math.isnan(result.figure) and not result.met


class Told:
    """A system whose runs take as long as they are told; None fails."""

    name, format, goal = "Told", "parquet", 1.0

    def __init__(self, **seconds: float | None) -> None:
        self.seconds, self.asked = seconds, list[str]()

    def variants(self, query: str) -> list[str]:
        return ["slow", "quick"]

    def run(self, query: str, files: Files, variant: str, answer: object, *, timeout_s: float) -> Watched:
        assert isinstance(files, int)  # the size: see below
        self.asked.append(f"{variant} {files}")
        seconds = self.seconds[variant]
        if seconds is None:
            raise PeerFailedError("out of luck")
        return Watched({"seconds": seconds * files}, 1.0, 1.0)


def test_the_fastest_variant_is_found_in_the_first_round_and_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Inputs, "files", lambda self, system, size: size)
    monkeypatch.setattr("bench.nexmark.rounds.Penstock", lambda: Told(slow=1.0, quick=0.5))
    monkeypatch.setattr("bench.nexmark.rounds._our_answer", lambda *given: None)
    inputs, peer = Inputs(10, 100, 10, 60), Told(slow=2.0, quick=1.0)
    first = run_round("q00", 0, {"told": peer}, inputs, {})  # type: ignore[dict-item]
    assert peer.asked == ["slow 10", "quick 10", "quick 100"]
    assert first["told"].rate == 1.0 and first["penstock"].rate == 2.0 and first["told"].answer
    again = run_round("q00", 1, {"told": peer}, inputs, first)  # type: ignore[dict-item]
    assert peer.asked[3:] == ["quick 10", "quick 100"] and len(again["told"].rounds) == 2
    peer.seconds = {"quick": None}
    third = run_round("q00", 2, {"told": peer}, inputs, again)  # type: ignore[dict-item]
    assert third["told"].failures == ["out of luck"] and third["told"].rate == 1.0
    never = run_round("q00", 0, {"told": Told(slow=None, quick=None)}, inputs, {})  # type: ignore[dict-item]
    assert never["told"].error == "out of luck" and not never["told"].ran


def test_nobody_always_comes_after_the_same_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Inputs, "files", lambda self, system, size: size)
    monkeypatch.setattr("bench.nexmark.rounds.Penstock", lambda: Told(slow=1.0, quick=0.5))
    monkeypatch.setattr("bench.nexmark.rounds._our_answer", lambda *given: None)
    peers = {name: Told(slow=2.0, quick=1.0) for name in ("a", "b", "c")}
    orders = [
        list(run_round("q00", turn, peers, Inputs(10, 100, 10, 60), {}))  # type: ignore[arg-type]
        for turn in range(4)
    ]
    assert [order[0] for order in orders] == ["penstock", "a", "b", "c"]
    assert all(sorted(order) == ["a", "b", "c", "penstock"] for order in orders)
    followed = {order[order.index("penstock") - 1] for order in orders if order[0] != "penstock"}
    assert followed == {"a", "c"}


def test_files_are_read_ahead_whole(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Path] = []
    plain = Path.open

    def noted(path: Path, *arguments: object, **options: object) -> object:
        opened.append(path)
        return plain(path, *arguments, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", noted)
    files.read_ahead()
    assert opened == sorted(
        path for name in ("auction", "bid", "person", "side_input") for path in files.of(name)
    )


def test_memory_and_time_of_descendants_are_counted() -> None:
    hungry = "import time; x = bytearray(200_000_000)\nwhile time.process_time() < 0.7: pass"
    program = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {hungry!r}]); print('{{}}')"
    seen = watch([sys.executable, "-c", program], {}, timeout_s=20)
    assert seen.answer == {} and seen.peak_mb > 200 and seen.cpu_s > 0.3


def test_errors_and_endless_runs_are_told_in_one_line() -> None:
    with pytest.raises(PeerFailedError, match=r"^no such thing$"):
        watch([sys.executable, "-c", 'print(\'{"error": "no such thing\\\\n  at x"}\')'], {}, timeout_s=20)
    with pytest.raises(PeerFailedError, match="ended with 3: oh"):
        watch(
            [sys.executable, "-c", "import sys; print('oh', file=sys.stderr); sys.exit(3)"], {}, timeout_s=20
        )
    started = time.monotonic()
    with pytest.raises(PeerFailedError, match=r"not done after 0\.5 s"):
        watch([sys.executable, "-c", "import time; time.sleep(60)"], {}, timeout_s=0.5)
    assert time.monotonic() - started < 10


def test_measurements_are_kept_and_found_again_for_the_same_sizes(tmp_path: Path) -> None:
    inputs = Inputs(small=1, large=10, group=5, timeout_s=9)
    where = {"folder": tmp_path / "own", "published": tmp_path / "all"}
    kept = Kept.of(inputs, **where)
    assert kept.rounds("q01", ["penstock"]) == 0
    kept.add("q01", {"penstock": Measured([Round(5.0, 1.0, 0.5, commit="0123abc")], "heap", failures=["no"])})
    kept.add("q02", {"penstock": Measured(error="it cannot"), "flink": _ran(1.0)})
    again = Kept.of(inputs, **where)
    assert again.queries == kept.queries
    assert again.rounds("q01", ["penstock"]) == 2  # one of them failed
    assert again.rounds("q02", ["penstock", "flink"]) == 1  # who cannot is not waited for
    assert again.rounds("q02", ["penstock", "spark"]) == 0
    assert commits(again.queries) == ["commit 0123abc: q01 (1)"]
    larger = Inputs(small=1, large=11, group=5, timeout_s=9)
    assert not Kept.of(larger, **where).queries
    assert list(Kept.of(inputs, forgotten=["q01"], **where).queries) == ["q02"]
    again.publish()
    elsewhere = Kept.of(inputs, folder=tmp_path / "none", published=tmp_path / "all")
    assert elsewhere.queries == kept.queries
