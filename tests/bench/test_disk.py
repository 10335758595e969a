"""The breakdown of a state folder accounts for every byte of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from pyspark.sql import SparkSession

import penstock as ps
from bench.disk.bikes import SCRIPT, stations, trips
from bench.disk.breakdown import broken_down


def test_every_byte_is_accounted_for(spark: SparkSession, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    pipe = ps.Pipeline("bikes", storage=tmp_path / "state", workers=2, spark=spark)
    pipe.sql(SCRIPT)
    with pipe.run() as run:
        run.upsert("stations", stations(rng))
        run.upsert("trips", trips(rng, 3000))
        run.step()
        run.commit()
        assert all(run.verify())
        run.kill()
    parts = broken_down(tmp_path / "state", pipe.program())
    files = [path for path in (tmp_path / "state").rglob("*") if path.is_file()]
    assert sum(part.size for part in parts) == sum(path.stat().st_size for path in files)
    kept = {part.group: part for part in parts if part.what == "values"}
    assert kept["table trips by ride"].rows == 3000 and kept["view named_trips"].rows == 3000
    assert {part.what for part in parts if part.group == "changes of views"} >= {"routes", "idle", "longest"}
