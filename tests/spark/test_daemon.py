"""The process that workers are forked from."""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
import uuid
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


_SESSION = """
import os, sys, time
from pathlib import Path
from penstock.spark import find_or_make_session

spark, made = find_or_make_session("early", 1)
assert made

def there(process: Path) -> bool:
    try:
        command, settings = (process / "cmdline").read_bytes(), (process / "environ").read_bytes()
    except OSError:
        return False
    return b"-m\\0penstock.spark.daemon" in command and os.environ["MARK"].encode() in settings

end = time.monotonic() + float(sys.argv[1])
while not (found := any(map(there, Path("/proc").glob("[0-9]*")))) and time.monotonic() < end:
    time.sleep(0.1)
print("there" if found else "not there", spark.range(3).count())
"""


def _made_session(seconds: int, **settings: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "MARK": uuid.uuid4().hex, **settings}
    command = [sys.executable, "-c", _SESSION, str(seconds)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)


def test_an_embedded_session_starts_it_before_there_is_work() -> None:
    assert _made_session(60).stdout == "there 3\n"


def test_a_session_whose_python_is_missing_is_a_session_all_the_same(tmp_path: Path) -> None:
    done = _made_session(5, PYSPARK_PYTHON=str(tmp_path / "python"))
    assert done.stdout == "not there 3\n" and "Traceback" not in done.stderr
