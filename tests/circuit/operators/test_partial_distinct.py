"""Equal rows, summed up before they travel: the same Z-set, each row once."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.circuit.delta import Delta
from penstock.circuit.operators import PartialDistinct
from penstock.zset import hash_columns
from tests.circuit.alone import SEED, Alone, Change, delta, meaning

SCHEMA = pa.schema([("s", pa.string()), ("n", pa.int64())])
ROW = st.tuples(st.sampled_from(["a", "b", "", None]), st.sampled_from([0, 1, None]))


@given(change=st.lists(st.tuples(ROW, st.sampled_from([1, 2, -1])), max_size=30))
@settings(deadline=None, max_examples=200)
def test_each_row_travels_once_and_what_cancels_out_not_at_all(change: Change) -> None:
    given_rows = delta(SCHEMA, change, [0, 1])
    found = Alone(PartialDistinct(SCHEMA)).step(given_rows)
    assert isinstance(found, Delta) and found.keys is not None
    assert meaning(found) == meaning(given_rows)
    keys = hash_columns(found.zset.columns, len(found), SEED)
    assert (keys.hi == found.keys.hi).all() and (keys.lo == found.keys.lo).all()
    if len(found) < len(change):
        assert len({*zip(keys.hi.tolist(), keys.lo.tolist(), strict=True)}) == len(found)
        assert (found.zset.weights != 0).all()
