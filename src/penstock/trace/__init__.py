"""Indexed Z-sets over time: immutable sorted batches, and spines (LSM trees) of them."""

from penstock.trace.batch import Batch, build_batch, key_range, merge_batches, order_words, sum_of
from penstock.trace.builders import merge_runs, read_from
from penstock.trace.cursor import Cursor, Key, cursor
from penstock.trace.first import lookup_first
from penstock.trace.first_candidates import first_candidates
from penstock.trace.held import Held, Part, Stored
from penstock.trace.keys import key_count, sample_keys
from penstock.trace.kind import Kind
from penstock.trace.lookup import Matches, lookup_repeated, lookup_rows, lookup_sums, prefetch
from penstock.trace.packed import KeyWords, stored_rows, unpack
from penstock.trace.prefix import Prefix, gather_batch, gather_rows, lookup_prefix
from penstock.trace.rewrite import advance, retain
from penstock.trace.scan import scan, truncate, truncate_below
from penstock.trace.soundness import unsound
from penstock.trace.spine import Spine
from penstock.trace.times import Time
from penstock.trace.tuple_builder import TupleBuilder

__all__ = [
    "Batch",
    "Cursor",
    "Held",
    "Key",
    "KeyWords",
    "Kind",
    "Matches",
    "Part",
    "Prefix",
    "Spine",
    "Stored",
    "Time",
    "TupleBuilder",
    "advance",
    "build_batch",
    "cursor",
    "first_candidates",
    "gather_batch",
    "gather_rows",
    "key_count",
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
    "read_from",
    "retain",
    "sample_keys",
    "scan",
    "stored_rows",
    "sum_of",
    "truncate",
    "truncate_below",
    "unpack",
    "unsound",
]
