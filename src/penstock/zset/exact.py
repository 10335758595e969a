"""Exact sums as plain ``int64`` columns that add: the one form in which totals are kept, sent and merged.

``split_*`` turns values into columns of contributions, any component may add columns of the same name (a
missing column is zero), ``carry`` keeps the numbers in them small, and ``join_*`` reads the total. Inserting
and deleting the same rows leaves exactly nothing, whatever happened in between and on however many workers.
The digits are explained in :mod:`.exact_digits`, the two kinds of numbers in :mod:`.exact_doubles` and
:mod:`.exact_integers`, products of doubles and arithmetic on totals in :mod:`.exact_products`.
"""

from __future__ import annotations

from penstock.zset.exact_digits import carry
from penstock.zset.exact_doubles import join_doubles, split_doubles
from penstock.zset.exact_integers import join_integers, split_integers
from penstock.zset.exact_products import ExactNumbers, split_products

__all__ = [
    "ExactNumbers",
    "carry",
    "join_doubles",
    "join_integers",
    "split_doubles",
    "split_integers",
    "split_products",
]
