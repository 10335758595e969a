"""The registry, and what every operator declares in it."""

from __future__ import annotations

import pytest

from penstock.circuit import REGISTRY, Incremental, Operator


@pytest.mark.parametrize("name", REGISTRY)
def test_the_registry_declares_state_exactly_for_operators_that_keep_some(name: str) -> None:
    info = REGISTRY[name].info
    assert info.name == name
    assert REGISTRY[name].slots is Operator.slots or info.state
    assert not (info.state and info.incremental is Incremental.BILINEAR)
