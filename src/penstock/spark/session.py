"""Finding or starting the SparkSession, and checking that it meets the requirements.

Penstock uses the active session; only if there is none does it start an embedded one with two task slots more
than workers (threads are cheap, and the spare slots serve ordinary jobs beside the resident gang). Missing
requirements (Java, slots, a classic session) are reported in one sentence, before Spark prints a thousand
lines or waits silently: a barrier job without slots makes Spark retry for ten minutes.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from pyspark import InheritableThread, SparkContext
from pyspark.find_spark_home import _find_spark_home
from pyspark.sql import SparkSession

from penstock.errors import EnvironmentProblem
from penstock.spark.class_archive import archive_options

__all__ = ["driver_address", "find_or_make_session", "require_classic", "require_java", "require_slots"]

_JAVA_MINIMUM = 17
_SPARE_SLOTS = 2
_SLOTS_WAIT_SECONDS = 15.0
_QUIET_LOGS = Path(__file__).parent / "quiet-logs.properties"


def find_or_make_session(name: str, workers: int, *, brief: bool = False) -> tuple[SparkSession, bool]:
    """The active session, or a new embedded one; and whether it was started here (then the caller stops it).

    A ``brief`` one is for programs that plan, step and end: its JVM uses only the C1 compiler and the serial
    garbage collector, which halves the CPU time of starting. Long Spark queries are slower in it, so code
    that computes views from scratch must not ask for one.
    """
    _refuse_connect()
    active = SparkSession.getActiveSession()
    if active is not None:
        require_classic(active)
        return active, False
    java = require_java()
    # Otherwise Spark takes whatever "python3" is on PATH, which need not have Penstock installed.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {
        "spark.ui.enabled": "false",
        # Without a UI nobody looks at earlier queries, but Spark keeps the plans of a thousand in its heap.
        "spark.sql.ui.retainedExecutions": "20",
        "spark.ui.retainedJobs": "100",
        "spark.ui.retainedStages": "100",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": _java_options(java, brief),
        "spark.python.daemon.module": "penstock.spark.daemon",
        "spark.python.unix.domain.socket.enabled": "true",
        # Large pages have to be found or created, and zeroed, while the step waits: see decision 39.
        "spark.executorEnv.NUMPY_MADVISE_HUGEPAGE": "0",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.shuffle.partitions": str(workers),
        "spark.default.parallelism": str(workers),
    }
    builder = SparkSession.builder.appName(f"penstock {name}").master(f"local[{workers + _SPARE_SLOTS}]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    made = builder.getOrCreate()
    _start_daemon(made.sparkContext)
    return made, True


def _java_options(java: Path, brief: bool) -> str:
    options = [f"-Dlog4j2.configurationFile={_QUIET_LOGS.as_uri()}"]
    if brief:
        options += ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    archive = archive_options(java, Path(_find_spark_home()))
    return " ".join([*options, archive] if archive else options)


def _start_daemon(context: SparkContext) -> None:
    """Has Spark start the process that workers are forked from, in the background: its imports take about as
    long as planning the views, which comes next and needs none of them. Errors show up when the workers
    start."""

    def job() -> None:
        with contextlib.suppress(Exception):
            context.parallelize([0], 1).foreach(_nothing)

    InheritableThread(target=job, name="penstock-daemon", daemon=True).start()


def _nothing(_: int) -> None:
    pass


def require_classic(spark: SparkSession) -> None:
    """Reject Spark Connect: it gives no access to Catalyst's plans and barrier jobs."""
    if ".connect." in type(spark).__module__:
        raise EnvironmentProblem(
            "this is a Spark Connect session. Penstock needs a classic one "
            "(SparkSession.builder.master(...)): it reads Catalyst's plans and runs its workers as tasks, "
            "which Connect does not allow"
        )


