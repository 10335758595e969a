"""The command line: builds the pipeline, or looks at a state folder that is there."""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import penstock as ps
from bench.disk.bikes import SCRIPT, stations, trips
from bench.disk.breakdown import Part, broken_down

MB = 1e6
FILES, CORRECTIONS, CORRECTED = 4, 20, 200


def main() -> None:
    """Prints where the bytes are."""
    parser = argparse.ArgumentParser(prog="python -m bench.disk", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="a state folder; without one, one is built")
    parser.add_argument("--rows", type=int, default=500_000, help="trips to build (default 500000)")
    parser.add_argument("--compact", action="store_true", help="build it with compact storage")
    options = parser.parse_args()
    if options.folder is not None:
        _print(broken_down(options.folder), 0)
        return
    with tempfile.TemporaryDirectory(prefix="penstock-disk-") as name:
        _build(Path(name), options.rows, compact=options.compact)


def _build(folder: Path, rows: int, *, compact: bool) -> None:
    """A month of trips from four files, a version after each; then small corrections, one a step."""
    rng = np.random.default_rng(28)
    pipe = ps.Pipeline("bikes", storage=folder / "state", workers=2, compact=compact)
    pipe.sql(SCRIPT)
    every = pa.Table.from_batches([trips(rng, rows)])
    parquet = 0
    with pipe.run() as run:
        run.upsert("stations", stations(rng))
        for number in range(FILES):
            path = folder / f"trips-{number}.parquet"
            part = every.slice(number * rows // FILES, (number + 1) * rows // FILES - number * rows // FILES)
            pq.write_table(part, path, compression="snappy")
            parquet += path.stat().st_size
            run.load("trips", path)
            run.step()
            run.commit()
        _print(broken_down(folder / "state", pipe.program()), parquet, "after the load")
        for _ in range(CORRECTIONS):
            run.upsert("trips", _corrected(every, rng))
            run.step()
        run.settle()
        run.commit()
        _print(broken_down(folder / "state", pipe.program()), parquet, "right after everything was merged")
        run.upsert("trips", _corrected(every, rng))
        run.step()
        run.commit()
        _print(broken_down(folder / "state", pipe.program()), parquet, "a version later")
        run.kill()


def _corrected(every: pa.Table, rng: np.random.Generator) -> pa.Table:
    """Some trips that ended a minute later than was thought."""
    some = every.take(pa.array(rng.integers(0, every.num_rows, CORRECTED)))
    place = some.schema.get_field_index("ended")
    later = pc.add(some["ended"], pa.scalar(timedelta(minutes=1)))
    return some.set_column(place, some.schema.field(place), later.cast(some.schema.field(place).type))


def _print(parts: Sequence[Part], parquet: int, moment: str = "") -> None:
    whole = sum(part.size for part in parts)
    print(f"\n## {moment}\n\n{whole / MB:.1f} MB")
    if parquet:
        print(f"{whole / parquet:.1f} times the Parquet that the trips came from ({parquet / MB:.1f} MB)")
    print()
    for heading, by in (("what", _by_kind(parts)), ("where", _by_group(parts))):
        print(f"| {heading} | MB | share | rows |\n|---|---|---|---|")
        for title, (size, rows) in sorted(by.items(), key=lambda item: -item[1][0]):
            print(f"| {title} | {size / MB:.1f} | {size / whole:.1%} | {rows or ''} |")
        print()


def _by_kind(parts: Sequence[Part]) -> dict[str, tuple[int, int]]:
    """By what bytes are, whichever operator keeps them."""

    def title(part: Part) -> str:
        if part.group == "changes of views":
            return part.group
        return part.what if part.group in ("files", "not in the newest version") else f"state: {part.what}"

    return _summed((title(part), part) for part in parts)


def _by_group(parts: Sequence[Part]) -> dict[str, tuple[int, int]]:
    return _summed((part.group, part) for part in parts)


def _summed(parts: Iterable[tuple[str, Part]]) -> dict[str, tuple[int, int]]:
    sizes: Counter[str] = Counter()
    rows: Counter[str] = Counter()
    for title, part in parts:
        sizes[title] += part.size
        rows[title] += part.rows
    return {title: (size, rows[title]) for title, size in sizes.items() if size}


if __name__ == "__main__":
    main()
