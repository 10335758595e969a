"""Indexed Z-sets over time: immutable sorted batches, and spines (LSM trees) of them."""

from penstock.trace.batch import Batch, build_batch, key_range, merge_batches, order_words, sum_of
from penstock.trace.first import lookup_first
from penstock.trace.lookup import Matches, lookup_rows, lookup_sums
from penstock.trace.prefix import Prefix, lookup_prefix
from penstock.trace.spine import BatchRef, Spine

__all__ = [
    "Batch",
    "BatchRef",
    "Matches",
    "Prefix",
    "Spine",
    "build_batch",
    "key_range",
    "lookup_first",
    "lookup_prefix",
    "lookup_rows",
    "lookup_sums",
    "merge_batches",
    "order_words",
    "sum_of",
]
