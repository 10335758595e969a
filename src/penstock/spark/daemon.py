"""The process that Spark forks Python workers from, with everything imported once.

Spark starts ``python -m <this module>`` in place of ``pyspark.daemon`` (the setting is made by
:func:`~penstock.spark.session.find_or_make_session`). A forked worker then starts in milliseconds and not in
the seconds that importing Arrow, NumPy and Penstock takes in each. Forking after imports is safe: gRPC does
not start before Flight is used, which happens inside tasks only, and NumPy and Arrow look after their own
threads when a process forks.

A worker that has been idle for a minute is retired: Spark closes its socket. PySpark's worker takes that for
an error, wants to report it through that very socket, and fails with a stack trace on the console. Here such
a worker ends in silence, because nobody waits for it.
"""

from __future__ import annotations

import gc
import importlib
import socket

from pyspark import daemon

__all__ = ["until_retired"]

_worker = daemon.worker


def until_retired(sock: socket.socket, authenticated: bool) -> int:
    """Serve tasks as PySpark's worker does; ends without a word when Spark has hung up."""
    try:
        return _worker(sock, authenticated)
    except BrokenPipeError:
        return 1  # the status that makes the process end


if __name__ == "__main__":
    for module in ("pandas", "pyspark.worker", "penstock.spark.member", "penstock.spark.stages"):
        importlib.import_module(module)
    daemon.worker = until_retired
    # What is here now stays for ever: without this, the collector of each child would copy it page by page.
    gc.collect()
    gc.freeze()
    daemon.manager()
