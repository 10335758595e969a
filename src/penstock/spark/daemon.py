"""The process that Spark forks Python workers from, with everything imported once.

Spark starts ``python -m <this module>`` in place of ``pyspark.daemon`` (setting ``spark.python.daemon.module``,
made by :func:`~penstock.spark.session.find_or_make_session`). A forked worker then starts in milliseconds and not
in the seconds that importing Arrow, NumPy and Penstock take for each. Imports start neither threads that a
child would miss nor gRPC, so forking after them is safe; Flight is only used inside tasks.
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
