"""The toy worker is shipped to Spark's Python processes by value: they cannot import the tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark import cloudpickle

from tests.spark import toy


@pytest.fixture(scope="session", autouse=True)
def toy_by_value() -> Iterator[None]:
    cloudpickle.register_pickle_by_value(toy)
    yield
    cloudpickle.unregister_pickle_by_value(toy)