def _refuse_connect() -> None:
    if os.environ.get("SPARK_REMOTE") or os.environ.get("SPARK_CONNECT_MODE_ENABLED"):
        raise EnvironmentProblem(
            "the environment asks for Spark Connect (SPARK_REMOTE or SPARK_CONNECT_MODE_ENABLED). "
            "Penstock needs a classic session: unset it"
        )


def require_java() -> Path:
    """Find a Java that Spark can run on, or explain how to get one."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    advice = f"install a JDK or JRE of version {_JAVA_MINIMUM} or later and put it on PATH, or set JAVA_HOME"
    if java is None:
        where = f"in JAVA_HOME ({home})" if home else "on PATH"
        raise EnvironmentProblem(f"Spark needs Java, and there is none {where}: {advice}")
    version = _released(Path(java))
    if version is None:
        try:
            answer = subprocess.run(
                [java, "-version"], capture_output=True, text=True, timeout=30, check=True
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise EnvironmentProblem(
                f"Spark needs Java, and {java} does not run ({error}): {advice}"
            ) from error
        version = java_major(answer.stderr + answer.stdout)
    if version is not None and version < _JAVA_MINIMUM:
        raise EnvironmentProblem(
            f"Spark needs Java {_JAVA_MINIMUM} or later, and {java} is {version}: {advice}"
        )
    return Path(java)


def _released(java: Path) -> int | None:
    """The major version in the release file of a JDK, which avoids starting Java."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        release = (java.resolve().parent.parent / "release").read_text(encoding="utf-8")
        return java_major(re.sub(r"^JAVA_VERSION=", "version ", release, flags=re.MULTILINE))
    return None


def java_major(answer: str) -> int | None:
    """The major version in the output of ``java -version``; None if it cannot be parsed.

    >>> java_major('openjdk version "17.0.15" 2025-04-15'), java_major('java version "1.8.0_392"')
    (17, 8)
    """
    found = re.search(r'version "(?:1\.)?(\d+)', answer)
    return int(found.group(1)) if found else None


def require_slots(spark: SparkSession, workers: int, held: int) -> None:
    """Make sure that a gang of ``workers`` can start now and leaves a slot for ordinary jobs.

    ``held`` slots are taken by other gangs in this session. Executors of a cluster may still be starting, so
    this waits a little before it gives up.
    """
    configuration = spark.sparkContext.getConf()
    if configuration.get("spark.dynamicAllocation.enabled", "false") == "true":
        raise EnvironmentProblem(
            "resident workers hold their task slots, which Spark does not allow with dynamic allocation. "
            "Set spark.dynamicAllocation.enabled=false or run the pipeline staged"
        )
    needed = workers + held + 1
    deadline = time.monotonic() + (0.0 if _is_local(spark) else _SLOTS_WAIT_SECONDS)
    while (slots := _slots(spark)) < needed:
        if time.monotonic() >= deadline:
            taken = f", {held} held by other pipelines" if held else ""
            raise EnvironmentProblem(
                f"{workers} resident workers need {workers} task slots and one more for ordinary jobs; "
                f"this Spark session has {slots}{taken} (master {spark.sparkContext.master}). Give the "
                f"session more slots (for instance local[{workers + held + _SPARE_SLOTS}]), use fewer "
                "workers, or run the pipeline staged"
            )
        time.sleep(0.2)


def _slots(spark: SparkSession) -> int:
    context: Any = spark.sparkContext._jsc.sc()
    return int(context.maxNumConcurrentTasks(context.resourceProfileManager().defaultResourceProfile()))


def _is_local(spark: SparkSession) -> bool:
    return re.fullmatch(r"local(\[.*\])?", spark.sparkContext.master or "") is not None


def driver_address(spark: SparkSession) -> tuple[str, str]:
    """The address on which a server in the driver listens, and the name by which executors reach it."""
    if _is_local(spark):
        return "127.0.0.1", "127.0.0.1"
    configuration = spark.sparkContext.getConf()
    host = configuration.get("spark.driver.host") or "127.0.0.1"
    return configuration.get("spark.driver.bindAddress") or host, host
