"""The last check of a column finds what Arrow's full validation finds, by a cheaper look where it can."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from pyspark.sql.types import StringType, StructField

from penstock.intake.columns import checked_column
from penstock.intake.refusal import RefusedError

FIELD = StructField("t", StringType())


@given(
    st.lists(st.binary(max_size=3), max_size=4),
    st.lists(st.integers(0, 9), max_size=3),
    st.sampled_from([None, b"\xff", b"\xfe"]),
    st.integers(0, 2),
)
def test_it_agrees_with_a_full_validation(
    texts: list[bytes], moved: list[int], validity: bytes | None, start: int
) -> None:
    """Bytes that may be no text, offsets that may lie, NULLs, and a part of the array."""
    ends = np.cumsum([0, *map(len, texts)], dtype=np.int32)
    for place, end in enumerate(moved[: len(ends)]):
        ends[place] = end
    present = None if validity is None else pa.py_buffer(validity)
    buffers = [present, pa.py_buffer(ends), pa.py_buffer(b"".join(texts))]
    try:
        array = pa.Array.from_buffers(pa.string(), len(texts), buffers).slice(start)
    except pa.ArrowInvalid:  # Arrow itself looks at the ends
        reject()
    try:
        array.validate(full=True)
        fits = True
    except pa.ArrowInvalid:
        fits = False
    if fits:
        assert checked_column(array, FIELD, in_key=False) is array
    else:
        with pytest.raises(RefusedError, match="not valid"):
            checked_column(array, FIELD, in_key=False)


@pytest.mark.parametrize("text", [b"\xff", b"a\x80", b"\xc3"])
def test_bytes_that_are_no_text_are_refused(text: bytes) -> None:
    array = pa.array([b"plain", text]).view(pa.string())
    with pytest.raises(RefusedError, match="not valid"):
        checked_column(array, FIELD, in_key=False)
    assert checked_column(array.slice(0, 1), FIELD, in_key=False).to_pylist() == ["plain"]


def test_text_beyond_ascii_is_let_in() -> None:
    array = pa.array(["plain", "größer", "", "漢字", None])
    assert checked_column(array, FIELD, in_key=False) is array
