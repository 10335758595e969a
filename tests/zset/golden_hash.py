"""Writes golden_hash.json: ``python -m tests.zset.golden_hash``, once for each HASH_VERSION.

The file pins the hash for ever: rows on disk are placed by it. If the test that reads it fails, the code is
wrong, not the file. A new HASH_VERSION gets a new entry and keeps the old ones.
"""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa

from penstock.zset import HASH_VERSION, HashSeed, hash_columns
from tests.zset.zset_samples import SAMPLES

GOLDEN = Path(__file__).with_name("golden_hash.json")
SEED = HashSeed(0x0123456789ABCDEF, 0xFEDCBA9876543210)


def golden_hashes() -> dict[str, list[str]]:
    """For every sample, and for rows of several columns, the hashes as 32 hexadecimal digits."""
    cases = {name: [array] for name, array in SAMPLES.items()}
    cases["row"] = [SAMPLES[name].slice(0, 3) for name in ("int64", "string", "float64", "decimal", "struct")]
    hashes = {name: _hex(columns) for name, columns in cases.items()}
    hashes["no column"] = _hex([], 2)
    return hashes


def _hex(columns: list[pa.Array], rows: int | None = None) -> list[str]:
    result = hash_columns(columns, len(columns[0]) if rows is None else rows, SEED)
    return [f"{hi:016x}{lo:016x}" for hi, lo in zip(result.hi.tolist(), result.lo.tolist(), strict=True)]


if __name__ == "__main__":
    content = {"version": HASH_VERSION, "seed": SEED.to_hex(), "hashes": golden_hashes()}
    GOLDEN.write_text(json.dumps(content, indent=1) + "\n")
