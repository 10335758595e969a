"""The process that Spark forks Python workers from, with everything imported once.

Spark starts ``python -m <this module>`` in place of ``pyspark.daemon``
(:func:`~penstock.spark.session.find_or_make_session` sets this). A forked worker then starts in milliseconds
instead of the seconds that importing Arrow, NumPy and Penstock takes. Forking after imports is safe: gRPC
does not start before Flight is used, which happens inside tasks only, and NumPy and Arrow handle forks
themselves.

Spark retires a worker that has been idle for a minute by closing its socket. PySpark's worker treats that as
an error, tries to report it through the same socket, and fails with a stack trace on the console. Here such a
worker ends silently.
"""

from __future__ import annotations

import gc
import importlib
import socket

from pyspark import daemon

__all__ = ["until_retired"]

_worker = daemon.worker


def until_retired(sock: socket.socket, authenticated: bool) -> int:
    """Serve tasks as PySpark's worker does; end silently when Spark has closed the socket."""
    try:
        return _worker(sock, authenticated)
    except BrokenPipeError:
        return 1  # the status that makes the process end


if __name__ == "__main__":
    for module in ("pandas", "pyspark.worker", "penstock.spark.member", "penstock.spark.stages"):
        importlib.import_module(module)
    daemon.worker = until_retired
    # Everything imported so far stays for ever: otherwise each child's garbage collector would copy it page
    # by page.
    gc.collect()
    gc.freeze()
    daemon.manager()
