"""The hash: stable for ever, equal exactly where Spark's grouping is, and good in every bit."""

from __future__ import annotations

import json
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.zset import HASH_VERSION, Hashes, HashSeed, hash_columns
from penstock.zset.reference import canonical
from tests.zset.golden_hash import GOLDEN, SEED, golden_hashes
from tests.zset.zset_samples import SAMPLES, typed_columns


def hashes_of(*columns: pa.Array, seed: HashSeed = SEED) -> list[tuple[int, int]]:
    result = hash_columns(columns, len(columns[0]), seed)
    return list(zip(result.hi.tolist(), result.lo.tolist(), strict=True))


def test_hashes_are_those_of_every_earlier_release() -> None:
    golden = json.loads(GOLDEN.read_text())
    assert golden["version"] == HASH_VERSION
    assert golden["seed"] == SEED.to_hex()
    assert golden_hashes() == golden["hashes"]


@pytest.mark.parametrize("name", SAMPLES)
def test_equal_values_and_only_those_hash_equal(name: str) -> None:
    array = SAMPLES[name]
    by_value: dict[object, set[tuple[int, int]]] = {}
    for value, pair in zip(array.to_pylist(), hashes_of(array), strict=True):
        by_value.setdefault(canonical(value), set()).add(pair)
    assert all(len(pairs) == 1 for pairs in by_value.values())
    lanes = list(zip(*(pairs.pop() for pairs in by_value.values()), strict=True))
    assert all(len(set(lane)) == len(by_value) for lane in lanes), "a single lane tells the samples apart"


@pytest.mark.parametrize("name", SAMPLES)
def test_slices_hash_like_the_rows_they_show(name: str) -> None:
    array = SAMPLES[name]
    padded = pa.concat_arrays([array, array, array])
    whole = hashes_of(array)
    for start in range(len(array)):
        assert hashes_of(padded.slice(len(array) + start, len(array) - start)) == whole[start:]
        assert hashes_of(array.slice(start, 1)) == whole[start : start + 1]
    assert hashes_of(array.slice(0, 0)) == []


@given(typed_columns())
def test_row_hashes_agree_with_the_reference_equality(data: tuple[pa.Schema, list[list[object]]]) -> None:
    schema, columns = data
    arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    rows = [tuple(map(canonical, row)) for row in zip(*(a.to_pylist() for a in arrays), strict=True)]
    pairs = hashes_of(*arrays)
    assert len(set(zip(rows, pairs, strict=True))) == len(set(rows)) == len(set(pairs))


def test_all_nan_and_both_zeros_hash_alike_in_both_widths() -> None:
    payloads = np.array([0x7FF8000000000000, 0x7FF0000000000001, 0xFFFFFFFFFFFFFFFF], np.uint64).view(
        np.float64
    )
    assert len(set(hashes_of(pa.array(payloads)))) == 1
    doubles, singles = (
        pa.array([0.0, -0.0, float("nan"), 0.5], kind) for kind in (pa.float64(), pa.float32())
    )
    assert hashes_of(doubles) == hashes_of(singles)
    assert len(set(hashes_of(doubles))) == 3


def test_width_of_an_integer_does_not_matter() -> None:
    expected = hashes_of(pa.array([-5, 0, 127, None], pa.int64()))
    for kind in (pa.int8(), pa.int16(), pa.int32()):
        assert hashes_of(pa.array([-5, 0, 127, None], kind)) == expected


def test_decimals_hash_by_value_whatever_their_precision() -> None:
    values = [Decimal("-12.34"), Decimal("0.00"), Decimal("99.99"), None]
    assert hashes_of(pa.array(values, pa.decimal128(4, 2))) == hashes_of(
        pa.array(values, pa.decimal128(38, 2))
    )


def test_wide_decimals_that_share_a_half_differ() -> None:
    halves = [0, 1, -1, 2**63, -(2**63), 2**64, -(2**64), 2**64 + 1, 2**64 - 1, 3 * 2**64 + 1]
    pairs = hashes_of(pa.array([Decimal(n) for n in halves], pa.decimal128(38, 0)))
    assert len({hi for hi, _ in pairs}) == len({lo for _, lo in pairs}) == len(halves)


