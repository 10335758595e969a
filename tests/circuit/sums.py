"""What a sum of doubles is, rounded once."""

from __future__ import annotations

import math
from typing import Any


def exact_sum(values: list[Any]) -> Any:
    """The correctly rounded sum; None of nothing, NaN and infinities as Spark has them."""
    if not values:
        return None
    if any(math.isnan(v) for v in values) or {math.inf, -math.inf} <= set(values):
        return math.nan
    infinite = [v for v in values if math.isinf(v)]
    return infinite[0] if infinite else math.fsum(values)
