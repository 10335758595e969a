"""The process that workers are forked from."""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
from pathlib import Path

from pyspark.serializers import read_int


def test_a_worker_that_spark_retires_ends_in_silence(tmp_path: Path) -> None:
    """Spark retires a worker that has been idle for a minute by closing its socket."""
    settings = {
        "PYTHON_UNIX_DOMAIN_ENABLED": "true",
        "PYTHON_WORKER_FACTORY_SOCK_DIR": str(tmp_path),
        "PYTHON_DAEMON_KILL_WORKER_ON_FLUSH_FAILURE": "1",
        "SPARK_REUSE_WORKER": "1",
    }
    daemon = subprocess.Popen(
        [sys.executable, "-m", "penstock.spark.daemon", "pyspark.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | settings,
    )
    assert daemon.stdin and daemon.stdout and daemon.stderr
    try:
        path = daemon.stdout.read(read_int(daemon.stdout)).decode()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as spark:
            spark.connect(path)
            with spark.makefile("rb") as stream:
                worker = read_int(stream)
        process = os.pidfd_open(worker)
        try:
            assert select.select([process], [], [], 30)[0], "the worker goes on without Spark"
        finally:
            os.close(process)
    finally:
        daemon.stdin.close()  # this is how Spark ends the daemon
        said = daemon.stderr.read()
        daemon.wait(30)
        daemon.stdout.close()
        daemon.stderr.close()
    assert said == b""
