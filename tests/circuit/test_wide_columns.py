"""Operators whose columns are too large for 32-bit offsets: their own tests again, with a limit of 48 bytes.

Every column of texts or lists that has more than a few rows is then wide (:mod:`penstock.zset.width`): in
deltas, in state, in what is read of it and in answers.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from penstock.zset import width
from tests.circuit.operators.test_distinct import test_each_row_once
from tests.circuit.operators.test_flat_map import test_arrays, test_maps_give_keys_and_values
from tests.circuit.operators.test_partial_sessions import (
    test_what_touches_becomes_one_row_with_the_weight_of_all,
)
from tests.circuit.operators.test_table import (
    test_a_keyed_table_is_a_dictionary,
    test_a_keyless_table_is_a_multiset_that_refuses_to_owe_rows,
)
from tests.circuit.operators.test_top_k import test_the_rows_at_the_places_asked_for
from tests.circuit.operators.test_window import test_every_function_equals_recomputation
from tests.circuit.test_extremes import (
    test_the_smallest_and_largest_of_nested_values,
    test_values_beside_the_smallest_and_largest,
)
from tests.circuit.test_group_functions import (
    test_bytes_are_joined_too,
    test_rows_become_columns_by_their_pivot_value,
    test_texts_are_joined_in_the_order_asked_for,
    test_the_most_frequent_value,
)

__all__ = [
    "test_a_keyed_table_is_a_dictionary",
    "test_a_keyless_table_is_a_multiset_that_refuses_to_owe_rows",
    "test_arrays",
    "test_bytes_are_joined_too",
    "test_each_row_once",
    "test_every_function_equals_recomputation",
    "test_maps_give_keys_and_values",
    "test_rows_become_columns_by_their_pivot_value",
    "test_texts_are_joined_in_the_order_asked_for",
    "test_the_most_frequent_value",
    "test_the_rows_at_the_places_asked_for",
    "test_the_smallest_and_largest_of_nested_values",
    "test_values_beside_the_smallest_and_largest",
    "test_what_touches_becomes_one_row_with_the_weight_of_all",
]


@pytest.fixture(autouse=True, scope="module")
def few_bytes() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(width, "MOST_BYTES", 48)
        yield
