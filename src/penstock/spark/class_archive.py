"""Keeps the classes that Spark loads in an archive, which the next JVM maps instead of loading them again.

Half of the processor time of starting Spark goes into loading, verifying and linking thousands of classes.
HotSpot can write what a process has loaded into a file when it exits (a dynamic class data sharing
archive, Java 13 and later) and map that file the next time. The first embedded Spark on a machine makes the
archive as it exits, in the background, after the program has ended; later ones use it.

An archive never changes what runs: the JVM checks that it belongs to the same Java and the same jars, and
starts without it otherwise. Its name depends on both, so another Java or another Spark gets its own. The JVM
writes the header last, so an archive that was cut off (the container ended) is recognized by its first bytes
and made again. Without a folder to write to, Spark starts as usual.

``PENSTOCK_CACHE`` names the folder, by default ``penstock`` in the user's cache folder; ``off`` turns it off.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from pathlib import Path

from penstock.storage.block_cache import cache_folder

__all__ = ["archive_options"]

_MAKING_SECONDS = 600.0
_QUIET = "-Xlog:disable -Xlog:all=error:stderr"


def archive_options(java: Path, spark_home: Path) -> str:
    """The JVM's options: to use the archive of this Java and this Spark, to make it, or none."""
    folder = cache_folder()
    if folder is None:
        return ""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        archive = folder / f"spark-classes-{_identity(java, spark_home)}.jsa"
        if any(character in str(archive) for character in "\"'\\ "):
            return ""  # the options pass through Spark's launcher, which handles quotes in its own way
        common = f"-XX:+IgnoreUnrecognizedVMOptions {_QUIET}"
        if _complete(archive):
            return f"-XX:SharedArchiveFile={archive} {common}"
        return f"-XX:ArchiveClassesAtExit={archive} {common}" if _claimed(archive) else ""
    except OSError:
        return ""


def _identity(java: Path, spark_home: Path) -> str:
    """A digest of what an archive depends on. Jars are identified by name, size and time, as the JVM does."""
    program = java.resolve()
    release = program.parent.parent / "release"
    parts = [str(program), str(program.stat().st_mtime_ns), release.read_text() if release.is_file() else ""]
    for jar in sorted((spark_home / "jars").iterdir()):
        status = jar.stat()
        parts.append(f"{jar} {status.st_size} {status.st_mtime_ns}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _complete(archive: Path) -> bool:
    """Whether the header is there, which the JVM writes last."""
    with contextlib.suppress(FileNotFoundError), archive.open("rb") as file:
        return any(file.read(4))
    return False


def _claimed(archive: Path) -> bool:
    """Whether this process is the one to create the archive: of several that start at once, one does."""
    mark = archive.with_suffix(".making")
    with contextlib.suppress(FileNotFoundError):
        if time.time() - mark.stat().st_mtime > _MAKING_SECONDS:
            mark.unlink()
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True
