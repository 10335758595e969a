"""The process that Spark forks Python workers from, with everything imported once.

Spark starts ``python -m <this module>`` in place of ``pyspark.daemon`` (the setting is made by
:func:`~penstock.spark.session.find_or_make_session`). A forked worker then starts in milliseconds and not in
the seconds that importing Arrow, NumPy and Penstock takes in each. Forking after imports is safe: gRPC does
not start before Flight is used, which happens inside tasks only, and NumPy and Arrow look after their own
threads when a process forks.
"""

from __future__ import annotations

import gc
import importlib

from pyspark.daemon import manager

__all__: list[str] = []

if __name__ == "__main__":
    for module in ("pandas", "pyspark.worker", "penstock.spark.member", "penstock.spark.stages"):
        importlib.import_module(module)
    # What is here now stays for ever: without this, the collector of each child would copy it page by page.
    gc.collect()
    gc.freeze()
    manager()
