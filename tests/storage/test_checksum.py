"""CRC32C as the standard defines it, over anything with bytes; sealed headers notice any change."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pyarrow as pa
import pytest

from penstock.storage.checksum import crc32c, padding, seal, unseal


def test_crc32c_has_the_values_of_the_standard() -> None:
    assert crc32c([b"123456789"]) == 0xE3069283
    assert crc32c([bytes(32)]) == 0x8A9136AA  # RFC 3720, B.4
    assert crc32c([]) == 0


def test_all_kinds_of_parts_and_all_ways_to_cut_give_the_same() -> None:
    whole = b"123456789"
    for part in (whole, bytearray(whole), memoryview(whole), pa.py_buffer(whole)):
        assert crc32c([part]) == 0xE3069283
    for cut in range(10):
        assert crc32c([whole[:cut], memoryview(whole)[cut:]]) == 0xE3069283


def test_a_checksum_of_a_memoryview_copies_nothing() -> None:
    view = memoryview(np.ones(10_000_000, dtype=np.uint8))
    arrow_before = pa.total_allocated_bytes()
    tracemalloc.start()
    try:
        crc32c([view])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100_000
    assert pa.total_allocated_bytes() == arrow_before


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 1000])
def test_padding_reaches_the_alignment(size: int) -> None:
    assert (size + padding(size).size) % 64 == 0
    assert padding(size).size < 64


def test_a_sealed_header_notices_every_changed_bit_and_every_cut() -> None:
    header = seal(b"fields")
    assert unseal(header) == b"fields".ljust(60, b"\0")
    for bit in range(len(header) * 8):
        changed = bytearray(header)
        changed[bit // 8] ^= 1 << bit % 8
        assert unseal(bytes(changed)) is None
    for size in range(len(header)):
        assert unseal(header[:size]) is None


def test_fields_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="61 bytes"):
        seal(bytes(61))
