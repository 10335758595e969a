"""Arguments of a pipeline as users write them."""

from __future__ import annotations

import pytest

from penstock.errors import PipelineError
from penstock.pipeline.arguments import parse_memory


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (None, None),
        (1 << 30, 1 << 30),
        ("64m", 64 << 20),
        ("512 MB", 512 << 20),
        ("1.5g", 3 << 29),
        ("2GiB", 2 << 30),
        (" 1 T ", 1 << 40),
        (str(1 << 25), 1 << 25),
    ],
)
def test_memory_is_a_number_of_bytes_or_a_size_in_powers_of_1024(
    written: int | str | None, meant: int | None
) -> None:
    assert parse_memory(written) == meant


@pytest.mark.parametrize("written", [0, -1, 1000, "1m", "much", "", "4x", "-4g", True, 1.5])
def test_a_size_that_makes_no_sense_is_refused_with_examples(written: object) -> None:
    with pytest.raises(PipelineError, match=r"'512m' or '4g', at least 32m"):
        parse_memory(written)  # type: ignore[arg-type]