@pytest.mark.parametrize("name", ["string", "int64", "struct", "list", "decimal"])
def test_dictionary_encoding_does_not_matter(name: str) -> None:
    array = SAMPLES[name]
    picks = pa.array([*range(len(array)), None, *range(len(array))], pa.int32())
    encoded = pa.DictionaryArray.from_arrays(picks, array)
    assert hashes_of(encoded) == hashes_of(array.take(picks))
    assert hashes_of(encoded.slice(3, 2)) == hashes_of(array.take(picks).slice(3, 2))


def test_bytes_under_null_do_not_show() -> None:
    valid = pa.py_buffer(b"\x02")  # only row 1
    for width, kind in ((8, pa.int64()), (8, pa.float64()), (16, pa.decimal128(38, 0))):
        noisy, clean = (
            pa.Array.from_buffers(kind, 2, [valid, pa.py_buffer(fill * width + b"\1" * width)])
            for fill in (b"\x55", b"\0")
        )
        assert hashes_of(noisy) == hashes_of(clean)
    hidden = pa.StructArray.from_arrays([pa.array([7, 1])], ["a"], mask=pa.array([True, False]))
    assert hashes_of(hidden)[0] == hashes_of(pa.array([None], hidden.type))[0]


@pytest.mark.parametrize("seam", [0, 1, 7, 8, 9, 63, 64, 65, 72, 73, 200])
def test_every_byte_and_the_length_of_a_string_count(seam: int) -> None:
    texts = {b"x" * seam, b"x" * seam + b"\0", b"x" * seam + b"y", b"x" * (seam + 1), b"x" * seam + b"\0" * 9}
    assert len(set(hashes_of(pa.array(sorted(texts))))) == len(texts)


@given(st.lists(st.binary(max_size=300), max_size=8), st.integers(0, 3))
def test_a_string_hashes_the_same_alone_and_in_company(texts: list[bytes], skip: int) -> None:
    together = hashes_of(pa.array(texts, pa.binary()).slice(min(skip, len(texts))))
    assert together == [hashes_of(pa.array([text]))[0] for text in texts[skip:]]


def test_strings_at_the_very_end_of_an_unpadded_buffer_are_read_safely() -> None:
    data = pa.py_buffer(b"abcdefghijk")
    offsets = pa.py_buffer(np.array([0, 8, 10, 11], np.int32))
    exact = pa.Array.from_buffers(pa.binary(), 3, [None, offsets, data])
    assert hashes_of(exact) == hashes_of(pa.array([b"abcdefgh", b"ij", b"k", b"padding" * 5])[:3])


def test_long_strings_are_hashed_across_the_flat_chunks() -> None:
    long = bytes(np.random.default_rng(1).integers(0, 256, 400_003, np.uint8))
    changed = [
        long,
        long[:-1] + b"\0",
        long[:200_000] + b"\0" + long[200_001:],
        long[8:16] + long[:8] + long[16:],
    ]
    pairs = hashes_of(pa.array([b"short", *changed, b"", long[:77]]))
    assert len(set(pairs)) == len(pairs)
    assert pairs[1] == hashes_of(pa.array([long]))[0]


def test_blocks_leave_no_seam() -> None:
    values = np.arange(20_001)
    numbers = pa.array(values, mask=values % 7 == 0)
    texts = pa.array([str(n) * (n % 5) for n in range(20_001)])
    lists = pa.ListArray.from_arrays(pa.array(np.arange(0, 20_001, 4, np.int32)), texts.slice(1))
    for array in (numbers, texts, lists):
        whole = hashes_of(array)
        for start in (0, 1, 8191, 8192, 8193, len(array) - 1):
            assert hashes_of(array.slice(start, 1)) == whole[start : start + 1]


def test_column_position_and_seed_matter() -> None:
    one, two = pa.array([1]), pa.array([2])
    assert hashes_of(one, two) != hashes_of(two, one)
    assert hashes_of(one, one) != hashes_of(one)
    assert hashes_of(one, pa.nulls(1)) != hashes_of(pa.nulls(1), one)
    assert hashes_of(one, pa.nulls(1)) != hashes_of(one)
    for other in (HashSeed(SEED.hi ^ 1, SEED.lo), HashSeed(SEED.hi, SEED.lo ^ 1)):
        (left,), (right,) = hashes_of(one), hashes_of(one, seed=other)
        assert left[0] != right[0]
        assert left[1] != right[1]


