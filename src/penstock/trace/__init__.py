"""Indexed Z-sets over time: immutable sorted batches, and spines (LSM trees) of them."""

from penstock.trace.batch import Batch, build_batch, key_range, merge_batches, order_words, sum_of
from penstock.trace.builders import merge_runs
from penstock.trace.first import lookup_first
from penstock.trace.first_candidates import first_candidates
from penstock.trace.lookup import Matches, lookup_repeated, lookup_rows, lookup_sums, prefetch
from penstock.trace.packed import SMALLEST, KeyWords, pack, stored_rows, unpack
from penstock.trace.prefix import Prefix, gather_batch, gather_rows, lookup_prefix
from penstock.trace.scan import scan, truncate_above, truncate_below
from penstock.trace.soundness import unsound
from penstock.trace.spine import Held, Spine

__all__ = [
    "SMALLEST",
    "Batch",
    "Held",
    "KeyWords",
    "Matches",
    "Prefix",
    "Spine",
    "build_batch",
    "first_candidates",
    "gather_batch",
    "gather_rows",
    "key_range",
    "lookup_first",
    "lookup_prefix",
    "lookup_repeated",
    "lookup_rows",
    "lookup_sums",
    "merge_batches",
    "merge_runs",
    "order_words",
    "pack",
    "prefetch",
    "scan",
    "stored_rows",
    "sum_of",
    "truncate_above",
    "truncate_below",
    "unpack",
    "unsound",
]
