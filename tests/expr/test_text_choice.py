"""Which constant a string is, and the string that was chosen, against Python's own."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from penstock.expr.functions.text_choice import choose_texts, which_text

CONSTANTS = [
    "",
    "a",
    "ab",
    "baidu",
    "eight-by",
    "eight-bytes",
    "eight-bytez",
    "\u00e4",
    "a",
    "a\0",
    "nine-byte",
]


@pytest.mark.parametrize("kind", [pa.string(), pa.binary()])
@pytest.mark.parametrize("seed", range(20))
def test_the_first_constant_that_a_string_is(kind: pa.DataType, seed: int) -> None:
    rng = random.Random(seed)
    pool = [*CONSTANTS, "abc", "eight-bx", "eight-bytes!", "b", "x" * 40, None]
    values = [rng.choice(pool) for _ in range(rng.randrange(60))]
    known = rng.sample(CONSTANTS, rng.randrange(len(CONSTANTS)))
    start = rng.randrange(len(values) + 1)
    column = pa.array(values, pa.string()).cast(kind).slice(start)
    expected = [known.index(value) if value in known else 99 for value in values[start:]]
    constants = known if pa.types.is_string(kind) else [text.encode() for text in known]
    assert which_text(column, constants, 99).tolist() == expected


@pytest.mark.parametrize("seed", range(20))
def test_the_chosen_strings_are_copied(seed: int) -> None:
    rng = random.Random(seed)
    size = rng.randrange(50)
    options: list[list[str | None]] = []
    values: list[pa.Array | pa.Scalar] = []
    for _ in range(rng.randrange(1, 6)):
        if rng.random() < 0.5:
            constant = rng.choice([*CONSTANTS, None])
            options.append([constant] * size)
            values.append(pa.scalar(constant, pa.string()))
        else:
            column = [rng.choice([*CONSTANTS, "x" * rng.randrange(30), None]) for _ in range(size + 3)]
            options.append(column[2 : 2 + size])
            values.append(pa.array(column, pa.string()).slice(2, size))
    choice = [rng.randrange(len(values)) for _ in range(size)]
    found = choose_texts(np.array(choice, np.int64), values, pa.string())
    assert found is not None
    found.validate(full=True)
    assert found.to_pylist() == [options[number][row] for row, number in enumerate(choice)]


def test_what_is_too_long_for_a_column_is_left_to_others() -> None:
    many = np.zeros(1 << 16, np.int64)
    assert choose_texts(many, [pa.scalar("x" * (1 << 15))], pa.string()) is None