def test_rows_without_columns_are_all_the_same() -> None:
    result = hash_columns([], 3, SEED)
    assert len(result) == 3
    assert len(set(result.hi.tolist())) == len(set(result.lo.tolist())) == 1


@pytest.mark.parametrize("lane", ["hi", "lo"])
@pytest.mark.parametrize("kind", ["int64", "string", "pair"])
def test_flipping_any_input_bit_flips_each_output_bit_half_of_the_time(lane: str, kind: str) -> None:
    rows = 4000
    words = np.stack([np.arange(rows), np.arange(rows) % 7], axis=1)  # dense keys, as people have
    worst = 0.0
    for bit in range(64):
        flipped = words.copy()
        flipped[:, 0] ^= np.int64(np.uint64(1 << bit).view(np.int64))
        change = _lane(words, kind, lane) ^ _lane(flipped, kind, lane)
        rates = np.unpackbits(change.view(np.uint8)).reshape(rows, 64).mean(axis=0)
        worst = max(worst, float(np.abs(rates - 0.5).max()))
    assert worst < 5.5 * 0.5 / np.sqrt(rows)  # 4096 fair coins stay within 5.5 standard deviations


def _lane(words: np.ndarray, kind: str, lane: str) -> np.ndarray:
    columns = {
        "int64": lambda: [pa.array(words[:, 0].copy())],
        "string": lambda: [pa.array([row.tobytes() for row in words])],
        "pair": lambda: [pa.array(words[:, 0].copy()), pa.array(words[:, 1].copy())],
    }[kind]()
    return np.asarray(getattr(hash_columns(columns, len(words), SEED), lane))


def test_each_half_of_hi_spreads_consecutive_keys_evenly() -> None:
    hashes = hash_columns([pa.array(np.arange(1 << 16))], 1 << 16, SEED)
    for part in (
        hashes.hi >> np.uint64(56),
        hashes.hi >> np.uint64(24),
        hashes.hi,
        hashes.lo,
        hashes.lo >> np.uint64(56),
    ):
        counts = np.bincount((part & np.uint64(0xFF)).astype(np.int64), minlength=256)
        assert 150 < float(((counts - 256.0) ** 2 / 256).sum()) < 380  # chi-square, 255 degrees of freedom
    halves = np.concatenate([hashes.hi >> np.uint64(32), hashes.hi & np.uint64(0xFFFFFFFF)])
    assert len(np.unique(halves)) > len(halves) - 20  # about two collisions expected among 2^17 of 2^32


def test_seed_survives_its_text_form() -> None:
    seed = HashSeed.random()
    assert HashSeed.from_hex(seed.to_hex()) == seed
    assert HashSeed.from_hex(HashSeed(0, 1).to_hex()) == HashSeed(0, 1)
    with pytest.raises(ValueError, match="32 hexadecimal"):
        HashSeed.from_hex("12")
    with pytest.raises(ValueError, match="64-bit"):
        HashSeed(-1, 0)


def test_unhashable_types_and_ragged_columns_are_refused() -> None:
    with pytest.raises(TypeError, match="cannot be hashed"):
        hash_columns([pa.array([b"abc"], pa.binary(3))], 1, SEED)
    with pytest.raises(ValueError, match="column 1 has 2 rows"):
        hash_columns([pa.array([1]), pa.array([1, 2])], 1, SEED)


def test_hashes_take_and_concat_keep_the_lanes_together() -> None:
    whole = hash_columns([pa.array(range(10))], 10, SEED)
    again = Hashes.concat([whole.take(np.arange(4)), whole.take(np.arange(4, 10))])
    assert np.array_equal(again.hi, whole.hi)
    assert np.array_equal(again.lo, whole.lo)
    some = whole.take(np.array([7, 2]))
    assert some.hi.tolist() == [whole.hi[7], whole.hi[2]]
    assert some.lo.tolist() == [whole.lo[7], whole.lo[2]]
    assert len(Hashes.concat([])) == 0
