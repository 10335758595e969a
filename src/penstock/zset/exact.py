"""Exact sums as plain ``int64`` columns that can be added: the one form in which totals are stored, sent and
merged.

``split_*`` turns values into columns of contributions, columns of the same name are added (a missing column
is zero), ``carry`` keeps the digits small, and ``join_*`` reads the total. Inserting and deleting the same
rows leaves exactly zero, whatever happened in between and on however many workers. The digits are explained
in :mod:`.exact_digits`, the two kinds of numbers in :mod:`.exact_doubles` and :mod:`.exact_integers`,
products of doubles and arithmetic on totals in :mod:`.exact_products`, quotients of totals and their roots in
:mod:`.exact_quotients`.
"""

from __future__ import annotations

from penstock.zset.exact_digits import carry
from penstock.zset.exact_doubles import join_doubles, split_doubles
from penstock.zset.exact_integers import join_integers, split_integers
from penstock.zset.exact_products import ExactNumbers, split_products
from penstock.zset.exact_quotients import nearest_quotients, nearest_roots

__all__ = [
    "ExactNumbers",
    "carry",
    "join_doubles",
    "join_integers",
    "nearest_quotients",
    "nearest_roots",
    "split_doubles",
    "split_integers",
    "split_products",
]
